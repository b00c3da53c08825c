//! The progress of reading many files: a bar on standard error, if this is a terminal and reading takes
//! longer than a second.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Shorter work shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// The bar.
pub(super) struct Reading {
    began: Instant,
    files: u64,
    done: u64,
    bar: Option<ProgressBar>,
}

impl Reading {
    /// The bar of N files, of which none is read yet.
    pub(super) fn new(files: usize) -> Reading {
        Reading {
            began: Instant::now(),
            files: files as u64,
            done: 0,
            bar: None,
        }
    }

    /// Counts a file as read.
    pub(super) fn step(&mut self) {
        self.done += 1;
        if self.bar.is_none() && self.began.elapsed() >= PATIENCE && std::io::stderr().is_terminal()
        {
            self.bar = Some(bar(self.files));
        }
        if let Some(bar) = &self.bar {
            bar.set_position(self.done);
        }
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar(files: u64) -> ProgressBar {
    let bar = ProgressBar::new(files);
    if let Ok(style) = ProgressStyle::with_template("{bar:24} reading: {pos} of {len} files") {
        bar.set_style(style);
    }
    bar
}
