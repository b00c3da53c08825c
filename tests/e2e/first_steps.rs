//! `x11prof` alone: in a terminal the next commands, elsewhere the usual error of usage.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::harness::terminal::Terminal;
use crate::harness::{Place, Server, needs, until, xterm_trace};

/// The screen after `x11prof`, typed with these variables before the name.
fn screen(terminal: &Terminal, variables: &str) -> String {
    static ROUND: AtomicUsize = AtomicUsize::new(0);
    let round = ROUND.fetch_add(1, Ordering::Relaxed);
    let program = env!("CARGO_BIN_EXE_x11prof");
    terminal.types(&format!(
        "clear; env -u XAUTHORITY {variables} {program}; echo status{round}=\"$?\"\n"
    ));
    terminal.shows("the next commands", |screen| {
        screen.contains(&format!("\nstatus{round}=0"))
    })
}

#[test]
fn bare_command_in_a_terminal_suggests_next_commands() {
    needs("tmux", "tmux");
    needs("xeyes", "x11-apps");
    let place = Place::new();
    let terminal = Terminal::start(&place);
    terminal.types(&format!("cd {}\n", place.path("").display()));
    let alone = screen(&terminal, "-u DISPLAY");
    assert!(alone.contains("perf for X11."), "{alone}");
    assert!(
        alone.contains("Found: no display: DISPLAY is not set"),
        "{alone}"
    );
    assert!(
        alone.contains("\n  x11prof record --server xvfb -- my-program "),
        "{alone}"
    );

    let server = Server::xvfb(&[]);
    let display = format!("DISPLAY={}", server.display);
    let empty = screen(&terminal, &display);
    assert!(
        empty.contains(&format!("Found: display {}\n", server.display)),
        "{empty}"
    );
    assert!(!empty.contains("x11prof top"), "{empty}");

    let mut eyes = server.client("xeyes").spawn().expect("xeyes");
    let trace = std::fs::read(xterm_trace()).expect("a trace");
    place.write("x11prof.mcap", &trace);
    let both = until("xeyes is on the display", || {
        let both = screen(&terminal, &display);
        both.contains("with 1 client\n").then_some(both)
    });
    let _ = eyes.kill();
    let _ = eyes.wait();
    assert!(both.contains("a recording, x11prof.mcap ("), "{both}");
    let next = [
        "x11prof report ",
        "x11prof top ",
        "x11prof record -- my-program ",
    ];
    let places = next.map(|command| both.find(&format!("\n  {command}")));
    assert!(
        places.iter().all(Option::is_some) && places.is_sorted(),
        "{both}"
    );

    let gone = screen(&terminal, "DISPLAY=:4711");
    assert!(
        gone.contains("Found: no display: cannot connect to display :4711"),
        "{gone}"
    );
}

#[test]
fn bare_command_without_terminal_is_a_usage_error() {
    let place = Place::new();
    let finished = place.run([""; 0]);
    assert_eq!(finished.status(), Some(2));
    assert!(finished.stderr().contains("Usage: x11prof <COMMAND>"));
}
