//! Converts the episodes of a trace to rows, from the observations of a pass over the trace.

use std::collections::HashMap;

use x11prof_analyzer::{Episode, EpisodeOptions, Episodes, Observation, Thresholds};
use x11prof_trace::{ConnectionId, Control, Timestamp, utc_date};

use crate::episode_row::EpisodeRow;
use crate::hive::Partition;
use crate::session::{Latencies, Session, hash};

/// The maximum number of stored client names.
const NAMES_LIMIT: usize = 10_000;

/// Reads one trace and converts its episodes to rows.
pub struct Gather {
    episodes: Episodes,
    about: SessionFacts,
}

/// The properties of the session that do not depend on its episodes.
struct SessionFacts {
    session: Session,
    /// The partition according to the folders' names, which takes precedence over the trace's labels.
    folders: Partition,
    labels: Partition,
    /// The label `program`, which replaces the name of every client.
    program: Option<String>,
    names: HashMap<ConnectionId, String>,
    first: Option<Timestamp>,
    last: Timestamp,
    thresholds: Thresholds,
    latencies: Latencies,
    names_all_keys: bool,
}

impl Gather {
    /// Begins a pass over a trace; `trace` is the path as the user specified it.
    pub fn new(trace: &str, thresholds: &Thresholds) -> Gather {
        let options = EpisodeOptions {
            thresholds: *thresholds,
            // The report of a single session is not used, so the analysis stores only one episode for it.
            worst: Some(1),
            ..EpisodeOptions::default()
        };
        Gather {
            episodes: Episodes::new(&options),
            about: SessionFacts {
                session: Session {
                    trace: trace.to_owned(),
                    ..Session::default()
                },
                folders: Partition::of(trace),
                labels: Partition::default(),
                program: None,
                names: HashMap::new(),
                first: None,
                last: Timestamp::default(),
                thresholds: *thresholds,
                latencies: Latencies::default(),
                names_all_keys: false,
            },
        }
    }

    /// Names each key in the landmarks, also those that write text. Tables must not contain such rows.
    pub fn naming_all_keys(mut self) -> Gather {
        self.about.names_all_keys = true;
        self
    }

    /// Processes the next observation of the trace. Returns the rows of the episodes that the observation completes.
    pub fn observe(&mut self, observation: &Observation<'_>) -> Vec<EpisodeRow> {
        self.about.observe(observation);
        self.episodes.observe(observation);
        self.rows()
    }

    fn rows(&mut self) -> Vec<EpisodeRow> {
        let about = &mut self.about;
        self.episodes
            .settled()
            .map(|episode| about.row(episode))
            .collect()
    }

    /// The episodes that the last observation completed ([`Episodes::finished`]).
    pub fn finished(&self) -> &[Episode] {
        self.episodes.finished()
    }

    /// The properties of the session that are known so far. The session's id is known after the first observation.
    pub fn session(&self) -> &Session {
        &self.about.session
    }

    /// The time of the trace's first record; the default time before the first observation.
    pub fn first(&self) -> Timestamp {
        self.about.first.unwrap_or_default()
    }

    /// Removes and returns the counts of latencies since the last call. Used for a recording in progress.
    pub fn take_latencies(&mut self) -> Latencies {
        std::mem::take(&mut self.about.latencies)
    }

    /// The session with its duration until now. Used for a recording in progress.
    pub fn so_far(&self) -> Session {
        self.about.so_far()
    }

    /// Ends the trace. Returns the rows of the last episodes, the session, and its counts of latencies.
    pub fn finish(mut self) -> (Vec<EpisodeRow>, Session, Latencies) {
        self.episodes.end();
        let rows = self.rows();
        (rows, self.about.so_far(), self.about.latencies)
    }
}

impl SessionFacts {
    fn so_far(&self) -> Session {
        let first = self.first.unwrap_or_default();
        let day = Partition {
            date: Some(utc_date(self.session.started)),
            ..Partition::default()
        };
        Session {
            duration: self.last.as_nanos().saturating_sub(first.as_nanos()),
            partition: self.folders.clone().or(self.labels.clone()).or(day),
            ..self.session.clone()
        }
    }

    fn observe(&mut self, observation: &Observation<'_>) {
        let time = match observation {
            Observation::BlockStart(block) | Observation::Lost(block) => block.time,
            Observation::Control(time, control) => {
                self.control(*time, control);
                *time
            }
            _ => return,
        };
        self.first.get_or_insert(time);
        self.last = self.last.max(time);
    }

    fn control(&mut self, time: Timestamp, control: &Control) {
        match control {
            Control::Started(started) => {
                self.session.started = started.wall_clock_ns;
                self.session.id = hash(&[
                    &started.wall_clock_ns.to_be_bytes(),
                    &time.as_nanos().to_be_bytes(),
                    started.cpu_model.as_bytes(),
                    started.kernel.as_bytes(),
                ]);
            }
            Control::Labels { labels } => {
                let label = |name| labels.get(name).cloned();
                self.labels.version = label("version");
                self.labels.user = label("user");
                self.program = label("program");
            }
            Control::Opened(opened) if self.names.len() < NAMES_LIMIT => {
                if let Some(name) = &opened.name {
                    self.names.insert(opened.connection, name.clone());
                }
            }
            Control::Ended { .. } => self.session.complete = true,
            _ => {}
        }
    }

    fn program(&self, client: ConnectionId) -> Option<&str> {
        let name = self.program.as_deref();
        name.or_else(|| self.names.get(&client).map(String::as_str))
    }

    /// The row of an episode.
    fn row(&mut self, episode: &x11prof_analyzer::Episode) -> EpisodeRow {
        let first = self.first.unwrap_or_default();
        let row = EpisodeRow::of(
            episode,
            self.program(episode.client),
            |client| self.names.get(&client).map(String::as_str),
            first,
            &self.thresholds,
            self.names_all_keys,
        );
        self.session.episodes += 1;
        self.latencies.add(&row);
        row
    }
}
