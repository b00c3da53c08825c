//! The sizes of traces of text and of drawing, compared with the relayed bytes.

use std::path::Path;
use std::process::Command;

use xtask::run::target;

/// The recorded sessions: text in a terminal, and drawing without images.
const SESSIONS: &[(&str, &[&str])] = &[
    ("xterm ls -laR", &["xterm", "-e", "ls -laR /usr/share/doc"]),
    (
        "x11perf text and lines",
        &[
            "x11perf", "-repeat", "1", "-time", "1", "-ftext", "-line10", "-rect10",
        ],
    ),
];
/// The maximum ratio of a trace's size to the relayed bytes.
const GOAL: f64 = 0.35;

/// Records each session on a private server, and prints the ratio of its trace.
pub(crate) fn print(folder: &Path) -> Result<(), String> {
    for (name, command) in SESSIONS {
        let output = Command::new(target().join("release/x11prof"))
            .args(["record", "--server", "xvfb", "-o"])
            .arg(folder.join("size.mcap"))
            .arg("--")
            .args(*command)
            .output()
            .map_err(|error| format!("cannot run x11prof: {error}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        let (relayed, written) =
            sizes(&said).ok_or_else(|| format!("x11prof tells no sizes: {said}"))?;
        let part = written / relayed;
        let verdict = if part < GOAL { "reached" } else { "missed" };
        println!(
            "trace of {name}: {:.1} % of {relayed:.1e} bytes relayed, under {GOAL} wanted: {verdict}",
            100.0 * part
        );
    }
    Ok(())
}

/// Parses the sizes in `… 4.4 MB relayed, 241.4 kB in FILE`.
fn sizes(said: &str) -> Option<(f64, f64)> {
    let line = said.lines().find(|line| line.contains(" relayed, "))?;
    let (before, after) = line.split_once(" relayed, ")?;
    let relayed = before.rsplit_once(", ")?.1;
    let written = after.split_once(" in ")?.0;
    Some((bytes(relayed)?, bytes(written)?))
}

fn bytes(text: &str) -> Option<f64> {
    let (number, unit) = text.split_once(' ')?;
    let unit = match unit {
        "GB" => 1e9,
        "MB" => 1e6,
        "kB" => 1e3,
        "bytes" => 1.0,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * unit)
}

#[cfg(test)]
mod tests {
    use super::sizes;

    #[test]
    fn sizes_are_parsed_from_the_summary_line() {
        let said = "x11prof: 1 connection, 4.4 MB relayed, 241.4 kB in x11prof.mcap\n";
        assert_eq!(sizes(said), Some((4.4e6, 241.4e3)));
        assert_eq!(sizes("x11prof: no"), None);
    }
}
