//! The pipeline over a recording while it continues, for who follows it record by record.

use x11prof_trace::Record;

use crate::pipeline::{Observation, Pipeline};

/// A follower of a recording.
pub trait Follows {
    /// Takes the next observation.
    fn observe(&mut self, observation: &Observation<'_>);

    /// The follower has taken all observations of `record`; `pipeline` is at the place of the pass.
    fn took(&mut self, record: &Record, pipeline: &Pipeline);
}

/// A pass that continues. Equal requests are coalesced ([`Pipeline::take_together`]), to keep up with a recording.
pub struct LivePass {
    pipeline: Pipeline,
}

impl Default for LivePass {
    fn default() -> LivePass {
        let mut pipeline = Pipeline::default();
        pipeline.take_together();
        LivePass { pipeline }
    }
}

impl LivePass {
    /// The pipeline, at the place of the pass.
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// Takes the next record. It is followed once all of its time is known.
    pub fn feed(&mut self, record: Record, who: &mut impl Follows) {
        self.pipeline.put(record);
        self.follow(who);
    }

    /// Ends the recording and passes all waiting observations.
    pub fn end(&mut self, who: &mut impl Follows) {
        self.pipeline.no_more();
        self.follow(who);
    }

    fn follow(&mut self, who: &mut impl Follows) {
        while let Some(record) = self.pipeline.next(|observation| who.observe(observation)) {
            who.took(&record, &self.pipeline);
        }
    }
}
