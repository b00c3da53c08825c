//! Round trips that only wait until the server has handled earlier requests: GetInputFocus, as XSync and xcb_aux_sync
//! send it.

use x11prof_protocol::Symbol;

use super::{AvoidableTrips, Context, Finding, Groups, Insight, Saving};
use crate::round_trips::{CompletedRequest, ReplyKind};
use crate::statistics::distribution::Distribution;

#[derive(Debug, Default)]
struct Syncs {
    starting: u64,
    waits: AvoidableTrips,
    waited: Distribution,
}

/// Counts the synchronisations of each client.
#[derive(Debug, Default)]
pub(super) struct Synchronisation(Groups<(), Syncs>);

impl Insight for Synchronisation {
    fn answered(&mut self, answer: &CompletedRequest<'_>, context: &Context<'_>) {
        if answer.how == ReplyKind::Synchronised
            && let Some(syncs) = self.0.of(answer.client, ())
        {
            syncs.waits.add(answer);
            syncs.starting += u64::from(context.starting);
            syncs.waited.add(answer.waited_locally());
        }
    }

    fn findings(&self) -> Vec<Finding> {
        let found = |(client, (), syncs): (_, _, &Syncs)| Finding {
            kind: "synchronisation",
            client,
            request: Symbol::new("GetInputFocus"),
            count: syncs.waits.round_trips,
            action: format!(
                "Leave out XSync ({} GetInputFocus), unless the program needs the focus",
                syncs.waits.round_trips
            ),
            why: format!(
                "each one only waits until the server has handled all earlier requests; {} at start-up",
                syncs.starting
            ),
            saves: saving(syncs),
        };
        self.0.all().map(found).collect()
    }
}

/// Returns the saving: all round trips, each with the usual wait only. A longer wait is caused by server work, which
/// would remain.
fn saving(syncs: &Syncs) -> Saving {
    let saving = syncs.waits.saving(syncs.waits.round_trips * 36);
    let usual = syncs.waited.median().unwrap_or(0);
    let usual = usual.saturating_mul(syncs.waits.round_trips);
    Saving {
        nanos: saving.nanos.min(usual),
        ..saving
    }
}

#[cfg(test)]
mod tests {
    use super::Synchronisation;
    use crate::roundtrips::insights::testing::findings;
    use crate::testing::*;

    #[test]
    fn each_sync_is_an_avoidable_round_trip() {
        let mut trace = Synthetic::new();
        for number in 1..=3 {
            trace.wait(10).client_sends(&[get_input_focus()]);
            trace.wait(50).server_sends(&[reply(number)]);
        }
        let found = findings(&trace, Synchronisation::default());
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].count, found[0].saves.round_trips), (3, 3));
        assert_eq!(found[0].saves.nanos, 150_000);
        assert!(found[0].action.contains("3 GetInputFocus"), "{found:?}");
        // A synchronisation that waits for much drawing saves no more, because the drawing remains.
        trace.wait(10).client_sends(&[get_input_focus()]);
        trace.wait(90_000).server_sends(&[reply(4)]);
        let found = findings(&trace, Synchronisation::default());
        assert_eq!(found[0].saves.nanos, 200_000);
    }
    #[test]
    fn savings_do_not_exceed_the_wait() {
        let mut trace = Synthetic::new();
        for (number, waits) in [(1, 1), (2, 50), (3, 50)] {
            trace.wait(10).client_sends(&[get_input_focus()]);
            trace.wait(waits).server_sends(&[reply(number)]);
        }
        let found = findings(&trace, Synchronisation::default());
        assert_eq!(found[0].saves.nanos, 101_000);
    }
}
