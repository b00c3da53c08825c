//! Results of validations and benches, kept in validation/results.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::run::{output, root};

/// Runs `command`, the validation or benchmark named by `words`. Prints its output and stores it in a dated file.
pub(crate) fn keep(command: &mut Command, words: &[String]) -> Result<(), String> {
    let mut child = command
        .current_dir(root())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot run the validation: {error}"))?;
    let mut lines = Vec::new();
    for line in child
        .stdout
        .take()
        .map(BufReader::new)
        .into_iter()
        .flat_map(BufRead::lines)
    {
        let line = line.map_err(|error| format!("the validation's output: {error}"))?;
        println!("{line}");
        lines.push(line);
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    if lines.is_empty() {
        return ended(status);
    }
    let date = output(Command::new("date").args(["-u", "+%F"]))?;
    let letters = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = words.join("-").chars().map(letters).collect();
    let file = root().join(format!("validation/results/{date}-{name}.txt"));
    let head = format!(
        "Command: cargo xtask {}\nMachine: {}\nCommit: {}\nDate: {date}\nStatus: {status}\n\n",
        words.join(" "),
        machine()?,
        output(
            Command::new("git")
                .args(["rev-parse", "--short", "HEAD"])
                .current_dir(root())
        )?,
    );
    let text = format!("{head}{}\n", lines.join("\n"));
    std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    eprintln!("kept in {}", file.display());
    ended(status)
}

fn ended(status: std::process::ExitStatus) -> Result<(), String> {
    match status.success() {
        true => Ok(()),
        false => Err(format!("the validation failed: {status}")),
    }
}

/// The processor, the number of processors and the kernel.
fn machine() -> Result<String, String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").map_err(|error| error.to_string())?;
    let model = text.lines().find(|line| line.starts_with("model name"));
    let model = model
        .and_then(|line| line.split_once(": "))
        .map_or("unknown", |(_, name)| name);
    let count = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Ok(format!(
        "{count} × {model}, {}",
        output(Command::new("uname").arg("-sr"))?
    ))
}
