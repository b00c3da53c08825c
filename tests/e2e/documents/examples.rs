//! The examples of README.md and docs/GUIDE.md: each command runs, and prints what the document shows, except for numbers.
//!
//! A comment before a block specifies how it runs: `<!-- example: NAME.mcap -->` in a folder where x11prof.mcap is
//! that recording of tests/data; `<!-- example: live -->` in an empty folder; `<!-- example: display -->` with a
//! private Xvfb and an xterm on it as DISPLAY. A line `...` represents any number of lines. `cargo xtask docs`
//! updates the output of blocks that read recordings.

use std::path::Path;
use std::process::{Child, Command};

use super::{document, keep, writes};
use crate::harness::{Place, Server, needs, until};

const DOCUMENTS: [&str; 2] = ["README.md", "docs/GUIDE.md"];
/// All documents whose commands are checked.
const ALL: [&str; 7] = [
    "README.md",
    "SECURITY.md",
    "CONTRIBUTING.md",
    "docs/GUIDE.md",
    "docs/CONCEPTS.md",
    "docs/CI.md",
    "docs/EXPORTS.md",
];

/// A block of a document: commands with their output.
struct Example<'a> {
    /// The word of its comment.
    setting: &'a str,
    /// The lines between the fences.
    text: &'a str,
}

/// The example that `text` begins with, and the text after its closing fence.
fn example(text: &str) -> (Example<'_>, &str) {
    let (setting, after) = text
        .split_once(" -->\n```console\n")
        .expect("a block `console` after the comment");
    let (text, after) = after.split_once("```\n").expect("the block's end");
    (Example { setting, text }, after)
}

/// A line without what differs from run to run: numbers, their units, bars, and the width of columns.
fn shape(line: &str) -> String {
    let mut text = String::new();
    let mut number = false;
    for c in line.chars() {
        let digit = c.is_ascii_digit() || (number && matches!(c, '.' | ','));
        match c {
            _ if digit && number => {}
            _ if digit => text.push('#'),
            '█' | '▉' | '▊' | '▋' | '▌' | '▍' | '▎' | '▏' | '-' => text.push(' '),
            _ => text.push(c),
        }
        number = digit;
    }
    let mut words: Vec<&str> = Vec::new();
    for word in text.split_whitespace() {
        let unit = matches!(
            word.trim_end_matches([',', '.', ':', ';', ')']),
            "s" | "ms" | "µs" | "bytes" | "kB" | "MB"
        );
        let after_number = words.last().is_some_and(|last| last.ends_with('#'));
        if !(unit && after_number) {
            words.push(word.trim_end_matches([',', '.', ':']));
        }
    }
    words.join(" ")
}

/// True if an output line has the same shape as the shown line. For a live program only the first two words are
/// compared, because the main cause differs on a busy machine.
fn alike(shown: &str, actual: &str, live: bool) -> bool {
    // The mark of the largest figures depends on the run.
    let [shown, actual] = [shown, actual].map(|line| shape(&line.replace('•', " ")));
    match live {
        true => shown.split(' ').take(2).eq(actual.split(' ').take(2)),
        false => shown == actual,
    }
}

/// Updates the shown lines from the output. The error names the line that the output lacks.
fn match_output(shown: &[&str], output: &[&str], live: bool) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut skip = false;
    let mut first = true;
    for line in shown {
        if *line == "..." {
            found.push("...".to_owned());
            skip = true;
            continue;
        }
        let rest = output.get(at..).unwrap_or_default();
        let next = match skip {
            true => {
                let same = rest.iter().position(|other| alike(line, other, live));
                // A renamed column changes a heading; its first word finds the new one.
                let word = line.split_whitespace().next();
                let named = || {
                    rest.iter()
                        .position(|other| other.split_whitespace().next() == word)
                };
                same.or_else(|| named().filter(|_| writes()))
            }
            false => Some(0),
        };
        let actual = next.and_then(|next| Some((at + next + 1, *rest.get(next)?)));
        match actual {
            // Paragraphs of a live program may wrap differently.
            Some((after, actual))
                if writes() || (live && !first && !skip) || alike(line, actual, live) =>
            {
                found.push(actual.to_owned());
                at = after;
            }
            _ => {
                return Err(format!(
                    "not printed: {line}\nthe output from there on:\n{}",
                    rest.join("\n")
                ));
            }
        }
        skip = false;
        first = false;
    }
    match at < output.len() && !skip {
        true => Err(format!("more is printed:\n{}", output[at..].join("\n"))),
        false => Ok(found),
    }
}

/// The environment in which an example's commands run.
struct Setting {
    place: Place,
    display: Option<(Server, Child)>,
}

impl Setting {
    fn new(name: &str) -> Setting {
        needs("Xvfb", "xvfb");
        needs("xterm", "xterm");
        let place = Place::new();
        if name.ends_with(".mcap") {
            let trace =
                std::fs::read(document(&format!("tests/data/{name}"))).expect("a recording");
            place.write("x11prof.mcap", &trace);
        }
        let display = (name == "display").then(|| {
            let server = Server::xvfb(&[]);
            let xterm = server.client("xterm").spawn().expect("xterm");
            until("xterm has a window", || {
                let found = server.client("xwininfo").args(["-name", "xterm"]).output();
                found
                    .is_ok_and(|found| found.status.success())
                    .then_some(())
            });
            (server, xterm)
        });
        Setting { place, display }
    }

    /// The output of a command: its results, or what it reports on standard error if it has none.
    fn run(&self, command: &str) -> String {
        let folder = Path::new(env!("CARGO_BIN_EXE_x11prof")).parent();
        let folder = folder.expect("a folder").display();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut shell = Command::new("sh");
        shell.env("PATH", format!("{folder}:{path}"));
        shell.args(["-c", command]).current_dir(self.place.path(""));
        let prepared = self.place.x11prof([""; 0]);
        for (name, value) in prepared.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        if let Some((server, _)) = &self.display {
            shell.env("DISPLAY", &server.display);
        }
        let output = shell.output().expect("sh");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(
            // Exit status 1 is a valid result: a difference was found, or a budget was exceeded.
            matches!(output.status.code(), Some(0 | 1)),
            "{command}: {}",
            text(&output.stderr)
        );
        match output.stdout.is_empty() {
            true => text(&output.stderr),
            false => text(&output.stdout),
        }
    }
}

impl Drop for Setting {
    fn drop(&mut self) {
        if let Some((_, xterm)) = &mut self.display {
            let _ = xterm.kill();
            let _ = xterm.wait();
        }
    }
}

/// Runs an example and returns its lines with the current output.
fn run(name: &str, example: &Example) -> String {
    let setting = Setting::new(example.setting);
    let mut text = String::new();
    for part in example.text.split("$ ").skip(1) {
        let (command, shown) = part.split_once('\n').unwrap_or((part, ""));
        assert!(command.contains("x11prof "), "{name}: {command}");
        let output = setting.run(command.split(" #").next().unwrap_or(command));
        let shown: Vec<&str> = shown.trim_end_matches('\n').lines().collect();
        let output: Vec<&str> = output.trim_end_matches('\n').lines().collect();
        // If the document shows no output, the output is not compared.
        let lines = match shown.is_empty() {
            true => Vec::new(),
            false => match_output(&shown, &output, example.setting == "live")
                .unwrap_or_else(|error| panic!("{name}: $ {command}\n{error}")),
        };
        text.push_str(&format!("$ {command}\n"));
        for line in lines {
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
    match example.setting.ends_with(".mcap") {
        true => text,
        // Keep the shown output of a live program: it varies between runs.
        false => example.text.to_owned(),
    }
}

#[test]
fn examples_print_the_documented_output() {
    for name in DOCUMENTS {
        let found = std::fs::read_to_string(document(name)).expect("a document");
        let blocks = found.matches("\n```console\n").count();
        let mut parts = found.split("<!-- example: ");
        let mut expected = parts.next().unwrap_or_default().to_owned();
        let mut run_blocks = 0;
        for part in parts {
            let (example, after) = example(part);
            let text = run(name, &example);
            expected.push_str(&format!(
                "<!-- example: {} -->\n```console\n{text}```\n{after}",
                example.setting
            ));
            run_blocks += 1;
        }
        assert_eq!(
            blocks, run_blocks,
            "{name}: a block `console` without a comment `example`"
        );
        if writes() {
            keep(name, &expected);
        }
    }
}

/// The commands of a document: in inline code and in lines of code blocks.
fn commands(text: &str) -> Vec<String> {
    let spans = text.split('`').skip(1).step_by(2);
    let fences = text.split("```").skip(1).step_by(2);
    let blocks = fences.flat_map(str::lines);
    let indented = text.lines().filter(|line| line.starts_with("    "));
    let lines = blocks
        .chain(indented)
        .map(|line| line.trim().trim_start_matches("$ "));
    let commands = spans
        .chain(lines)
        .filter(|code| code.starts_with("x11prof "));
    let commands = commands.filter(|code| !code.contains('\n'));
    commands
        .map(|code| code.split(" #").next().unwrap_or(code).trim().to_owned())
        .collect()
}

#[test]
fn documented_commands_and_options_exist() {
    let place = Place::new();
    let mut wrong = Vec::new();
    for name in ALL {
        let text = std::fs::read_to_string(document(name)).expect("a document");
        for command in commands(&text.replace("FORMAT", "perfetto")) {
            // `--help` stops argument parsing: clap checks only the words before it.
            let words = match command.contains('\'') {
                true => command.as_str(),
                false => command
                    .split(['|', ';', '>', '…'])
                    .next()
                    .unwrap_or_default(),
            };
            let (options, rest) = words.split_once(" -- ").unwrap_or((words, ""));
            let checked = match options.starts_with("x11prof diff") {
                true => format!("{options} {rest} --help"),
                false => format!("{options} --help"),
            };
            let mut shell = Command::new("sh");
            let program = env!("CARGO_BIN_EXE_x11prof");
            shell.args([
                "-c",
                &format!("set -f; {program}{}", checked.trim_start_matches("x11prof")),
            ]);
            let output = shell.current_dir(place.path("")).output().expect("sh");
            if !output.status.success() {
                wrong.push(format!(
                    "{name}: {command}\n{}",
                    String::from_utf8_lossy(&output.stderr)
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn shapes_ignore_numbers_and_match_across_omitted_lines() {
    assert_eq!(
        shape("Saves 11.3 s: 212 AllocColor,  1,024 more"),
        "Saves # # AllocColor # more"
    );
    let output = ["a 1", "b 2", "c 3"];
    assert_eq!(
        match_output(&["a 9", "...", "c 9"], &output, false),
        Ok(vec!["a 1".to_owned(), "...".to_owned(), "c 3".to_owned()])
    );
    assert!(match_output(&["a 9", "..."], &output, false).is_ok());
    assert!(match_output(&["a 9"], &output, false).is_err());
}
