//! `cargo xtask calibrate [KIND…]`: measures private servers of every kind on this machine, and
//! writes the parameter files that come with the program.

use crate::packages::{DEMO, ensure};
use crate::run::{cargo, root, run, target};

/// The kinds of private servers, and the names of their files.
const KINDS: [(&str, &str); 5] = [
    ("xvfb", "xvfb-24"),
    ("xvfb-8", "xvfb-8"),
    ("xvnc", "xvnc"),
    ("xephyr", "xephyr"),
    ("xorg-dummy", "xorg-dummy"),
];

/// How long one server may take, in seconds: at rest all are done before that.
const LIMIT: &str = "360";

/// Measures the servers that `arguments` name; all where there are none.
pub(crate) fn calibrate(arguments: &[String]) -> Result<(), String> {
    if let Some(unknown) = arguments
        .iter()
        .find(|named| KINDS.iter().all(|(kind, _)| kind != named))
    {
        let kinds = KINDS.map(|(kind, _)| kind).join(", ");
        return Err(format!("{unknown} is no kind of server: {kinds}"));
    }
    ensure(&[DEMO])?;
    run(cargo().args(["build", "--release", "--locked"]))?;
    for (kind, name) in KINDS {
        if arguments.is_empty() || arguments.iter().any(|named| named == kind) {
            let file = root().join("server-params").join(format!("{name}.toml"));
            let mut command = std::process::Command::new(target().join("release/x11prof"));
            command.args(["measure", "--time-limit", LIMIT, "--server", kind, "-o"]);
            run(command.arg(file))?;
        }
    }
    Ok(())
}
