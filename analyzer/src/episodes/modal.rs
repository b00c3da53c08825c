//! Modal phases (LiLa, section 3.3): a client shows a window that is modal or transient for another window, or grabs
//! the pointer or the keyboard, as a menu does. User actions during the phase are separate episodes. The user's
//! thinking time belongs to no episode, in particular not to the episode that opened the window.

use std::collections::{BTreeMap, HashMap};

use x11prof_protocol::{Body, Message, Request};
use x11prof_session::{ResourceChange, Session};
use x11prof_trace::{ConnectionId, Control, Timestamp};

use super::outline::SHORTEST_WAIT;
use super::windows;
use crate::pipeline::device_grabs::{Device, DeviceGrab, GrabStep};
use crate::pipeline::{MessageContext, Observation};

/// Maximum number of windows with known properties, and of open phases.
const MAX_OPEN: usize = 4096;
/// Maximum number of phases kept; the first ones are kept.
const MAX_PHASES: usize = 10_000;

/// The evidence for a modal phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum PhaseEvidence {
    /// The client's window is transient for another window (ICCCM, WM_TRANSIENT_FOR).
    Transient,
    /// The client's window has the state modal (EWMH, _NET_WM_STATE_MODAL).
    Modal,
    /// The client has grabbed the pointer or the keyboard.
    Grab,
}

impl PhaseEvidence {
    pub(crate) fn name(self) -> &'static str {
        match self {
            PhaseEvidence::Transient => "transient",
            PhaseEvidence::Modal => "modal",
            PhaseEvidence::Grab => "grab",
        }
    }
}

/// A modal phase of a client: it shows a modal or transient window, or grabs the pointer or the keyboard.
#[derive(Debug, Clone)]
pub(crate) struct Phase {
    pub(crate) client: ConnectionId,
    pub(crate) how: PhaseEvidence,
    /// The name of the modal window; `None` for a grab, or if unknown.
    pub(crate) window: Option<String>,
    pub(crate) start: Timestamp,
    /// The end of the phase; `None` while the phase continues.
    pub(crate) end: Option<Timestamp>,
}

#[derive(Debug)]
struct Grab {
    held: Vec<Device>,
    phase: Phase,
}

/// The modal phases of a trace.
#[derive(Debug, Default)]
pub(crate) struct Modal {
    /// The evidence from the properties of windows that are not yet mapped, by window.
    hints: HashMap<u32, PhaseEvidence>,
    windows: BTreeMap<u32, Phase>,
    grabs: HashMap<ConnectionId, Grab>,
    /// The phases that ended, by client, beginning and number.
    done: BTreeMap<(ConnectionId, Timestamp, usize), Phase>,
}

impl Modal {
    /// Processes the next observation of a pass over the recording.
    pub(crate) fn observe(&mut self, observation: &Observation<'_>) {
        match observation {
            Observation::Message(seen) => {
                if let Message::Request(request) = seen.message {
                    self.request(seen, request);
                    self.freed(seen);
                }
            }
            Observation::Control(time, Control::Closed { connection, .. }) => {
                let of = self.windows.iter();
                let of = of.filter(|(_, phase)| phase.client == *connection);
                let of: Vec<u32> = of.map(|(window, _)| *window).collect();
                of.into_iter()
                    .for_each(|window| self.unmapped(window, *time));
            }
            Observation::DeviceGrab { grab, session } => match grab.step {
                GrabStep::Refused => {}
                GrabStep::Began => self.grabbed(grab, *session),
                _ => self.ungrabbed(grab),
            },
            _ => {}
        }
    }

    fn request(&mut self, seen: &MessageContext<'_>, request: &Request<'_>) {
        let body = Body::of(request);
        let first = body.u32(0).unwrap_or(0);
        match request.name.as_str() {
            "ChangeProperty" => self.hint(seen, first, &body),
            "MapWindow" => self.mapped(seen, first),
            "UnmapWindow" => self.unmapped(first, seen.time),
            _ => {}
        }
    }

    /// Stores the evidence for a modal phase from a ChangeProperty request, whose `body` has window, property, type,
    /// format, length and value.
    fn hint(&mut self, seen: &MessageContext<'_>, window: u32, body: &Body<'_>) {
        let property = body.u32(4).and_then(|atom| seen.session.atom_name(atom));
        let mut values = body.list(20, 4).filter_map(|value| value.u32(0));
        let how = match property {
            Some("WM_TRANSIENT_FOR") if values.any(|of| of != 0) => PhaseEvidence::Transient,
            Some("_NET_WM_STATE") => {
                let mut names = values.filter_map(|atom| seen.session.atom_name(atom));
                match names.any(|name| name == "_NET_WM_STATE_MODAL") {
                    true => PhaseEvidence::Modal,
                    false => return,
                }
            }
            _ => return,
        };
        if let Some(phase) = self.windows.get_mut(&window) {
            phase.how = phase.how.max(how);
        } else if self.hints.len() < MAX_OPEN {
            let known = self.hints.entry(window).or_insert(how);
            *known = (*known).max(how);
        }
    }

    fn mapped(&mut self, seen: &MessageContext<'_>, window: u32) {
        if let Some(how) = self.hints.get(&window)
            && self.windows.len() < MAX_OPEN
            && self.is_its_own(seen, window)
        {
            let phase = phase(seen, *how, window);
            self.windows.entry(window).or_insert(phase);
        }
    }

    /// Returns true if the client created the window. A window manager also maps other clients' windows.
    fn is_its_own(&self, seen: &MessageContext<'_>, window: u32) -> bool {
        let owner = seen.session.id_range(window);
        owner.is_some_and(|range| range.client.0 == seen.connection.0)
    }

    fn unmapped(&mut self, window: u32, time: Timestamp) {
        if let Some(phase) = self.windows.remove(&window) {
            self.over(phase, time);
        }
    }

    fn freed(&mut self, seen: &MessageContext<'_>) {
        for change in seen.session.resource_changes() {
            if let ResourceChange::Freed(resource) = change {
                self.unmapped(resource.id, seen.time);
                self.hints.remove(&resource.id);
            }
        }
    }

    fn grabbed(&mut self, grab: &DeviceGrab, session: Option<&Session>) {
        if self.grabs.len() < MAX_OPEN {
            let phase = || Phase {
                client: grab.by,
                how: PhaseEvidence::Grab,
                window: session.and_then(|session| windows::name(session, grab.window)),
                start: grab.asked,
                end: None,
            };
            let open = self.grabs.entry(grab.by).or_insert_with(|| Grab {
                held: Vec::new(),
                phase: phase(),
            });
            open.held.push(grab.device);
        }
    }

    fn ungrabbed(&mut self, of: &DeviceGrab) {
        if let Some(grab) = self.grabs.get_mut(&of.by) {
            grab.held.retain(|one| *one != of.device);
            if grab.held.is_empty()
                && let Some(grab) = self.grabs.remove(&of.by)
            {
                self.over(grab.phase, of.time);
            }
        }
    }

    fn over(&mut self, mut phase: Phase, time: Timestamp) {
        let length = time.as_nanos().saturating_sub(phase.start.as_nanos());
        if length >= SHORTEST_WAIT && self.done.len() < MAX_PHASES {
            phase.end = Some(time);
            let number = self.done.len();
            self.done.insert((phase.client, phase.start, number), phase);
        }
    }

    /// The modal phases of a client that began from `start` to `end`, in time order.
    pub(crate) fn begun_in(
        &self,
        client: ConnectionId,
        start: Timestamp,
        end: Timestamp,
    ) -> Vec<&Phase> {
        let open = self.windows.values();
        let open = open.chain(self.grabs.values().map(|grab| &grab.phase));
        let of = |phase: &&Phase| phase.client == client && (start..=end).contains(&phase.start);
        let within = (client, start, 0)..=(client, end, usize::MAX);
        let done = self.done.range(within).map(|(_, phase)| phase);
        let mut all: Vec<&Phase> = done.chain(open.filter(of)).collect();
        all.sort_by_key(|phase| (phase.start, phase.how));
        all
    }
}

fn phase(seen: &MessageContext<'_>, how: PhaseEvidence, window: u32) -> Phase {
    Phase {
        client: seen.connection,
        how,
        window: windows::name(seen.session, window),
        start: seen.time,
        end: None,
    }
}

#[cfg(test)]
mod tests {
    use x11prof_trace::{ConnectionId, Timestamp};

    use super::{Modal, PhaseEvidence};
    use crate::pipeline::Pipeline;
    use crate::testing::*;

    #[test]
    fn refused_grab_starts_no_modal_phase() {
        let mut trace = Synthetic::new();
        let grab_pointer = request(26, 0, &[ROOT, 0, 0, 0, 0]);
        let mut refusal = reply(1);
        refusal[1] = 1;
        trace
            .client_sends(std::slice::from_ref(&grab_pointer))
            .server_sends(&[refusal]);
        trace.wait(1_000_000).client_sends(&[grab_pointer]);
        trace.wait(500).server_sends(&[reply(2)]);
        trace.wait(3_000_000).client_sends(&[request(27, 0, &[0])]);
        trace.wait(1_000_000).end();
        let (mut modal, mut pipeline) = (Modal::default(), Pipeline::new());
        pipeline.run_records(trace.records.iter().cloned(), |observation| {
            modal.observe(observation);
        });
        let end = Timestamp::from_nanos(u64::MAX);
        let phases = modal.begun_in(ConnectionId(1), Timestamp::from_nanos(0), end);
        let [phase] = phases.as_slice() else {
            panic!("{phases:?}");
        };
        let lasted = phase.end.map(|end| end.since(phase.start).as_micros());
        assert_eq!((phase.how, lasted), (PhaseEvidence::Grab, Some(3_000_500)));
    }
}
