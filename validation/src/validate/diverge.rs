//! `cargo xtask validate diverge [PROGRAM…]`: programs on Xvfb, and on Xvfb behind a relay that plants one difference.
//! `x11prof diverge` must name the planted difference first, and none if nothing is planted.

use std::process::Command;

use serde_json::Value;

use super::large::{BINARY, binary};
use super::reported;
use xtask::packages::{DEMO, MORE_PROGRAMS, TEST, ensure};
use xtask::run::{cargo, run};

/// The seconds of each run.
const SECONDS: &str = "3";
/// The number of differences that a screen shows.
const SHOWN: usize = 5;

/// A program, the changes of the relay (`tests/clients/altering_relay.rs`), and the messages that then differ.
type Planted = (
    &'static [&'static str],
    &'static [(&'static str, &'static str)],
);

const PROGRAMS: &[Planted] = &[
    (
        &["xmessage", "-timeout", "2", "some text"],
        &[("reply:47:0:1:52", "QueryFont"), ("drop:12:1", "Expose")],
    ),
    (
        &["xclock", "-norender"],
        &[("error:47:0:1", "QueryFont"), ("drop:12:1", "Expose")],
    ),
    (
        &["xterm"],
        &[
            ("extension:RENDER", "QueryExtension"),
            ("error:84:0:1", "AllocColor"),
        ],
    ),
    (
        &["gtk3-widget-factory"],
        &[
            ("extension:RANDR", "QueryExtension"),
            ("reply:RANDR:20:1:12", "RANDR:GetCrtcInfo"),
        ],
    ),
    (
        &["featherpad"],
        &[
            ("extension:XInputExtension", "QueryExtension"),
            ("reply:RENDER:1:1:37", "RENDER:QueryPictFormats"),
        ],
    ),
];

/// Runs the programs whose names contain one of `names`, or all.
pub(super) fn validate(names: &[String]) -> Result<(), String> {
    ensure(&[DEMO, TEST, MORE_PROGRAMS])?;
    if std::env::var_os(BINARY).is_none() {
        let built = ["build", "--release", "--locked", "--bin", "x11prof"];
        run(cargo().args(built).args(["--example", "altering_relay"]))?;
    }
    println!("| program | planted | named first | rank |");
    println!("|---|---|---|---:|");
    let (mut planted, mut first, mut shown, mut silent, mut runs) = (0, 0, 0, 0, 0);
    for (program, changes) in PROGRAMS {
        let name = program[0];
        if !names.is_empty() && !names.iter().any(|word| name.contains(word.as_str())) {
            continue;
        }
        let named = differences(program, "none")?;
        runs += 1;
        silent += usize::from(named.is_empty());
        let what = named.first().map_or("nothing", String::as_str);
        println!("| {name} | nothing | {what} | |");
        for (change, message) in *changes {
            let named = differences(program, change)?;
            let rank = named.iter().position(|one| one == message);
            planted += 1;
            first += usize::from(rank == Some(0));
            shown += usize::from(rank.is_some_and(|rank| rank < SHOWN));
            let what = named.first().map_or("nothing", String::as_str);
            let rank = rank.map_or("–".to_owned(), |rank| (rank + 1).to_string());
            println!("| {name} | {change} ({message}) | {what} | {rank} |");
        }
    }
    println!("\nPlanted: {planted}; named first {first}, in the first {SHOWN} {shown}.");
    println!("Nothing planted: {runs}; no difference named {silent}.");
    match 10 * first >= 9 * planted && shown == planted && 10 * silent >= 9 * runs {
        true => Ok(()),
        false => Err("too few planted differences are named, or others are".to_owned()),
    }
}

/// The names of the differing messages that `diverge` reports, in its order; the request that differs if there are none.
fn differences(program: &[&str], change: &str) -> Result<Vec<String>, String> {
    let folder = tempfile::tempdir().map_err(reported)?;
    let relay = binary().with_file_name("examples/altering_relay");
    let relay = format!("{} {change}", relay.display());
    let output = Command::new(binary())
        .current_dir(folder.path())
        .args(["diverge", "--server", "xvfb", "--server-command", &relay])
        .args(["--seconds", SECONDS, "--format", "json", "--"])
        .args(program)
        .output()
        .map_err(reported)?;
    let report: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("{error}: {}", String::from_utf8_lossy(&output.stderr)))?;
    let mut named = Vec::new();
    for client in report["clients"].as_array().into_iter().flatten() {
        let received = client["received"].as_array().into_iter().flatten();
        let messages = received.filter_map(|one| one["message"].as_str());
        named.extend(messages.map(str::to_owned));
        if named.is_empty() {
            named.push(format!("a request of {}", client["client"]));
        }
    }
    Ok(named)
}
