//! `record --tables-only`: writes tables of a running session, without a trace. The recorder never waits for the thread
//! that writes the tables.
//!
//! The tables contain no text, title, or key that writes text. They contain the episodes over their threshold,
//! and the latencies of all episodes.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use x11prof_analyzer::{Pipeline, Thresholds};
use x11prof_collection::{EpisodeRow, Gather, Session, TableError, schema};
use x11prof_proxy::{ResultPath, Watch, WatchEvent, Watched, watch};

use super::tables::{Tables, write_session};
use crate::error::CommandError;

/// The interval between two writes of tables. If the recorder is killed, the data since the last write are lost.
const PART: Duration = Duration::from_secs(600);
/// The longest wait for a record between two checks of the clock.
const PATIENCE: Duration = Duration::from_secs(1);
/// The maximum size of all files of a session, in bytes. Above this size the oldest files are removed.
const DISK: u64 = 256 << 20;

/// The running thread that writes tables.
pub(crate) struct Online {
    thread: JoinHandle<Result<Kept, CommandError>>,
}

/// The figures of a session whose tables were written.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// The number of all episodes.
    pub(crate) episodes: u64,
    /// The number of episodes over their threshold, which are in the tables.
    pub(crate) over: u64,
    /// The number of records that were missed because the table thread was too slow.
    pub(crate) missed: u64,
}

impl Online {
    /// Starts the table thread, which writes to `folder` and creates it. Returns the thread, and the watch that passes
    /// records to it. The tables end when the watch is dropped.
    pub(crate) fn start(folder: &Path) -> Result<(Online, Watch), CommandError> {
        let (watch, watched) = watch();
        let online = Writing {
            folder: folder.to_owned(),
            // Fails before recording if the folder cannot be written.
            tables: Tables::new(folder)?,
            files: VecDeque::new(),
            part: 0,
            over: 0,
        };
        let thread = std::thread::Builder::new()
            .name("x11prof-episodes".to_owned())
            .spawn(move || online.run(&watched))
            .map_err(|error| CommandError::failed(format_args!("a thread: {error}")))?;
        Ok((Online { thread }, watch))
    }

    /// Waits until the table thread ends. Call it after the watch was dropped.
    pub(crate) fn finish(self) -> Result<Kept, CommandError> {
        let failed = |_| CommandError::failed("the thread that writes episodes failed");
        self.thread.join().map_err(failed)?
    }
}

struct Writing {
    folder: PathBuf,
    tables: Tables,
    /// The files written so far with their sizes in bytes, the oldest file first.
    files: VecDeque<(PathBuf, u64)>,
    part: u32,
    over: u64,
}

impl Writing {
    fn run(mut self, watched: &Watched) -> Result<Kept, CommandError> {
        let mut pipeline = Pipeline::new();
        let mut gather = Gather::new("", &Thresholds::default());
        let mut written = Ok(());
        let mut since = Instant::now();
        loop {
            match watched.next(PATIENCE) {
                WatchEvent::Record(record) => {
                    pipeline.feed(record, |observation| {
                        let rows = gather.observe(observation);
                        let add = |()| self.rows(gather.session(), &rows);
                        written = std::mem::replace(&mut written, Ok(())).and_then(add);
                    });
                }
                WatchEvent::Nothing => {}
                WatchEvent::End => break,
            }
            if let Err(error) = std::mem::replace(&mut written, Ok(())) {
                return Err(CommandError::file(&self.folder, error));
            }
            if since.elapsed() >= PART {
                since = Instant::now();
                let latencies = gather.take_latencies();
                self = self.write(&gather.so_far(), &latencies)?;
            }
        }
        pipeline.end(|observation| {
            let rows = gather.observe(observation);
            let add = |()| self.rows(gather.session(), &rows);
            written = std::mem::replace(&mut written, Ok(())).and_then(add);
        });
        let (rows, session, latencies) = gather.finish();
        written
            .and_then(|()| self.rows(&session, &rows))
            .map_err(|error| CommandError::file(&self.folder, error))?;
        let over = self.over;
        if session.episodes > 0 {
            self.write(&session, &latencies)?;
        }
        Ok(Kept {
            episodes: session.episodes,
            over,
            missed: watched.missed(),
        })
    }

    fn rows(&mut self, session: &Session, rows: &[EpisodeRow]) -> Result<(), TableError> {
        for row in rows.iter().filter(|row| row.latency >= row.threshold) {
            self.over += 1;
            self.tables.row(&schema::EPISODES, &row.cells(session))?;
        }
        Ok(())
    }

    /// Writes the tables since the last write, and removes the oldest files if the size limit is exceeded.
    fn write(
        mut self,
        session: &Session,
        latencies: &x11prof_collection::Latencies,
    ) -> Result<Writing, CommandError> {
        write_session(&mut self.tables, session, latencies)
            .map_err(|error| CommandError::file(&self.folder, error))?;
        let next = Tables::new(&self.folder)?;
        let tables = std::mem::replace(&mut self.tables, next);
        for file in tables.finish(session, Some(self.part))? {
            let bytes = fs::metadata(&file).map_or(0, |about| about.len());
            // Each write replaces the file with the session's row.
            if !self.files.iter().any(|(known, _)| *known == file) {
                self.files.push_back((file, bytes));
            }
        }
        self.part += 1;
        let mut all: u64 = self.files.iter().map(|(_, bytes)| bytes).sum();
        while all > DISK
            && let Some((file, bytes)) = self.files.pop_front()
        {
            all -= bytes;
            // The file may have been removed already.
            let _ = ResultPath::of(&file).map(|file| fs::remove_file(file.path()));
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use std::collections::VecDeque;
    use std::fs::File;
    use std::io::BufReader;
    use std::path::Path;
    use std::time::Duration;

    use x11prof_analyzer::{Pipeline, Thresholds};
    use x11prof_collection::{EpisodeRow, Gather};
    use x11prof_trace::{Reader, Record, Timestamp};

    /// The largest delay of context switches on a busy machine.
    const LATE: Duration = Duration::from_millis(800);

    /// The rows of a recording, from the pipeline that all commands use. If `late`, context switches arrive late.
    fn rows(name: &str, late: bool) -> Vec<EpisodeRow> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/data")
            .join(name);
        let mut reader = Reader::new(BufReader::new(File::open(path).unwrap())).unwrap();
        let mut gather = Gather::new("", &Thresholds::default());
        let mut rows = Vec::new();
        let (mut pipeline, mut held) = (Pipeline::new(), VecDeque::new());
        while let Some(record) = reader.next().unwrap() {
            match record {
                Record::Schedule(_) if late => held.push_back(record),
                record => {
                    let now = time(&record);
                    pipeline.feed(record, |seen| rows.extend(gather.observe(seen)));
                    while held.front().is_some_and(|one| now.since(time(one)) > LATE) {
                        let switches = held.pop_front().unwrap();
                        pipeline.feed(switches, |seen| rows.extend(gather.observe(seen)));
                    }
                }
            }
        }
        pipeline.run_records(held, |seen| rows.extend(gather.observe(seen)));
        rows.extend(gather.finish().0);
        rows.sort_by_key(|row| (row.start, row.client));
        rows
    }

    fn time(record: &Record) -> Timestamp {
        match record {
            Record::Block(block) => block.time,
            Record::Control(time, _) => *time,
            Record::Schedule(switches) => switches.iter().map(|one| one.time).max().unwrap(),
            Record::HandlerTimes(times) => times.iter().map(|one| one.start).max().unwrap(),
        }
    }

    #[test]
    fn late_switches_change_no_episode() {
        for name in ["xterm.mcap", "gtk3-widget-factory.mcap"] {
            let offline = rows(name, false);
            assert!(!offline.is_empty(), "{name}");
            assert_eq!(rows(name, true), offline, "{name}");
        }
    }
}
