use x11prof_trace::{Control, Record, Timestamp};

use crate::pipeline::{Observation, Pipeline};
use crate::testing::*;

/// A description of each message that a pass emits for records.
fn seen(pipeline: &mut Pipeline, records: &[Record]) -> Vec<String> {
    let mut said = Vec::new();
    pipeline.run_records(records.iter().cloned(), |observation| match observation {
        Observation::Message(seen) => said.push(format!(
            "{:?} {:?}",
            seen.message,
            seen.operation.map(|operation| operation.request)
        )),
        Observation::Lost(_) => said.push("lost".to_owned()),
        _ => {}
    });
    said
}

#[test]
fn new_pipeline_continues_from_a_checkpoint() {
    let mut trace = Synthetic::new();
    for _ in 0..20 {
        trace.wait(10).client_sends(&[no_operation(1)]);
    }
    // Half of a request.
    trace.block(x11prof_trace::Direction::ToServer, &no_operation(3)[..8]);
    let first = trace.records.len();
    trace.block(x11prof_trace::Direction::ToServer, &no_operation(3)[8..]);
    trace.wait(10).client_sends(&[no_operation(2)]);
    trace.end();

    let mut whole = Pipeline::new();
    seen(&mut whole, &trace.records[..first]);
    assert!(whole.can_go_on_elsewhere());
    let checkpoint = whole.checkpoint();
    let after = seen(&mut whole, &trace.records[first..]);
    let mut part = Pipeline::new();
    let checkpoint: Vec<Record> = checkpoint
        .into_iter()
        .map(|control| Record::Control(Timestamp::default(), control))
        .collect();
    assert!(matches!(
        checkpoint[0],
        Record::Control(_, Control::Existing(_))
    ));
    assert!(seen(&mut part, &checkpoint).is_empty());
    // The interrupted request ended only in the complete trace.
    let rest = seen(&mut part, &trace.records[first..]);
    assert_eq!(after[1..], rest[..]);
    assert_eq!(rest.len(), 1);
}
