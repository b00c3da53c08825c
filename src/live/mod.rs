//! The live view of a display's clients in the terminal: `record --live` and `top`. SIGUSR1 prints the
//! profile so far, SIGUSR2 resets it. A recording never waits for the thread of the view.

mod captured_output;
mod choice;
mod cost_source;
mod keys;
mod screen;
mod source;
mod view;

use std::fs::File;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, SendError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGUSR1, SIGUSR2};
use x11prof_analyzer::{FRAME_MS, NowOptions, NowReport, TimeSourceOption};
use x11prof_proxy::{Watch, WatchEvent, Watched, note_handled_signals, watch};
use x11prof_views::clients_now::By;

use crate::error::CommandError;
use crate::say::Stderr;
use captured_output::CapturedOutput;
use choice::Choice;
use cost_source::CostSource;
use source::Source;
use view::View;

/// The default averaging interval of rates, in seconds: long enough to read, short enough to follow changes.
pub(crate) const SECONDS: f64 = 5.0;
/// The longest wait for the end of a view, whose terminal may have stopped.
const LAST: Duration = Duration::from_secs(3);
/// The longest wait for a record of a watched display before the view checks for other work.
const PATIENCE: Duration = Duration::from_millis(50);

/// The options of a view.
pub(crate) struct ViewOptions {
    /// The name of the watched display or trace, for the first line of the screen.
    pub(crate) what: String,
    /// The name of the cost table; `None` selects the table that matches the server.
    pub(crate) parameters: Option<String>,
    /// The options of the analysis.
    pub(crate) now: NowOptions,
    /// The kind of rows at the start.
    pub(crate) by: By,
    /// True if the recorded program's output is captured while the view uses the terminal.
    pub(crate) collects: bool,
}

impl ViewOptions {
    /// Returns the options of a view for a recording to the file `trace`. `parameters` names the cost table.
    pub(crate) fn recording(trace: &Path, parameters: Option<String>) -> ViewOptions {
        ViewOptions {
            what: trace.to_string_lossy().into_owned(),
            parameters,
            now: NowOptions {
                seconds: SECONDS,
                frame_ms: FRAME_MS,
                // The profile must agree with the one that `report` prints for the same records.
                basis: TimeSourceOption::Auto,
            },
            by: By::Client,
            collects: true,
        }
    }
}

/// A running live view: its thread, and the values shared with the thread.
pub(crate) struct Live {
    thread: JoinHandle<Option<CapturedOutput>>,
    notices: Sender<String>,
    /// True when the recording has ended.
    over: Arc<AtomicBool>,
    /// The recorded program's output while the view uses the terminal.
    captured: Option<CapturedOutput>,
}

impl Live {
    /// Starts a view for a recording. Returns the view, and the watch that passes records to the view. The view ends
    /// when the watch is dropped.
    pub(crate) fn start(options: ViewOptions) -> Result<(Live, Watch), CommandError> {
        let (watch, watched) = watch();
        let live = Live::show(options, Source::Recording(watched))?;
        Ok((live, watch))
    }

    /// Starts the view of a trace, which may still grow.
    pub(crate) fn of_trace(options: ViewOptions, trace: &Path) -> Result<Live, CommandError> {
        note_handled_signals();
        Live::show(options, Source::trace(trace)?)
    }

    fn show(options: ViewOptions, source: Source) -> Result<Live, CommandError> {
        let costs = CostSource::of(options.parameters)?;
        let signal = |number| {
            let flag = Arc::new(AtomicBool::new(false));
            signal_hook::flag::register(number, Arc::clone(&flag))
                .map(|_| flag)
                .map_err(|error| CommandError::failed(format_args!("signals: {error}")))
        };
        let (notices, reported) = mpsc::channel();
        let over = Arc::new(AtomicBool::new(false));
        let draws = io::stderr().is_terminal();
        let captured = match draws && options.collects {
            true => {
                let captured = CapturedOutput::new();
                Some(
                    captured
                        .map_err(|error| CommandError::failed(format_args!("memory: {error}")))?,
                )
            }
            false => None,
        };
        let view = View {
            what: options.what,
            source,
            reported,
            over: Arc::clone(&over),
            print: signal(SIGUSR1)?,
            afresh: signal(SIGUSR2)?,
            costs,
            options: options.now,
            choice: Choice {
                by: options.by,
                ..Choice::default()
            },
            draws,
            captured: captured.clone(),
        };
        let thread = std::thread::Builder::new()
            .name("x11prof-live".to_owned())
            .spawn(move || view.run())
            .map_err(|error| CommandError::failed(format_args!("a thread: {error}")))?;
        Ok(Live {
            thread,
            notices,
            over,
            captured,
        })
    }

    /// Shows a notice to the user, on the view's screen if there is a screen.
    pub(crate) fn tell(&self, notice: String) {
        // The user may have quit the view.
        if let Err(SendError(notice)) = self.notices.send(notice) {
            say!("{notice}");
        }
    }

    /// Returns the file for the recorded program's output; `None` if the output is not captured.
    pub(crate) fn collect(&self) -> Option<Arc<File>> {
        self.captured.as_ref().map(CapturedOutput::file)
    }

    /// Waits for the end of the view, after the watch was dropped or no more records arrive. The wait is limited to
    /// `LAST`, because a recorder whose disk hangs does not drop its watch.
    pub(crate) fn finish(self) {
        self.over.store(true, Ordering::Relaxed);
        let until = Instant::now() + LAST;
        while !self.thread.is_finished() {
            if Instant::now() > until {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        self.wait();
    }

    /// Waits until the view ends, and prints the recorded program's captured output.
    pub(crate) fn wait(self) {
        // The thread returns the program's captured output.
        let captured = self.thread.join().unwrap_or(self.captured);
        if let Some(captured) = captured {
            // The terminal may be closed.
            captured.end();
            let _ = captured.print(&mut Stderr);
        }
    }
}

/// Reads a whole recording from `watched`, and returns the report at its end; `None` if the recording did not start.
pub(crate) fn all_of(
    watched: Watched,
    parameters: Option<String>,
    options: &NowOptions,
) -> Result<Option<NowReport>, CommandError> {
    let source = Source::Recording(watched);
    let mut costs = CostSource::of(parameters)?;
    let Some(mut profile) = costs.begin(&source, options, PATIENCE, || false)? else {
        return Ok(None);
    };
    loop {
        match source.next(PATIENCE) {
            WatchEvent::Record(record) => profile.feed(record),
            WatchEvent::Nothing => {}
            WatchEvent::End => break,
        }
    }
    profile.end();
    Ok(Some(profile.now(None)))
}
