//! A test bench: a kind of insight over a synthetic trace.

use x11prof_trace::Record;

use super::{Context, Finding, Insight};
use crate::pipeline::{Observation, Pipeline};
use crate::testing::Synthetic;

/// The findings of `insight` in `trace`.
pub(super) fn findings(trace: &Synthetic, insight: impl Insight) -> Vec<Finding> {
    findings_in(&trace.records, insight)
}

/// The findings of `insight` in these records.
pub(super) fn findings_in(records: &[Record], mut insight: impl Insight) -> Vec<Finding> {
    findings_of(records, &mut insight)
}

/// The findings of `insight`, which the caller can inspect afterwards.
pub(super) fn findings_of(records: &[Record], insight: &mut impl Insight) -> Vec<Finding> {
    Pipeline::new().run_records(records.iter().cloned(), |observation| {
        insight.observe(observation);
        if let Observation::Message(seen) = observation
            && let Some(answer) = seen.answer
        {
            let (session, starting) = (seen.session, seen.starting);
            insight.answered(answer, &Context { session, starting });
        }
    });
    insight.findings()
}
