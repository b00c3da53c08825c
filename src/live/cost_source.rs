//! Chooses the cost table of a live view as soon as the server is known.

use std::time::Duration;

use x11prof_analyzer::{LiveProfile, NowOptions};
use x11prof_cost_model::{ServerParameters, Substitutions};
use x11prof_proxy::WatchEvent;
use x11prof_trace::{Control, Record, Server, Started};

use super::source::Source;
use crate::error::CommandError;
use crate::input;

/// The source of a live view's cost table.
pub(super) struct CostSource {
    name: Option<String>,
    started: Option<Started>,
    server: Option<Server>,
}

impl CostSource {
    /// Uses the cost table `name`. `None` selects the table that matches the server.
    pub(super) fn of(name: Option<String>) -> Result<CostSource, CommandError> {
        // A wrong name is an error before the recording starts.
        if let Some(name) = &name {
            input::parameters(name)?;
        }
        Ok(CostSource {
            name,
            started: None,
            server: None,
        })
    }

    /// Reads the cost table from its source again.
    pub(super) fn read(&self) -> Result<ServerParameters, CommandError> {
        let Some(started) = &self.started else {
            return Err(CommandError::failed("the recording has no start record"));
        };
        let costs = input::live_costs(self.name.as_deref(), started, self.server.as_ref())?;
        Ok(costs.parameters)
    }

    /// Waits until the server is known, and returns a profile of the records so far. `None` if the recording ended
    /// earlier, or if `over` returns true. `patience` is the longest wait for one record.
    pub(super) fn begin(
        &mut self,
        source: &Source,
        options: &NowOptions,
        patience: Duration,
        over: impl Fn() -> bool,
    ) -> Result<Option<LiveProfile>, CommandError> {
        let mut first = Vec::new();
        loop {
            let record = match source.next(patience) {
                WatchEvent::Record(record) => record,
                WatchEvent::Nothing if over() => return Ok(None),
                WatchEvent::Nothing => continue,
                WatchEvent::End => return Ok(None),
            };
            let known = match &record {
                Record::Control(_, Control::Started(started)) => {
                    self.started = Some(started.clone());
                    false
                }
                Record::Control(_, Control::Server(server)) => {
                    self.server = Some(server.clone());
                    true
                }
                // The `server` record precedes all messages. If it is missing here, the server is unknown.
                Record::Block(_) => true,
                _ => false,
            };
            first.push(record);
            if known {
                break;
            }
        }
        let parameters = self.read()?;
        let mut profile = LiveProfile::new(&parameters, &Substitutions::default(), options);
        first.into_iter().for_each(|record| profile.feed(record));
        Ok(Some(profile))
    }
}
