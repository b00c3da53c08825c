//! The pipeline over a live recording, for followers that process it record by record.

use x11prof_trace::Record;

use crate::pipeline::{Observation, Pipeline};

/// An analysis that follows a live recording.
pub trait Follows {
    /// Processes the next observation of the pass.
    fn observe(&mut self, observation: &Observation<'_>);

    /// Called after the pipeline has emitted all observations of `record`; `pipeline` has the state at this position.
    fn took(&mut self, record: &Record, pipeline: &Pipeline);
}

/// A pass over a live recording. Equal requests are coalesced ([`Pipeline::take_together`]), to keep up with the
/// recording.
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
    /// The pipeline in its current state.
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// Adds the next record. `who` receives its observations once all earlier records have arrived.
    pub fn feed(&mut self, record: Record, who: &mut impl Follows) {
        self.pipeline.put(record);
        self.follow(who);
    }

    /// Ends the recording, and passes all waiting observations to `who`.
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
