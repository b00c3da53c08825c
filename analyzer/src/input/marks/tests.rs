//! Marks among the server's runs.

use x11prof_trace::{Control, Server, Timestamp};

use super::{AFTER, BEFORE, MARKS_LIMIT, Marks};
use crate::pipeline::Observation;
use crate::threads::thread_states::Step;

const SERVER: u32 = 9;

/// The server's one thread runs from one time to the other, in milliseconds.
fn ran(marks: &mut Marks, from: u64, to: u64) {
    let steps = Step::run(SERVER, from * 1_000_000, to * 1_000_000);
    marks.observe(&Observation::Switches(&steps));
}

fn mark(marks: &mut Marks, ms: u64, text: &str) {
    let text = text.to_owned();
    control(marks, ms, Control::Mark { text });
}

fn control(marks: &mut Marks, ms: u64, control: Control) {
    let time = Timestamp::from_nanos(ms * 1_000_000);
    marks.observe(&Observation::Control(time, &control));
}

fn marks() -> Marks {
    let mut marks = Marks::default();
    let pid = Some(SERVER);
    let server = Server {
        pid,
        ..Server::default()
    };
    control(&mut marks, 0, Control::Server(server));
    marks
}

#[test]
fn mark_includes_server_time_before_and_after() {
    let mut marks = marks();
    // Long ago, within the time before, across the mark, after it, and much later.
    ran(&mut marks, 1_000, 1_400);
    ran(&mut marks, 6_000, 6_250);
    ran(&mut marks, 9_990, 9_998);
    mark(&mut marks, 10_000, "slow");
    ran(&mut marks, 9_999, 10_100);
    ran(&mut marks, 10_900, 11_500);
    ran(&mut marks, 20_000, 21_000);
    let found = &marks.marks[0];
    assert_eq!((found.from(), found.to()), (5_000_000_000, 11_000_000_000));
    assert_eq!(found.server / 1_000_000, 250 + 8 + 101 + 100);
    assert_eq!(marks.list().collect::<Vec<_>>(), [(10_000_000_000, "slow")]);
}

#[test]
fn nearby_marks_share_server_time() {
    let mut marks = marks();
    ran(&mut marks, 500, 600);
    mark(&mut marks, 1_000, "one");
    ran(&mut marks, 1_100, 1_200);
    mark(&mut marks, 1_500, "two");
    let server: Vec<u64> = marks
        .marks
        .iter()
        .map(|one| one.server / 1_000_000)
        .collect();
    assert_eq!(server, [200, 200]);
}

#[test]
fn memory_is_bounded() {
    let mut marks = marks();
    for n in 0..2 * MARKS_LIMIT as u64 {
        mark(&mut marks, n, "again");
        ran(&mut marks, n * 1_000, n * 1_000 + 1);
    }
    assert_eq!(
        (marks.marks.len(), marks.more),
        (MARKS_LIMIT, MARKS_LIMIT as u64)
    );
    assert!(marks.recent.len() as u64 * super::SLICE <= BEFORE + 2 * AFTER + AFTER);
}
