//! The micro-benchmarks in several toolkits: Swing reads the connection in one thread and paints in another; Tk
//! waits in one thread and handles events in another; GTK repaints on a frame clock.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::harness::examples::example;
use crate::harness::{Finished, Place, Recording, keep, needs, side_by_side};

/// The toolkit of a benchmark.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Toolkit {
    /// The protocol itself, in Rust, without a toolkit.
    None,
    Swing,
    Tk,
    Gtk,
}

/// The toolkits for which a micro-benchmark exists.
pub(crate) const TOOLKITS: [Toolkit; 3] = [Toolkit::Swing, Toolkit::Tk, Toolkit::Gtk];

impl Toolkit {
    /// The toolkit's name in tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Toolkit::None => "none",
            Toolkit::Swing => "Swing",
            Toolkit::Tk => "Tk",
            Toolkit::Gtk => "GTK 3",
        }
    }

    /// The micro-benchmark's command, without its arguments (benchmark, work, file, times).
    pub(crate) fn program(self, recording: &Recording, home: &Place) -> Command {
        self.client(recording, home, "microbench", "Microbench")
    }

    /// A program with a 15 ms timer.
    pub(crate) fn ticker(self, recording: &Recording, home: &Place) -> Command {
        self.client(recording, home, "ticker", "Ticker")
    }

    fn client(self, recording: &Recording, home: &Place, name: &str, class: &str) -> Command {
        let mut command = match self {
            Toolkit::None => recording.client(&example(name).to_string_lossy()),
            Toolkit::Swing => {
                needs("java", "default-jre");
                let mut java = recording.client("java");
                java.arg("-cp").arg(classes()).arg(class);
                java
            }
            Toolkit::Tk => {
                needs("wish", "tk");
                let mut wish = recording.client("wish");
                wish.arg(source(&format!("{name}.tcl")))
                    .env("MONOTONIC_US", monotonic_us().to_string());
                wish
            }
            Toolkit::Gtk => {
                let mut python = recording.client("/usr/bin/python3");
                python.arg(source(&format!("{name}.py")));
                python
            }
        };
        command
            .env("HOME", home.path("."))
            .env("GDK_BACKEND", "x11")
            .env("NO_AT_BRIDGE", "1")
            .env_remove("DBUS_SESSION_BUS_ADDRESS");
        command
    }
}

/// Path of a source file of the toolkit clients.
pub(crate) fn source(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/toolkits");
    folder.join(name)
}

/// The folder of the compiled Swing programs, compiled once.
pub(crate) fn classes() -> &'static Path {
    static CLASSES: OnceLock<PathBuf> = OnceLock::new();
    let _turn = side_by_side();
    CLASSES.get_or_init(|| {
        needs("javac", "default-jdk-headless");
        let place = Place::new();
        let folder = place.path("classes");
        let mut javac = Command::new("javac");
        Finished::of(
            javac
                .arg("-d")
                .arg(&folder)
                .args(["Microbench.java", "Text.java", "Ticker.java"].map(source)),
        )
        .succeeded();
        keep(place, folder)
    })
}

/// CLOCK_MONOTONIC minus CLOCK_REALTIME, in microseconds.
fn monotonic_us() -> i64 {
    use rustix::time::{ClockId, clock_gettime};
    let read = |clock| {
        let time = clock_gettime(clock);
        time.tv_sec * 1_000_000 + time.tv_nsec / 1000
    };
    read(ClockId::Monotonic) - read(ClockId::Realtime)
}
