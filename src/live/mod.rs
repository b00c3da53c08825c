//! `record --live`: the profile of the recording while it goes on, in the terminal and on the
//! paper's two signals. It has a thread of its own, which the recording never waits for.

mod keys;
mod rates;
mod said;
mod screen;

use std::fs::File;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Signal, getpid, kill_process};
use signal_hook::consts::{SIGUSR1, SIGUSR2};
use x11prof_analyzer::{FRAME_MS, LiveProfile, NowOptions, Wanted};
use x11prof_cost_model::{Network, ServerParameters, Substitutions};
use x11prof_proxy::{Sight, Watch, Watched, watch};
use x11prof_trace::{Control, Record, Server, Started};
use x11prof_views as views;

use crate::error::CommandError;
use crate::input;
use crate::say::say_all;
use keys::{Key, Keys};
use rates::{Order, Rates};
use said::Said;
use screen::{Screen, Shown};

/// How often the screen is drawn.
const REFRESH: Duration = Duration::from_millis(250);
/// How long it waits for a record before it looks at the signals.
const PATIENCE: Duration = Duration::from_millis(50);

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
    /// Starts the view of a recording into `trace`, on the parameters of that name, or on those
    /// that match the server. It ends when the watch is dropped.
    pub(crate) fn start(
        trace: &Path,
        parameters: Option<String>,
    ) -> Result<(Live, Watch), CommandError> {
        // A wrong name is said before anything is recorded.
        if let Some(name) = &parameters {
            input::parameters(name)?;
        }
        let signal = |number| {
            let flag = Arc::new(AtomicBool::new(false));
            signal_hook::flag::register(number, Arc::clone(&flag))
                .map(|_| flag)
                .map_err(|error| CommandError::failed(format_args!("signals: {error}")))
        };
        let (watch, watched) = watch();
        let (notices, told) = mpsc::channel();
        let over = Arc::new(AtomicBool::new(false));
        let said = match io::stderr().is_terminal() {
            true => {
                let said = Said::new();
                Some(said.map_err(|error| CommandError::failed(format_args!("memory: {error}")))?)
            }
            false => None,
        };
        let view = View {
            watched,
            told,
            over: Arc::clone(&over),
            print: signal(SIGUSR1)?,
            afresh: signal(SIGUSR2)?,
            prices: Prices {
                name: parameters,
                started: None,
                server: None,
            },
            trace: trace.to_owned(),
            said: said.clone(),
        };
        let thread = std::thread::Builder::new()
            .name("x11prof-live".to_owned())
            .spawn(move || view.run())
            .map_err(|error| CommandError::failed(format_args!("a thread: {error}")))?;
        let live = Live {
            thread,
            notices,
            over,
            said,
        };
        Ok((live, watch))
    }

    /// Says something to the user, on the screen where there is one.
    pub(crate) fn tell(&self, notice: String) {
        // Without a view there is nobody to tell, and it ends only with the recording.
        let _ = self.notices.send(notice);
    }

    /// What takes the recorded program's words while the view has the screen.
    pub(crate) fn collect(&self) -> Option<Arc<File>> {
        self.said.as_ref().map(Said::file)
    }

    /// Waits for the end of the view, which comes once the watch is dropped, or once nothing comes any
    /// more: a recorder whose disk hangs keeps its watch.
    pub(crate) fn finish(self) {
        self.over.store(true, Ordering::Relaxed);
        // It gives back what it knows of the program's words.
        let said = self.thread.join().unwrap_or(self.said);
        if let Some(said) = said {
            // The terminal may have gone.
            let _ = said.print(&mut io::stderr().lock());
        }
    }
}

/// Where prices come from.
struct Prices {
    name: Option<String>,
    started: Option<Started>,
    server: Option<Server>,
}

impl Prices {
    fn read(&self) -> Result<ServerParameters, CommandError> {
        let Some(started) = &self.started else {
            return Err(CommandError::failed("the recording has no beginning"));
        };
        let prices = input::live_prices(self.name.as_deref(), started, self.server.as_ref())?;
        Ok(prices.parameters)
    }
}

struct View {
    watched: Watched,
    told: Receiver<String>,
    over: Arc<AtomicBool>,
    print: Arc<AtomicBool>,
    afresh: Arc<AtomicBool>,
    prices: Prices,
    trace: PathBuf,
    said: Option<Said>,
}

impl View {
    fn run(mut self) -> Option<Said> {
        let Some((mut profile, first)) = self.begin() else {
            return self.said;
        };
        first.into_iter().for_each(|record| profile.feed(record));
        let mut screen = match &self.said {
            Some(_) => Screen::open().ok(),
            None => None,
        };
        // Without a keyboard the view only shows.
        let mut keys = screen.as_ref().and_then(|_| Keys::open().ok());
        let (mut rates, mut order) = (Rates::default(), Order::default());
        let began = Instant::now();
        let (mut drawn, mut looked): (Option<Instant>, Option<Instant>) = (None, None);
        loop {
            match self.watched.next(PATIENCE) {
                Sight::Record(record) => profile.feed(record),
                Sight::Nothing if self.over.load(Ordering::Relaxed) => break,
                Sight::Nothing => {}
                Sight::End => break,
            }
            self.notices(screen.as_mut());
            self.signals(&mut profile, screen.as_mut());
            if looked.is_none_or(|looked| looked.elapsed() >= PATIENCE) {
                looked = Some(Instant::now());
                if let Some(said) = &mut self.said {
                    said.bound();
                }
                for key in keys.iter_mut().flat_map(Keys::typed) {
                    match key {
                        Key::Sort(by) => (order, drawn) = (by, None),
                        // The recorder ends the program, then itself.
                        Key::Quit => {
                            let _ = kill_process(getpid(), Signal::TERM);
                        }
                    }
                }
            }
            if let Some(screen) = &mut screen
                && drawn.is_none_or(|drawn| drawn.elapsed() >= REFRESH)
            {
                let report = profile.report(&self.trace.to_string_lossy(), &Network::NONE, false);
                screen.draw(&Shown {
                    rows: rates.rows(&report, began.elapsed(), order),
                    report: &report,
                    order,
                    missed: self.watched.missed(),
                    output: self.said.as_ref().and_then(Said::last_line),
                    keys: keys.is_some(),
                });
                drawn = Some(Instant::now());
            }
        }
        drop(keys);
        if let Some(screen) = screen {
            screen.close();
        }
        self.notices(None);
        self.said
    }

    /// Waits until the server is known, and with it the prices.
    fn begin(&mut self) -> Option<(LiveProfile, Vec<Record>)> {
        let mut first = Vec::new();
        loop {
            let record = match self.watched.next(PATIENCE) {
                Sight::Record(record) => record,
                Sight::Nothing if self.over.load(Ordering::Relaxed) => return None,
                Sight::Nothing => continue,
                Sight::End => return None,
            };
            let known = match &record {
                Record::Control(_, Control::Started(started)) => {
                    self.prices.started = Some(started.clone());
                    false
                }
                Record::Control(_, Control::Server(server)) => {
                    self.prices.server = Some(server.clone());
                    true
                }
                // It comes before any byte.
                Record::Block(_) => true,
                _ => false,
            };
            first.push(record);
            if known {
                break;
            }
        }
        match self.prices.read() {
            Ok(parameters) => Some((
                LiveProfile::new(
                    &parameters,
                    &Substitutions::default(),
                    &NowOptions {
                        seconds: 5.0,
                        frame_ms: FRAME_MS,
                        wanted: Wanted::Auto,
                    },
                ),
                first,
            )),
            Err(error) => {
                say!("no live view: {}", error.message());
                None
            }
        }
    }

    fn notices(&self, mut screen: Option<&mut Screen>) {
        for notice in self.told.try_iter() {
            match &mut screen {
                Some(screen) => screen.notice(notice),
                None => say!("{notice}"),
            }
        }
    }

    fn signals(&self, profile: &mut LiveProfile, screen: Option<&mut Screen>) {
        let print = self.print.swap(false, Ordering::Relaxed);
        let afresh = self.afresh.swap(false, Ordering::Relaxed);
        let mut said = String::new();
        if print {
            let path = self.trace.to_string_lossy();
            said = views::profile::text(
                &profile.report(&path, &Network::NONE, true),
                &views::Page::default().whole(),
            );
        }
        if afresh {
            match self.prices.read() {
                Ok(parameters) => {
                    profile.afresh(&parameters, &Substitutions::default());
                    said.push_str("x11prof: the counts start afresh\n");
                }
                Err(error) => {
                    said.push_str(&format!("x11prof: {}\n", error.message()));
                }
            }
        }
        match screen {
            _ if said.is_empty() => {}
            Some(screen) => screen.aside(|| say_all(&said)),
            None => say_all(&said),
        }
    }
}
