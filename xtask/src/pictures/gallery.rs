//! The pages in docs/gallery: real programs, each recorded for some seconds while xdotool sends the input, then
//! scrubbed.

use std::path::Path;
use std::process::{Command, Stdio};

use super::display::{Processes, xvfb};
use crate::run::{root, run};

/// A program with its arguments, run in a folder with a text of 2000 lines, and the input as a shell script.
struct Program {
    name: &'static str,
    command: &'static str,
    user: &'static str,
}

/// Pages through a text and types into it.
const EDITS: &str = "sleep 2; xdotool mousemove 300 300 click 1; sleep 0.5
    xdotool key --delay 60 --repeat 10 Next; sleep 0.5
    xdotool type --delay 60 'The quick brown fox. '; sleep 1";

/// Programs of five toolkits: GTK 3, Qt 5, Motif, Xt, and one without a toolkit.
const PROGRAMS: [Program; 5] = [
    Program {
        name: "mousepad",
        command: "mousepad",
        user: EDITS,
    },
    Program {
        name: "featherpad",
        command: "featherpad text",
        user: EDITS,
    },
    Program {
        name: "nedit",
        command: "nedit text",
        user: EDITS,
    },
    Program {
        name: "xterm",
        command: "xterm -e ls -la /usr",
        user: "sleep 2",
    },
    Program {
        name: "mupdf",
        command: "mupdf /usr/share/doc/shared-mime-info/shared-mime-info-spec.pdf",
        user: "sleep 2; xdotool mousemove 300 300 key --delay 250 --repeat 12 Next; sleep 1",
    },
];

/// Seconds after which a program is killed.
const LIMIT: &str = "12";
/// Maximum size of a page, in bytes.
const LARGEST: u64 = 600_000;

/// Records the programs with `x11prof`, and writes their pages.
pub(super) fn pages(x11prof: &Path, scratch: &Path) -> Result<(), String> {
    let gallery = root().join("docs/gallery");
    let reported = |error: std::io::Error| error.to_string();
    std::fs::create_dir_all(&gallery).map_err(reported)?;
    std::fs::create_dir_all(scratch).map_err(reported)?;
    let text: String = (1..=2000)
        .map(|line| format!("Line {line}: the quick brown fox jumps over the lazy dog\n"))
        .collect();
    std::fs::write(scratch.join("text"), text).map_err(reported)?;
    for program in PROGRAMS {
        let trace = format!("{}.mcap", program.name);
        record(x11prof, scratch, &program, &trace)?;
        let page = gallery.join(format!("{}.html", program.name));
        // The page shows the trace's name without folders of this machine.
        let made = Command::new(x11prof)
            .args(["report", "--format", "html", "-o"])
            .arg(&page)
            .arg(&trace)
            .current_dir(scratch)
            .status()
            .map_err(reported)?;
        let length = std::fs::metadata(&page).map_err(reported)?.len();
        if !made.success() || length > LARGEST {
            return Err(format!("{}: {length} bytes, {made}", page.display()));
        }
        println!("{}: {length} bytes", page.display());
    }
    Ok(())
}

fn record(x11prof: &Path, scratch: &Path, program: &Program, trace: &str) -> Result<(), String> {
    let (mut processes, display) = xvfb(x11prof)?;
    let Processes(running) = &mut processes;
    let recorder = Command::new(x11prof)
        .args([
            "record",
            "--scrub",
            "--seconds",
            LIMIT,
            "--display",
            &display,
            "-o",
            trace,
        ])
        .arg("--")
        .args(program.command.split(' '))
        .current_dir(scratch)
        .stderr(Stdio::null())
        .spawn();
    running.push(recorder.map_err(|error| format!("cannot run x11prof: {error}"))?);
    // Input goes directly to the server, so that only the program is recorded.
    run(Command::new("sh")
        .args(["-euc", program.user])
        .env("DISPLAY", &display))?;
    let Some(recorder) = running.last_mut() else {
        return Ok(());
    };
    run(Command::new("kill").args(["-INT", &recorder.id().to_string()]))?;
    let ended = recorder.wait().map_err(|error| error.to_string())?;
    println!("{}: {ended}", program.name);
    Ok(())
}
