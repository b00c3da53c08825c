//! What the clients of a display do now, in the terminal: `record --live` and `top`; and the profile so far on the
//! paper's two signals. It has a thread of its own, which a recording never waits for.

mod choice;
mod keys;
mod prices;
mod said;
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
use std::time::Duration;

use signal_hook::consts::{SIGUSR1, SIGUSR2};
use x11prof_analyzer::{BasisOption, FRAME_MS, NowOptions, NowReport};
use x11prof_proxy::{Watch, WatchEvent, Watched, watch};
use x11prof_views::clients_now::By;

use crate::error::CommandError;
use choice::Choice;
use prices::Prices;
use said::Said;
use source::Source;
use view::View;

/// Rates are over this where the user does not say: long enough to be read, short enough to follow.
pub(crate) const SECONDS: f64 = 5.0;
/// How long it waits for a record of a display that is watched.
const PATIENCE: Duration = Duration::from_millis(50);

/// How a view is to be.
pub(crate) struct ViewOptions {
    /// What is watched, for people.
    pub(crate) what: String,
    /// The name of the server's parameters; those that match it where `None`.
    pub(crate) parameters: Option<String>,
    /// How it is counted.
    pub(crate) now: NowOptions,
    /// What it shows first.
    pub(crate) by: By,
    /// Whether what the program writes to the terminal is to be kept.
    pub(crate) collects: bool,
}

impl ViewOptions {
    /// Of a recording into `trace`.
    pub(crate) fn recording(trace: &Path, parameters: Option<String>) -> ViewOptions {
        ViewOptions {
            what: trace.to_string_lossy().into_owned(),
            parameters,
            now: NowOptions {
                seconds: SECONDS,
                frame_ms: FRAME_MS,
                // As `report` prices the same records.
                basis: BasisOption::Auto,
            },
            by: By::Client,
            collects: true,
        }
    }
}

/// The running view.
pub(crate) struct Live {
    thread: JoinHandle<Option<Said>>,
    notices: Sender<String>,
    /// The recording has ended.
    over: Arc<AtomicBool>,
    /// What the recorded program says, where the screen is the view's.
    said: Option<Said>,
}

impl Live {
    /// Starts the view of a recording. It ends when the watch is dropped.
    pub(crate) fn start(options: ViewOptions) -> Result<(Live, Watch), CommandError> {
        let (watch, watched) = watch();
        let live = Live::show(options, Source::Recording(watched))?;
        Ok((live, watch))
    }

    /// Starts the view of a trace, which may still grow.
    pub(crate) fn of_trace(options: ViewOptions, trace: &Path) -> Result<Live, CommandError> {
        Live::show(options, Source::trace(trace)?)
    }

    fn show(options: ViewOptions, source: Source) -> Result<Live, CommandError> {
        let prices = Prices::of(options.parameters)?;
        let signal = |number| {
            let flag = Arc::new(AtomicBool::new(false));
            signal_hook::flag::register(number, Arc::clone(&flag))
                .map(|_| flag)
                .map_err(|error| CommandError::failed(format_args!("signals: {error}")))
        };
        let (notices, told) = mpsc::channel();
        let over = Arc::new(AtomicBool::new(false));
        let draws = io::stderr().is_terminal();
        let said = match draws && options.collects {
            true => {
                let said = Said::new();
                Some(said.map_err(|error| CommandError::failed(format_args!("memory: {error}")))?)
            }
            false => None,
        };
        let view = View {
            what: options.what,
            source,
            told,
            over: Arc::clone(&over),
            print: signal(SIGUSR1)?,
            afresh: signal(SIGUSR2)?,
            prices,
            options: options.now,
            choice: Choice {
                by: options.by,
                ..Choice::default()
            },
            draws,
            said: said.clone(),
        };
        let thread = std::thread::Builder::new()
            .name("x11prof-live".to_owned())
            .spawn(move || view.run())
            .map_err(|error| CommandError::failed(format_args!("a thread: {error}")))?;
        Ok(Live {
            thread,
            notices,
            over,
            said,
        })
    }

    /// Says something to the user, on the screen where there is one.
    pub(crate) fn tell(&self, notice: String) {
        // The user may have left the view.
        if let Err(SendError(notice)) = self.notices.send(notice) {
            say!("{notice}");
        }
    }

    /// What takes the recorded program's words while the view has the screen.
    pub(crate) fn collect(&self) -> Option<Arc<File>> {
        self.said.as_ref().map(Said::file)
    }

    /// Waits for the end of the view, which comes once the watch is dropped, or once nothing comes any
    /// more: a recorder whose disk hangs keeps its watch.
    pub(crate) fn finish(self) {
        self.over.store(true, Ordering::Relaxed);
        self.wait();
    }

    /// Waits until the user has seen enough.
    pub(crate) fn wait(self) {
        // It gives back what it knows of the program's words.
        let said = self.thread.join().unwrap_or(self.said);
        if let Some(said) = said {
            // The terminal may have gone.
            let _ = said.print(&mut io::stderr().lock());
        }
    }
}

/// What came from a recording until it ended; `None` where it did not begin.
pub(crate) fn all_of(
    watched: Watched,
    parameters: Option<String>,
    options: &NowOptions,
) -> Result<Option<NowReport>, CommandError> {
    let source = Source::Recording(watched);
    let mut prices = Prices::of(parameters)?;
    let Some(mut profile) = prices.begin(&source, options, PATIENCE, || false)? else {
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
