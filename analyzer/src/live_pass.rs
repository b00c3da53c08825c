//! The pipeline over a recording while it goes on: with context switches ahead of what happened meanwhile, as over a
//! trace.

use x11prof_trace::Record;

use crate::pipeline::{Observation, Pipeline};
use crate::switches_first::SwitchesFirst;

/// Who follows a recording.
pub trait Follows {
    /// Takes the next observation.
    fn observe(&mut self, observation: &Observation<'_>);

    /// All observations of `record` have been taken; `pipeline` is where the pass has come to.
    fn took(&mut self, record: &Record, pipeline: &Pipeline);
}

/// A pass that goes on.
#[derive(Default)]
pub struct LivePass {
    order: SwitchesFirst,
    pipeline: Pipeline,
}

impl LivePass {
    /// Where it has come to.
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// Takes the next record. It is followed once the context switches of its time are known.
    pub fn feed(&mut self, record: Record, who: &mut impl Follows) {
        let LivePass { order, pipeline } = self;
        order.put(record, &mut |record| follow(pipeline, record, who));
    }

    /// There are no more records: all that came is followed.
    pub fn end(&mut self, who: &mut impl Follows) {
        let LivePass { order, pipeline } = self;
        order.end(&mut |record| follow(pipeline, record, who));
    }
}

fn follow(pipeline: &mut Pipeline, record: &Record, who: &mut impl Follows) {
    pipeline.feed(record, |observation| who.observe(observation));
    who.took(record, pipeline);
}
