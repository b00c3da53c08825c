//! `cargo xtask calibrate [KIND…]`: measures private servers of every kind on this
//! machine, and writes the parameter files that come with the program.

use std::fs;
use std::path::Path;

use crate::packages::{DEMO, ensure};
use crate::run::{cargo, root, run, target};

/// The kinds of private servers, and the names of their files.
const KINDS: [(&str, &str); 6] = [
    ("xvfb", "xvfb-24"),
    ("xvfb-8", "xvfb-8"),
    ("xvnc", "xvnc"),
    ("xephyr", "xephyr"),
    ("xorg-dummy", "xorg-dummy"),
    ("xwayland", "xwayland"),
];

/// Measures the servers in `arguments`, or all of them.
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
            command.args(["calibrate", "--server", kind, "-o"]);
            run(command.arg(&file))?;
            without_paths(&file)?;
        }
    }
    Ok(())
}

/// The files are shipped, so they must not contain paths of this machine.
fn without_paths(file: &Path) -> Result<(), String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let home = std::env::home_dir().filter(|home| home.components().count() > 1);
    let private = [
        Some(root()),
        Some(target()),
        home,
        Some(std::env::temp_dir()),
    ];
    match private
        .into_iter()
        .flatten()
        .find(|path| text.contains(&*path.to_string_lossy()))
    {
        Some(path) => Err(format!(
            "{} names {}: take that out",
            file.display(),
            path.display()
        )),
        None => Ok(()),
    }
}
