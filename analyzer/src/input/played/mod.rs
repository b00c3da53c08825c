//! The actions of a driven session: `drive` marks each input in the recording, and this module assigns a latency to
//! each.

mod report;

use std::time::Duration;

use x11prof_protocol::Message;
use x11prof_trace::{Control, Timestamp};

use crate::episodes::{EpisodeReport, EpisodesReport, PartsReport, shows};
use crate::pipeline::Observation;

pub use report::{ActionReport, HistogramCell, PlaysReport, RunReport, SpreadReport};

/// The beginning of the text of each mark that `drive` sets.
const PLAY: &str = "play ";
/// The text of the mark that `drive` sets after the effects of the last action.
const END: &str = "play: end";
/// An event may be this much earlier than the mark of its action, because it has the server's time in whole
/// milliseconds.
const EARLY: Duration = Duration::from_millis(1);
/// Drawing this long after a response is not part of it, in milliseconds: half a frame.
const LATER_MS: f64 = 8.0;
/// Drawing within this time after the last one belongs to the same animation: two frames.
const ANIMATION: Duration = Duration::from_millis(34);
/// Maximum number of kept actions; further actions are not reported.
const LIMIT: usize = 100_000;

/// The text of the mark for an action (its number and text), or for the end of the session if `action` is `None`.
pub fn play_mark(action: Option<(usize, &str)>) -> String {
    match action {
        Some((number, action)) => format!("{PLAY}{number}: {action}"),
        None => END.to_owned(),
    }
}

/// An action of a driven session, with its latency.
#[derive(Debug, Clone)]
pub struct PlayedAction {
    /// The number of the action in its session, from 1.
    pub number: usize,
    /// The line of the session's file that describes the action.
    pub action: String,
    /// The latency in milliseconds and its components; `None` if the program did not receive the action, or did not
    /// respond.
    pub latency: Option<(f64, PartsReport)>,
    /// Milliseconds from the action to the last change of the screen before the next action, if the change came after
    /// the response and a pause, for example from a timer that shows the result. Of an animation, its first frame.
    pub drew_later_ms: Option<f64>,
}

/// The mark of an action.
#[derive(Debug)]
struct ActionMark {
    time: Timestamp,
    number: usize,
    action: String,
    /// The times of the last request after the action that changed the screen, and of the first request of its
    /// animation.
    drawn: Option<(Timestamp, Timestamp)>,
}

/// Collects the actions of a driven session from its recording.
#[derive(Debug, Default)]
pub struct Played {
    marks: Vec<ActionMark>,
    end: Option<Timestamp>,
}

impl Played {
    /// Processes the next observation of a pass over the recording.
    pub fn observe(&mut self, observation: &Observation<'_>) {
        let (time, text) = match observation {
            Observation::Control(time, Control::Mark { text }) => (time, text),
            Observation::Message(seen) => {
                if let Message::Request(request) = seen.message
                    && self.end.is_none()
                    && let Some(last) = self.marks.last_mut()
                    && shows(seen, request)
                {
                    let now = seen.at_server;
                    let animation = last
                        .drawn
                        .filter(|(drawn, _)| now.since(*drawn) <= ANIMATION);
                    last.drawn = Some((now, animation.map_or(now, |(_, first)| first)));
                }
                return;
            }
            _ => return,
        };
        let numbered = || text.strip_prefix(PLAY)?.split_once(": ");
        if text == END {
            self.end = Some(*time);
        } else if let Some((number, action)) = numbered()
            && let Ok(number) = number.parse()
            && self.marks.len() < LIMIT
        {
            self.marks.push(ActionMark {
                time: *time,
                number,
                action: action.to_owned(),
                drawn: None,
            });
        }
    }

    /// The actions, each with the latency of the longest user-caused episode that began between it and the next action.
    /// `first` is the time of the trace's first record.
    pub fn actions(self, first: Timestamp, episodes: &EpisodesReport) -> Vec<PlayedAction> {
        let since = |time: Timestamp| time.since(first).saturating_sub(EARLY).as_secs_f64() * 1e3;
        let mut ends: Vec<f64> = self
            .marks
            .iter()
            .skip(1)
            .map(|mark| since(mark.time))
            .collect();
        ends.push(self.end.map_or(f64::INFINITY, since));
        let mut by_time: Vec<&EpisodeReport> = episodes
            .episodes
            .iter()
            .filter(|one| one.trigger == "input" && one.led_to_by.is_none())
            .collect();
        by_time.sort_by(|a, b| a.start_ms.total_cmp(&b.start_ms));
        let actions = self.marks.into_iter().zip(ends);
        actions
            .map(|(mark, end)| {
                let begin = since(mark.time);
                let from = by_time.partition_point(|one| one.start_ms < begin);
                let of = by_time[from..].iter().take_while(|one| one.start_ms < end);
                let longest = of.max_by(|a, b| a.latency_ms.total_cmp(&b.latency_ms));
                let drew = longest.zip(mark.drawn).map(|(one, (_, drawn))| {
                    let drawn = drawn.since(first).as_secs_f64() * 1e3 - one.start_ms;
                    (drawn, one.latency_ms)
                });
                PlayedAction {
                    number: mark.number,
                    action: mark.action,
                    latency: longest.map(|one| (one.latency_ms, one.parts.clone())),
                    drew_later_ms: drew
                        .filter(|(drawn, latency)| *drawn > latency + LATER_MS)
                        .map(|(drawn, _)| drawn),
                }
            })
            .collect()
    }
}
