//! The consumers of live records: a view in addition to the trace, or a ring or tables instead of the trace.

use std::path::{Path, PathBuf};
use std::time::Duration;

use signal_hook::consts::{SIGUSR1, SIGUSR2};
use x11prof_proxy::Watch;

use crate::args::Record;
use crate::error::{CommandError, shown};
use crate::live::{Live, ViewOptions};
use crate::ring::{Ring, RingOptions};
use crate::sessions::Online;

/// A consumer of live records. The consumer ends when its `Watch` is dropped.
pub(super) enum Consumer {
    /// No live consumer: only the trace file is written.
    Nobody,
    /// The view of `--live`.
    View(Live),
    /// A ring buffer with the records of the last seconds.
    Ring(Ring),
    /// The tables of `--tables-only`.
    Tables(Online),
}

/// The files that a consumer wrote instead of a trace, and its failures.
#[derive(Default)]
pub(super) struct Wrote {
    /// A description of the files; `None` if there is a trace.
    pub(super) words: Option<String>,
    /// The consumer's failures.
    pub(super) trouble: Vec<String>,
}

impl Consumer {
    /// Starts the consumer that `arguments` request. Returns the consumer, and the watch that passes records to the
    /// consumer.
    pub(super) fn start(arguments: &Record) -> Result<(Consumer, Option<Watch>), CommandError> {
        let output = &arguments.output;
        if arguments.live {
            let (view, watch) =
                Live::start(ViewOptions::recording(output, arguments.params.clone()))?;
            return Ok((Consumer::View(view), Some(watch)));
        }
        // These signals control a live view or a ring. Without either, they must not end the recorder.
        [SIGUSR1, SIGUSR2].into_iter().for_each(crate::ignore);
        if let Some(seconds) = arguments.ring {
            let (ring, watch) = Ring::start(RingOptions {
                output: output.clone(),
                length: Duration::from_secs(seconds),
                when: arguments.when.clone(),
            })?;
            return Ok((Consumer::Ring(ring), Some(watch)));
        }
        if arguments.tables_only {
            let (tables, watch) = Online::start(output)?;
            return Ok((Consumer::Tables(tables), Some(watch)));
        }
        Ok((Consumer::Nobody, None))
    }

    /// Returns the path of the trace file, which is `output`; `None` if a ring or tables replace the trace.
    pub(super) fn trace(&self, output: &Path) -> Option<PathBuf> {
        matches!(self, Consumer::Nobody | Consumer::View(_)).then(|| output.to_owned())
    }

    /// Returns the live view, if the consumer is one.
    pub(super) fn view(&self) -> Option<&Live> {
        match self {
            Consumer::View(view) => Some(view),
            _ => None,
        }
    }

    /// Waits until the consumer ends, after its watch was dropped. A view restores the terminal. `output` is the path
    /// given with `-o`.
    pub(super) fn finish(self, output: &Path) -> Result<Wrote, CommandError> {
        let output = shown(output);
        match self {
            Consumer::Nobody => Ok(Wrote::default()),
            Consumer::View(view) => {
                view.finish();
                Ok(Wrote::default())
            }
            Consumer::Ring(ring) => {
                let rung = ring.finish();
                let words = match rung.files.len() {
                    0 => "nothing happened that was waited for".to_owned(),
                    1 => "1 file was written".to_owned(),
                    count => format!("{count} files were written"),
                };
                Ok(Wrote {
                    words: Some(words),
                    trouble: rung.trouble,
                })
            }
            Consumer::Tables(tables) => {
                let kept = tables.finish()?;
                let (all, over) = (kept.episodes, kept.over);
                let missed = match kept.missed {
                    0 => String::new(),
                    missed => format!(
                        "; {missed} records came faster than they could be read: some episodes are not in them"
                    ),
                };
                let words = format!(
                    "{all} episodes, {over} over their threshold; tables in {output}{missed}"
                );
                Ok(Wrote {
                    words: Some(words),
                    trouble: Vec::new(),
                })
            }
        }
    }
}
