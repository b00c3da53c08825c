//! Round trips: every request whose reply a client waited for, its phase of the session, and ways to avoid it.
//!
//! `round_trips` defines a round trip, `start_up` defines a start-up, and `episodes` defines user actions. This module
//! counts round trips by request and phase; [`insights`] finds ways to avoid them.

mod insights;
mod places;
pub(crate) mod report;
mod round_trip;

use rustc_hash::FxHashMap;
use x11prof_cost_model::Network;
use x11prof_protocol::Symbol;
use x11prof_trace::{ConnectionId, Control, Timestamp};

use crate::clients::{ClientChoice, Unmatched};
use crate::episodes::Episode;
use crate::forecast::Forecasts;
use crate::pipeline::start_up::StartUpReport;
use crate::pipeline::{MessageContext, Observation};
use crate::round_trips::{CompletedRequest, ReplyKind};
use crate::text::label::client_name;
pub use insights::TRIED;
use insights::{Context, Insights};
use places::Places;
use round_trip::{RoundTrip, Waited};

/// Maximum number of clients and requests that are counted separately.
const CLIENTS: usize = 1 << 14;
const REQUESTS: usize = 1 << 12;
/// Maximum number of listed round trips; the first ones are kept.
const LISTED: usize = 10_000;

/// The options of an analysis of round trips.
#[derive(Debug, Clone, Default)]
pub struct RoundTripOptions {
    /// The link of the forecast; `None` for the recorded link, or for a typical link if the recording was made without
    /// one.
    pub link: Option<Network>,
    /// Selects clients whose name contains this text, or the client with this number; `None` selects all clients.
    pub client: Option<String>,
    /// If true, counts only round trips during start-up.
    pub start_up: bool,
}

#[derive(Debug, Default)]
struct ClientTotals {
    name: Option<String>,
    waited: Waited,
    synchronisations: u64,
    ahead: u64,
}

/// Finds the round trips of clients in a recording, from the observations of a pass.
#[derive(Debug, Default)]
pub struct RoundTrips {
    options: RoundTripOptions,
    choice: ClientChoice,
    start_ups: Vec<StartUpReport>,
    clients: FxHashMap<ConnectionId, ClientTotals>,
    places: Places,
    ahead: FxHashMap<Symbol, u64>,
    singles: Vec<RoundTrip>,
    more: u64,
    waited_locally: u64,
    insights: Insights,
    /// `None` without a forecast.
    forecasts: Option<Forecasts>,
    first: Option<Timestamp>,
}

impl RoundTrips {
    /// Creates an analysis that has observed nothing.
    pub fn new(options: &RoundTripOptions) -> RoundTrips {
        RoundTrips {
            options: options.clone(),
            choice: ClientChoice::new(options.client.as_deref()),
            forecasts: Some(Forecasts::default()),
            ..RoundTrips::default()
        }
    }

    /// The recorded writes and reads; `None` without a forecast.
    pub fn forecasts(&mut self) -> Option<&mut Forecasts> {
        self.forecasts.as_mut()
    }

    /// Disables the forecast. Suggestions then show the time that clients waited in the recording, and all suggestions
    /// are kept.
    pub fn without_forecast(mut self) -> RoundTrips {
        self.forecasts = None;
        self
    }

    /// Processes the next observation of a pass over the recording.
    pub fn observe(&mut self, observation: &Observation<'_>) {
        self.insights.observe(observation);
        if let Some(forecasts) = &mut self.forecasts {
            forecasts.observe(observation);
        }
        match observation {
            Observation::Control(time, control) => {
                self.first.get_or_insert(*time);
                self.choice.control(control);
                self.control(control);
            }
            Observation::Started(one) if self.is_wanted(ConnectionId(one.connection)) => {
                self.start_ups.push((*one).clone());
            }
            Observation::Message(seen) => self.message(seen),
            _ => {}
        }
    }

    /// Assigns round trips to the episodes that clients have just ended (from [`Episodes::finished`]).
    ///
    /// [`Episodes::finished`]: crate::Episodes::finished
    pub fn episodes(&mut self, finished: &[Episode]) {
        let ended = finished.iter().filter(|episode| !episode.settled);
        ended.for_each(|episode| self.places.episode(episode));
    }

    /// The user's filter of clients, if it matched no client; otherwise `None`.
    pub fn unmatched(&self) -> Option<Unmatched> {
        self.choice.unmatched()
    }

    fn is_wanted(&self, client: ConnectionId) -> bool {
        self.choice.holds(client)
    }

    /// True if the message is the reply to a request that the user selected.
    pub fn counts(&self, seen: &MessageContext<'_>) -> bool {
        let is_timely = seen.starting || !self.options.start_up;
        is_timely
            && seen
                .answer
                .is_some_and(|answer| self.is_wanted(answer.client))
    }

    fn message(&mut self, seen: &MessageContext<'_>) {
        let starting = seen.starting;
        if let Some(answer) = seen.answer
            && self.counts(seen)
        {
            self.answered(answer, starting);
            let session = seen.session;
            self.insights
                .answered(answer, &Context { session, starting });
        }
    }

    fn control(&mut self, control: &Control) {
        if let Control::Opened(opened) = control
            && self.clients.len() < CLIENTS
        {
            let id = opened.connection;
            let client = ClientTotals {
                name: opened.name.clone(),
                ..ClientTotals::default()
            };
            self.clients.insert(id, client);
        }
    }

    fn answered(&mut self, answer: &CompletedRequest<'_>, starting: bool) {
        let Some(client) = self.clients.get_mut(&answer.client) else {
            return;
        };
        let name = answer.question.name;
        if answer.how == ReplyKind::Pipelined {
            client.ahead += 1;
            if self.ahead.len() < REQUESTS || self.ahead.contains_key(&name) {
                *self.ahead.entry(name).or_default() += 1;
            }
            return;
        }
        let single = RoundTrip {
            client: answer.client,
            kind: (name, answer.how == ReplyKind::Synchronised),
            starting,
            requested_at: answer.question.requested_at,
            waited: answer.waited(),
        };
        client.waited.add(single.waited);
        self.waited_locally = self.waited_locally.saturating_add(answer.waited_locally());
        client.synchronisations += u64::from(single.kind.1);
        self.places.add(&single);
        match self.singles.len() < LISTED {
            true => self.singles.push(single),
            false => self.more += 1,
        }
    }

    /// A client's name and number.
    fn client(&self, id: ConnectionId) -> String {
        let client = self.clients.get(&id);
        client_name(client.and_then(|one| one.name.as_deref()), id)
    }
}
