//! Whether the server rests between its clients' requests, and what it does then.

use x11prof_cost_model::Micros;
use x11prof_trace::{ConnectionId, Timestamp};

use super::Pricer;
use crate::profile::charges::{Charge, TransportPart};
use crate::profile::deferred::Made;

impl Pricer {
    /// What the server did between its clients' requests, before a batch arrives at `at`. It does not
    /// rest before that of a client that runs as soon as it is answered, and has the next one ready
    /// before the server, whose processor it is on, looks for more.
    pub(super) fn before(
        &mut self,
        connection: ConnectionId,
        time: Timestamp,
        at: Micros,
        on: &mut impl FnMut(&Charge<'_>),
    ) {
        if self.pictures.is_some() {
            let busy = self.clock.busy_until().unwrap_or(at);
            let ready = self.ready(connection, time, busy);
            let now = Micros(at.0.max(busy.0));
            self.update(connection, time, (now, at >= busy && !ready), on);
            let busy = self.clock.busy_until().unwrap_or(at);
            if let Some(pictures) = &mut self.pictures {
                pictures.serves(connection, at, busy);
            }
        }
    }

    /// Whether the client of a batch has it ready before the server, at work until `busy`, looks for more.
    fn ready(&mut self, connection: ConnectionId, time: Timestamp, busy: Micros) -> bool {
        let Some(stream) = self.streams.get_mut(&connection) else {
            return false;
        };
        let Some(since) = stream.told.take() else {
            return false;
        };
        let Some(client) = self.others.span(since, time) else {
            return false;
        };
        let served = self.woken.map_or(Micros::ZERO, |woken| busy - woken);
        stream.runs_first(client, served) && self.others.at_once(since, time)
    }

    /// What the server does later, where it does that by `now`; `idle`, if it has nothing else to do.
    pub(super) fn update(
        &mut self,
        connection: ConnectionId,
        time: Timestamp,
        (now, idle): (Micros, bool),
        on: &mut impl FnMut(&Charge<'_>),
    ) {
        let Some(pictures) = &mut self.pictures else {
            return;
        };
        let cold = self.transport.cold(self.coldness.lapse());
        if let Some(Made {
            due,
            cost: server,
            wait,
        }) = pictures.made(now, idle, cold)
        {
            self.clock.serve_at(due, server.time + wait);
            let there = (connection, self.time_of(due).min(time));
            on(&Charge::beside(there, TransportPart::Update, server, None));
        }
    }
}
