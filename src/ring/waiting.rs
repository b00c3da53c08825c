//! Checks the conditions of `record --when` while a recording runs.

use std::collections::BTreeMap;

use x11prof_analyzer::{Episode, EpisodeOptions, Episodes, Observation, Stalls, client_name};
use x11prof_cost_model::Substitutions;
use x11prof_trace::{ConnectionId, Control, Started};

use super::condition::Condition;
use crate::input;

/// The maximum number of clients whose names are kept.
const MAX_NAMES: usize = 10_000;

/// The conditions of `record --when`, and the state that is needed to check them.
pub(super) struct Waiting {
    episode_ms: Option<f64>,
    episodes: Option<Episodes>,
    stall_ms: Option<f64>,
    stalls: Option<Stalls>,
    /// The number of stalls found so far.
    stalled: u64,
    mark: bool,
    signal: bool,
    started: Option<Started>,
    names: BTreeMap<ConnectionId, String>,
    /// A description of the condition that was met; `None` if no condition was met since the last call of `take`.
    happened: Option<String>,
}

impl Waiting {
    pub(super) fn new(when: &[Condition]) -> Waiting {
        let shortest =
            |of: fn(&Condition) -> Option<f64>| when.iter().filter_map(of).reduce(f64::min);
        let episode_ms = shortest(|one| match one {
            Condition::Episode(ms) => Some(*ms),
            _ => None,
        });
        let stall_ms = shortest(|one| match one {
            Condition::Stall(ms) => Some(*ms),
            _ => None,
        });
        Waiting {
            episode_ms,
            episodes: episode_ms.map(|_| Episodes::new(&EpisodeOptions::default())),
            stall_ms,
            stalls: None,
            stalled: 0,
            mark: when.contains(&Condition::Mark),
            signal: when.contains(&Condition::Signal),
            started: None,
            names: BTreeMap::new(),
            happened: None,
        }
    }

    /// Returns a description of the condition that was met since the last call, if there is one.
    pub(super) fn take(&mut self) -> Option<String> {
        self.happened.take()
    }

    /// Call this when the recorder has received SIGUSR1.
    pub(super) fn signalled(&mut self) {
        if self.signal {
            self.happened.get_or_insert("a signal".to_owned());
        }
    }

    pub(super) fn observe(&mut self, observation: &Observation<'_>) {
        if let Observation::Control(_, control) = observation {
            self.control(control);
        }
        if let (Some(episodes), Some(ms)) = (&mut self.episodes, self.episode_ms) {
            let (happened, names) = (&mut self.happened, &self.names);
            episodes.observe(observation);
            let settled = episodes.settled();
            settled.for_each(|episode| took_long(happened, names, ms, episode));
        }
        if let Some(stalls) = &mut self.stalls {
            stalls.observe(observation);
            let (count, latest) = stalls.latest();
            if count > self.stalled
                && let Some((client, request, nanos)) = latest
            {
                let name = name(&self.names, client);
                let by = request.map_or_else(String::new, |request| format!(" by {request}"));
                let held = nanos as f64 / 1e6;
                self.happened
                    .get_or_insert(format!("the server was held for {held:.0} ms, {name}{by}"));
            }
            self.stalled = count;
        }
    }

    /// Call this when the recording has ended, which also ends open episodes.
    pub(super) fn end(&mut self) {
        let (happened, names) = (&mut self.happened, &self.names);
        if let (Some(mut episodes), Some(ms)) = (self.episodes.take(), self.episode_ms) {
            episodes.end();
            let settled = episodes.settled();
            settled.for_each(|episode| took_long(happened, names, ms, episode));
        }
    }

    fn control(&mut self, control: &Control) {
        match control {
            Control::Started(started) => self.started = Some(started.clone()),
            Control::Server(server) => {
                let (Some(ms), Some(started)) = (self.stall_ms, &self.started) else {
                    return;
                };
                match input::live_costs(None, started, Some(server)) {
                    Ok(costs) => {
                        let rules = Substitutions::default();
                        self.stalls = Some(Stalls::new(&costs.parameters, &rules, ms));
                    }
                    Err(error) => say!("stalls are not detected: {}", error.message()),
                }
            }
            Control::Opened(opened) if self.names.len() < MAX_NAMES => {
                if let Some(name) = &opened.name {
                    self.names.insert(opened.connection, name.clone());
                }
            }
            Control::Closed { connection, .. } => {
                self.names.remove(connection);
            }
            Control::Mark { text } if self.mark => {
                self.happened.get_or_insert(format!("a mark: {text}"));
            }
            _ => {}
        }
    }
}

/// Sets `happened` if `episode` took longer than `ms` milliseconds. `names` has the names of the clients.
fn took_long(
    happened: &mut Option<String>,
    names: &BTreeMap<ConnectionId, String>,
    ms: f64,
    episode: &Episode,
) {
    let took = episode.latency() as f64 / 1e6;
    if took > ms {
        let name = name(names, episode.client);
        let landmark = &episode.landmark;
        happened.get_or_insert(format!("{landmark}: {took:.0} ms, {name}"));
    }
}

fn name(names: &BTreeMap<ConnectionId, String>, client: ConnectionId) -> String {
    client_name(names.get(&client).map(String::as_str), client)
}

#[cfg(test)]
mod tests {
    use x11prof_analyzer::Pipeline;
    use x11prof_analyzer::testing::{
        BASE, ROOT, Synthetic, get_input_focus, map_window, reply, request,
    };

    use super::Waiting;
    use crate::ring::condition::Condition;

    /// The condition that a complete recording meets.
    fn met(trace: Synthetic) -> Option<String> {
        let mut waiting = Waiting::new(&[Condition::Episode(200.0)]);
        Pipeline::new().run_records(trace.records, |seen| waiting.observe(seen));
        waiting.end();
        waiting.take()
    }

    #[test]
    fn late_drawing_of_an_existing_client_meets_no_condition() {
        assert_eq!(met(Synthetic::joined()), None);
    }

    #[test]
    fn client_without_windows_meets_no_condition() {
        let mut trace = Synthetic::new();
        for number in 1..=9 {
            trace.wait(1_000_000).client_sends(&[get_input_focus()]);
            trace.wait(50).server_sends(&[reply(number)]);
        }
        trace.end();
        assert_eq!(met(trace), None);
    }

    #[test]
    fn slow_start_up_meets_the_condition() {
        let mut trace = Synthetic::new();
        let window = BASE + 9;
        let create = request(1, 8, &[window, ROOT, 0, 100 | 100 << 16, 1 << 16, 0, 0]);
        trace.client_sends(&[create, map_window(window)]);
        let fill = request(70, 0, &[window, BASE + 2, 0, 10 | 10 << 16]);
        trace.wait(300_000).client_sends(&[fill]);
        trace.end();
        let met = met(trace).unwrap_or_default();
        assert!(met.starts_with("Start-up"), "{met}");
    }
}
