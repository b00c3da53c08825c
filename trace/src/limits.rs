//! The limits of times and counts. The reader refuses records that exceed them, and the recorder writes none.

use crate::{Control, Record, Timestamp, Waiting};

/// The longest time between a recording's first record and any other: nine years, in nanoseconds. The limit prevents
/// overflow when analyses add up times.
const REACH: u64 = 1 << 58;
/// The maximum CPU time of a process: 36 years, in nanoseconds.
const MOST_RUN: u64 = 1 << 60;
/// The maximum value of one time or count that analyses add up: 2⁴⁴ ns (five hours), or the same number of requests or
/// bytes. The sum of a million such values does not overflow.
const MOST_OF_ONE: u64 = 1 << 44;
/// The largest offset of a block in its stream, in bytes. The sum of an offset and a length does not overflow.
const MOST_OFFSET: u64 = 1 << 62;

/// Checks that the record's times and counts are plausible for a recording that started at `began`.
///
/// # Errors
/// If a time or a count is implausible, returns the reason as a clause without a period.
pub fn check_limits(record: &Record, began: Timestamp) -> Result<(), &'static str> {
    let near = |time: Timestamp| time.as_nanos().abs_diff(began.as_nanos()) <= REACH;
    let is_plausible = match record {
        Record::Block(block) => near(block.time) && block.offset <= MOST_OFFSET,
        Record::Control(time, control) => near(*time) && has_plausible_figures(control, near),
        Record::Schedule(switches) => switches.iter().all(|switch| near(switch.time)),
        Record::HandlerTimes(times) => {
            let mut times = times.iter();
            times.all(|time| near(time.start) && time.took_ns <= REACH)
        }
    };
    match is_plausible {
        true => Ok(()),
        false => Err("a time or a count is beyond those of any recording"),
    }
}

/// True if the record's times, and the figures that analyses add up, are plausible.
fn has_plausible_figures(control: &Control, near: impl Fn(Timestamp) -> bool) -> bool {
    let is_near = |nanos: &u64| near(Timestamp::from_nanos(*nanos));
    let is_small = |one: &u64| *one <= MOST_OF_ONE;
    match control {
        Control::CpuTime(figures) => figures.cpu_ns <= MOST_RUN,
        Control::RunStack { at_ns, ran_ns, .. } => is_near(at_ns) && is_small(ran_ns),
        Control::WaitStack { at_ns, took_ns, .. } => is_near(at_ns) && is_small(took_ns),
        Control::RequestStacks {
            until_ns, took_ns, ..
        } => is_near(until_ns) && is_small(took_ns),
        Control::BlockedStack { since_ns, .. }
        | Control::Stalled { since_ns, .. }
        | Control::Hole { since_ns, .. }
        | Control::Waiting(Waiting { since_ns, .. })
        | Control::Told { until_ns: since_ns } => is_near(since_ns),
        Control::Tried { requests, .. } => requests.iter().all(is_small),
        Control::Joined(joined) => {
            let awaited = joined.awaited.iter().map(|one| &one.request);
            let mut counts = joined.under_way.iter().chain(awaited);
            is_small(&joined.last_request) && counts.all(is_small)
        }
        Control::Network(network) => {
            let mut times = [network.round_trip_ns, network.jitter_ns].into_iter();
            let speed = network.bytes_per_second.unwrap_or(1.0);
            times.all(|time| is_small(&time))
                && (0.0..=1.0).contains(&network.loss)
                && (speed > 0.0 && speed.is_finite())
        }
        Control::Link(link) => {
            let once = link.setup_ns.iter().chain(&link.tcp_round_trip_ns);
            let sent = [link.to_server.took_ns, link.to_client.took_ns];
            let mut times = link.round_trips_ns.iter().chain(&link.two_writes_ns);
            let mut paced = link.paced.iter();
            times.all(is_small)
                && once.chain(&sent).all(is_small)
                && paced.all(|one| is_near(&one.sent_ns) && is_near(&one.came_ns))
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::check_limits;
    use crate::{Block, ConnectionId, Direction, Record, Timestamp};

    #[test]
    fn offset_that_overflows_with_a_length_is_refused() {
        let check = |offset| {
            let block = Block {
                connection: ConnectionId(1),
                direction: Direction::ToServer,
                time: Timestamp::from_nanos(5),
                offset,
                wire_len: 1,
                fds: 0,
                gaps: Vec::new(),
                bytes: vec![1].into(),
            };
            check_limits(&Record::Block(block), Timestamp::from_nanos(1))
        };
        assert!(check(1 << 62).is_ok() && check(u64::MAX).is_err());
    }
}
