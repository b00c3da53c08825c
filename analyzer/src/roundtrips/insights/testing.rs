//! Runs a kind of insight over a synthetic trace, for tests.

use x11prof_trace::Record;

use super::{Context, Finding, Insight};
use crate::pipeline::{Observation, Pipeline};
use crate::testing::Synthetic;

/// The findings of `insight` in a synthetic trace.
pub(super) fn findings(trace: &Synthetic, insight: impl Insight) -> Vec<Finding> {
    findings_in(&trace.records, insight)
}

/// Runs an insight over the records, and returns its findings.
pub(super) fn findings_in(records: &[Record], mut insight: impl Insight) -> Vec<Finding> {
    findings_of(records, &mut insight)
}

/// The findings of `insight` in these records. The caller keeps `insight`, to inspect it afterwards.
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
