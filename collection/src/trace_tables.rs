//! Computes the tables of one trace that are not about episodes: requests, round trips, resources, periods in which the
//! server ran, and marks.

use x11prof_analyzer::{
    Episode, Observation, Profile, ResourceReport, Resources, RoundTrips, Stack, TimeSource,
    TraceSummary,
};
use x11prof_trace::{Control, Timestamp};

use crate::tables::{Cell, Schema, TableError, schema};

/// A function that receives each row with its table.
type Sink<'a> = dyn FnMut(&'static Schema, &[Cell<'_>]) -> Result<(), TableError> + 'a;

/// Converts one trace to rows of the tables of requests, round trips, resources, server runs and marks. The profile
/// determines the server times.
pub struct TraceTables {
    profile: Profile,
    with_costs: bool,
    summary: TraceSummary,
    resources: Resources,
    round_trips: RoundTrips,
    first: Option<Timestamp>,
}

impl TraceTables {
    /// Creates a converter; `profile` must be a profile with stacks. If `with_costs` is false, requests have no server
    /// time, because the available costs are from another server.
    pub fn new(profile: Profile, with_costs: bool) -> TraceTables {
        TraceTables {
            profile,
            with_costs,
            summary: TraceSummary::default(),
            resources: Resources::default(),
            round_trips: RoundTrips::default(),
            first: None,
        }
    }

    /// Adds the episodes that have just ended, as returned by [`Episodes::finished`], for the table of round trips.
    ///
    /// [`Episodes::finished`]: x11prof_analyzer::Episodes::finished
    pub fn episodes(&mut self, finished: &[Episode]) {
        self.round_trips.episodes(finished);
    }

    /// Processes the next observation of the trace, and passes complete rows to `to`; `session` is the id of the
    /// session.
    ///
    /// # Errors
    /// Returns the errors of `to`.
    pub fn observe(
        &mut self,
        session: &str,
        observation: &Observation<'_>,
        to: &mut Sink<'_>,
    ) -> Result<(), TableError> {
        self.summary.observe(observation);
        self.profile.observe(observation);
        self.resources.observe(observation);
        self.round_trips.observe(observation);
        self.first = self.first.or(self.summary.first());
        let first = self.first.unwrap_or_default();
        if let Observation::ServerRan(one) = observation {
            run(session, first, one.from, one.to, to)?;
        }
        if let Observation::Control(time, Control::Mark { text }) = observation {
            let at = time.as_nanos().saturating_sub(first.as_nanos());
            to(
                &schema::MARKS,
                &[Cell::Text(session), Cell::number(at), Cell::Text(text)],
            )?;
        }
        Ok(())
    }

    /// Ends the trace and passes the remaining rows to `to`; `session` is the id of the session.
    ///
    /// # Errors
    /// Returns the errors of `to`.
    pub fn finish(mut self, session: &str, to: &mut Sink<'_>) -> Result<(), TableError> {
        self.profile.end();
        let basis = match self.profile.basis() {
            _ if !self.with_costs => None,
            TimeSource::Timed => Some("timed"),
            TimeSource::Attributed => Some("attributed"),
            _ => Some("modelled"),
        };
        for stack in self.profile.stacks(&self.summary) {
            to(&schema::REQUESTS, &request(session, &stack, basis))?;
        }
        let report = self.round_trips.finish("");
        for place in &report.places {
            for one in &place.requests {
                to(
                    &schema::ROUND_TRIPS,
                    &[
                        Cell::Text(session),
                        Cell::Text(&place.place),
                        Cell::Text(&one.request),
                        Cell::number(one.count),
                        Cell::number((one.waited_ms * 1e6).round() as u64),
                    ],
                )?;
            }
        }
        for client in &ResourceReport::new(&self.resources, &self.summary).clients {
            for kind in &client.kinds {
                let numbers = [
                    kind.counts.created,
                    kind.counts.freed,
                    kind.counts.held,
                    kind.counts.held_bytes,
                    kind.counts.most,
                    kind.counts.most_bytes,
                ];
                let mut cells = vec![
                    Cell::Text(session),
                    Cell::number(u64::from(client.client)),
                    Cell::Text(&client.name),
                    Cell::Text(&kind.kind),
                ];
                cells.extend(numbers.map(Cell::number));
                to(&schema::RESOURCES, &cells)?;
            }
        }
        Ok(())
    }
}

fn request<'a>(session: &'a str, stack: &'a Stack, basis: Option<&'a str>) -> [Cell<'a>; 9] {
    [
        Cell::Text(session),
        Cell::Text(&stack.client),
        Cell::Text(stack.place.first().map_or("", String::as_str)),
        Cell::Text(&stack.request),
        Cell::number(stack.count),
        Cell::number(stack.sent),
        Cell::number(stack.returned),
        match basis {
            Some(_) => Cell::number((stack.server.0 * 1000.0).round() as u64),
            None => Cell::Null,
        },
        Cell::text(basis),
    ]
}

fn run(
    session: &str,
    first: Timestamp,
    from: Timestamp,
    until: Timestamp,
    to: &mut Sink<'_>,
) -> Result<(), TableError> {
    let start = from.as_nanos().saturating_sub(first.as_nanos());
    let length = until.as_nanos().saturating_sub(from.as_nanos());
    to(
        &schema::SERVER_RUNS,
        &[
            Cell::Text(session),
            Cell::number(start),
            Cell::number(length),
        ],
    )
}
