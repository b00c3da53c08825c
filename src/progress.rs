//! Shows the progress of many steps: a bar on standard error, if standard error is a terminal and the steps take longer
//! than one second.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// The minimum duration of work for which a progress bar is shown.
const PATIENCE: Duration = Duration::from_secs(1);

/// Counts completed steps, and shows them in a progress bar.
pub(crate) struct Steps {
    began: Instant,
    verb: &'static str,
    noun: &'static str,
    all: u64,
    done: u64,
    bar: Option<ProgressBar>,
}

impl Steps {
    /// Starts with no completed step of `all`. The bar shows `verb` and `noun`, such as "reading: 0 of 12 files".
    pub(crate) fn new(verb: &'static str, all: usize, noun: &'static str) -> Steps {
        Steps {
            began: Instant::now(),
            verb,
            noun,
            all: all as u64,
            done: 0,
            bar: None,
        }
    }

    /// Counts one step as completed.
    pub(crate) fn step(&mut self) {
        self.done += 1;
        if self.bar.is_none() && self.began.elapsed() >= PATIENCE && std::io::stderr().is_terminal()
        {
            self.bar = Some(self.bar());
        }
        if let Some(bar) = &self.bar {
            bar.set_position(self.done);
        }
    }

    fn bar(&self) -> ProgressBar {
        let bar = ProgressBar::new(self.all);
        let template = format!("{{bar:24}} {}: {{pos}} of {{len}} {}", self.verb, self.noun);
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style);
        }
        bar
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
