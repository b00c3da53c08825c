//! The times of a replay, by the pipeline of all recordings.

use std::collections::VecDeque;
use std::path::Path;

use x11prof_analyzer::{Blocking, Profile, ProfileReport, TraceSummary};
use x11prof_cost_model::{Network, Substitutions};
use x11prof_proxy::RecordFilter;
use x11prof_trace::{ConnectionId, Control, Record, Started, Timestamp};

use crate::error::CommandError;
use crate::input;
use crate::pass::Pass;

/// The profile of a trace, named as its server is in the comparison.
pub(super) fn report(path: &Path, server: &str) -> Result<ProfileReport, CommandError> {
    let mut pass = Pass::open(path, None)?.take_together();
    // Prices only divide what was measured; nothing is said of them.
    let parameters = input::likely_parameters(path)?;
    let rules = Substitutions::default();
    let mut profile = Profile::new(&parameters, &rules, Blocking::default());
    let mut summary = TraceSummary::default();
    pass.follow_changes(profile.knows_updates());
    pass.run(|observation| {
        summary.observe(observation);
        profile.observe(observation);
    })?;
    profile.end();
    let name = path.to_string_lossy();
    let mut report = ProfileReport::new(&name, &summary, &profile, &Network::NONE);
    server.clone_into(&mut report.server.name);
    Ok(report)
}

/// Leaves the player's own connection out of a replay's trace: it is the first.
pub(super) fn without_the_players_own() -> Box<dyn RecordFilter> {
    Box::new(WithoutFirst(VecDeque::new()))
}

/// The player's own connection.
const OWN: ConnectionId = ConnectionId(1);

struct WithoutFirst(VecDeque<Record>);

impl RecordFilter for WithoutFirst {
    fn begin(&mut self, _: Timestamp, started: Started) -> Started {
        started
    }

    fn feed(&mut self, record: Record) {
        let of = match &record {
            Record::Block(block) => Some(block.connection),
            Record::Control(_, Control::Opened(opened)) => Some(opened.connection),
            Record::Control(
                _,
                Control::Closed { connection, .. } | Control::Stalled { connection, .. },
            ) => Some(*connection),
            _ => None,
        };
        if of != Some(OWN) {
            self.0.push_back(record);
        }
    }

    fn next(&mut self) -> Option<Record> {
        self.0.pop_front()
    }

    fn finish(&mut self) {}
}
