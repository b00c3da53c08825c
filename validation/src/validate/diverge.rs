//! `cargo xtask validate diverge [PROGRAM…]`: programs on Xvfb, and on Xvfb behind a relay that plants one difference.
//! `x11prof diverge` must name the planted difference first, and none if nothing is planted.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::large::{BINARY, binary};
use super::reported;
use xtask::packages::{DEMO, DIVERGING, MORE_PROGRAMS, TEST, ensure};
use xtask::run::{cargo, run};

/// The number of differences that a screen shows.
const SHOWN: usize = 5;
/// The file that the relay creates when it changes a message.
const ALTERED: &str = "altered";

/// A program and the differences that are planted in front of it.
struct Program {
    name: &'static str,
    toolkit: &'static str,
    /// The command for sh.
    shell: &'static str,
    /// The seconds of each run.
    seconds: u32,
    /// Changes of the relay (`tests/clients/altering_relay.rs`), and the messages that then differ: both events for two
    /// swapped ones.
    planted: [(&'static str, &'static [&'static str]); 2],
}

const fn started(
    name: &'static str,
    toolkit: &'static str,
    shell: &'static str,
    planted: [(&'static str, &'static [&'static str]); 2],
) -> Program {
    Program {
        name,
        toolkit,
        shell,
        seconds: 3,
        planted,
    }
}

impl Program {
    /// A session with input, a second after the window appears.
    const fn driven(self) -> Program {
        Program { seconds: 6, ..self }
    }
}

/// Starts a program, waits for its window, clicks into it, and types.
macro_rules! typed {
    ($program:literal, $text:literal) => {
        concat!(
            $program,
            " & xdotool search --sync --onlyvisible --class ",
            $program,
            " >/dev/null; sleep 1; xdotool mousemove 100 100 click 1; xdotool type --delay 60 '",
            $text,
            "'; sleep 9"
        )
    };
}

const SPRITES: &str = "exec /usr/libexec/installed-tests/SDL2/testspriteminimal";

/// Clicks on two buttons of xcalc, and types.
const XCALC: &str = "xcalc & xdotool search --sync --onlyvisible --class xcalc >/dev/null; sleep 1; \
                     xdotool mousemove 40 230 click 1 mousemove 90 230 click 1; \
                     xdotool type --delay 60 '12+3='; sleep 9";

/// The kinds of differences take turns: a field of a reply, a missing event, two events in another order, a refused
/// request, a missing extension. For each program the message was drawn by the SHA-256 of `PROGRAM:KIND:MESSAGE` from the
/// messages of one recording of the program: replies with a field that Xlib, xcb or the toolkit reads; events (of the
/// input, in a session); two different events of which one directly follows the other; all requests with a reply except
/// QueryExtension, BIG-REQUESTS:Enable and GetInputFocus; extensions that the program uses. Its number is drawn from the
/// first three.
const PROGRAMS: &[Program] = &[
    started(
        "xterm",
        "Xaw",
        typed!("xterm", "echo hi"),
        [
            ("reply:RENDER:1:1:37", &["RENDER:QueryPictFormats"]),
            ("drop:5:1", &["ButtonRelease"]),
        ],
    )
    .driven(),
    started(
        "xclock",
        "Xaw",
        "exec xclock",
        [
            ("swap:28:1", &["PropertyNotify"]),
            ("error:RENDER:0:1", &["RENDER:QueryVersion"]),
        ],
    ),
    started(
        "xmessage",
        "Xaw",
        "exec xmessage -timeout 2 some text",
        [
            ("extension:XFIXES", &["QueryExtension"]),
            ("reply:RENDER:1:1:37", &["RENDER:QueryPictFormats"]),
        ],
    ),
    started(
        "xcalc",
        "Xaw",
        XCALC,
        [
            ("drop:5:1", &["ButtonRelease"]),
            ("swap:2:3", &["KeyPress"]),
        ],
    )
    .driven(),
    started(
        "xedit",
        "Xaw",
        "exec xedit",
        [
            ("error:14:0:1", &["GetGeometry"]),
            ("extension:XFIXES", &["QueryExtension"]),
        ],
    ),
    started(
        "nedit",
        "Motif",
        typed!("nedit", "some text"),
        [
            ("reply:23:0:1:8", &["GetSelectionOwner"]),
            ("drop:4:1", &["ButtonPress"]),
        ],
    )
    .driven(),
    started(
        "xpdf",
        "Motif",
        "exec xpdf",
        [
            ("swap:22:1", &["ConfigureNotify", "MapNotify"]),
            ("error:XKEYBOARD:0:1", &["XKEYBOARD:UseExtension"]),
        ],
    ),
    started(
        "tkcon",
        "Tk",
        "exec tkcon",
        [
            ("extension:RENDER", &["QueryExtension"]),
            ("reply:XFIXES:0:1:8", &["XFIXES:QueryVersion"]),
        ],
    ),
    started(
        "mousepad",
        "GTK 3",
        typed!("mousepad", "some text"),
        [
            (
                "drop:XInputExtension/5:1",
                &["XInputExtension:ButtonRelease"],
            ),
            (
                "swap:XInputExtension/3:3",
                &["XInputExtension:KeyRelease", "XInputExtension:KeyPress"],
            ),
        ],
    )
    .driven(),
    started(
        "xzgv",
        "GTK 2",
        "exec xzgv",
        [
            (
                "error:Generic Event Extension:0:1",
                &["Generic Event Extension:QueryVersion"],
            ),
            ("extension:SHAPE", &["QueryExtension"]),
        ],
    ),
    started(
        "gtk3-widget-factory",
        "GTK 3",
        "exec gtk3-widget-factory",
        [
            (
                "reply:XInputExtension:47:1:10",
                &["XInputExtension:XIQueryVersion"],
            ),
            ("drop:19:1", &["MapNotify"]),
        ],
    ),
    started(
        "gtk4-widget-factory",
        "GTK 4",
        "exec gtk4-widget-factory",
        [
            ("swap:12:1", &["Expose", "XInputExtension:Enter"]),
            ("error:16:0:1", &["InternAtom"]),
        ],
    ),
    started(
        "gnome-text-editor",
        "GTK 4",
        "exec gnome-text-editor",
        [
            ("extension:Generic Event Extension", &["QueryExtension"]),
            ("reply:40:0:1:12", &["TranslateCoordinates"]),
        ],
    ),
    started(
        "featherpad",
        "Qt 5",
        typed!("featherpad", "some text"),
        [
            ("drop:2:1", &["KeyPress"]),
            ("swap:2:3", &["KeyPress", "KeyRelease"]),
        ],
    )
    .driven(),
    started(
        "qterminal",
        "Qt 5",
        "exec qterminal",
        [
            ("error:XKEYBOARD:10:1", &["XKEYBOARD:GetCompatMap"]),
            ("extension:SHAPE", &["QueryExtension"]),
        ],
    ),
    started(
        "designer",
        "Qt 6",
        "exec /usr/lib/qt6/bin/designer",
        [
            ("reply:23:0:1:8", &["GetSelectionOwner"]),
            ("drop:XInputExtension/7:1", &["XInputExtension:Enter"]),
        ],
    ),
    started(
        "fluid",
        "FLTK",
        "exec fluid",
        [
            ("swap:19:2", &["MapNotify", "Expose"]),
            ("error:40:0:2", &["TranslateCoordinates"]),
        ],
    ),
    started(
        "dillo",
        "FLTK",
        "exec dillo",
        [
            ("extension:XFIXES", &["QueryExtension"]),
            ("reply:RENDER:1:1:37", &["RENDER:QueryPictFormats"]),
        ],
    ),
    started(
        "terminology",
        "EFL",
        "exec terminology",
        [
            ("drop:19:1", &["MapNotify"]),
            ("swap:17:1", &["DestroyNotify", "PropertyNotify"]),
        ],
    ),
    started(
        "testspriteminimal",
        "SDL",
        SPRITES,
        [
            ("error:XKEYBOARD:0:1", &["XKEYBOARD:UseExtension"]),
            ("extension:XFIXES", &["QueryExtension"]),
        ],
    ),
];

/// Runs the programs whose names contain one of `names`, or all.
pub(super) fn validate(names: &[String]) -> Result<(), String> {
    ensure(&[DEMO, TEST, MORE_PROGRAMS, DIVERGING])?;
    if std::env::var_os(BINARY).is_none() {
        let built = ["build", "--release", "--locked", "--bin", "x11prof"];
        run(cargo().args(built).args(["--example", "altering_relay"]))?;
    }
    println!("| program | toolkit | planted | named first | rank |");
    println!("|---|---|---|---|---:|");
    let (mut planted, mut first, mut shown, mut silent, mut runs) = (0, 0, 0, 0, 0);
    for program in PROGRAMS {
        let (name, toolkit) = (program.name, program.toolkit);
        if !names.is_empty() && !names.iter().any(|word| name.contains(word.as_str())) {
            continue;
        }
        let named = differences(program, "none")?;
        runs += 1;
        silent += usize::from(named.is_empty());
        let what = named.first().map_or("nothing", String::as_str);
        println!("| {name} | {toolkit} | nothing | {what} | |");
        for (change, messages) in program.planted {
            let named = differences(program, change)?;
            let rank = named
                .iter()
                .position(|one| messages.contains(&one.as_str()));
            planted += 1;
            first += usize::from(rank == Some(0));
            shown += usize::from(rank.is_some_and(|rank| rank < SHOWN));
            let what = named.first().map_or("nothing", String::as_str);
            let rank = rank.map_or("–".to_owned(), |rank| (rank + 1).to_string());
            let messages = messages.join(" and ");
            println!("| {name} | {toolkit} | {change} ({messages}) | {what} | {rank} |");
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
/// A run in which the program ended before the planted difference is repeated with twice the time.
fn differences(program: &Program, change: &str) -> Result<Vec<String>, String> {
    for seconds in [1, 2, 4].map(|times| program.seconds * times) {
        let folder = tempfile::tempdir().map_err(reported)?;
        let named = compared(program, change, seconds, folder.path())?;
        if change == "none" || folder.path().join(ALTERED).exists() {
            return Ok(named);
        }
        println!("{}, {change}: without effect in {seconds} s", program.name);
    }
    Err(format!("{}: {change} has no effect", program.name))
}

fn compared(
    program: &Program,
    change: &str,
    seconds: u32,
    folder: &Path,
) -> Result<Vec<String>, String> {
    let relay = binary().with_file_name("examples/altering_relay");
    let relay = format!("{} '{change}'", relay.display());
    let output = Command::new(binary())
        .current_dir(folder)
        .env("ALTERED", folder.join(ALTERED))
        .args(["diverge", "--server", "xvfb", "--server-command", &relay])
        .args(["--seconds", &seconds.to_string(), "--format", "json", "--"])
        .args(["sh", "-c", program.shell])
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
