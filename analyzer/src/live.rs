//! The profile of a recording while it goes on: records in, a report of what came so far out,
//! and a fresh start at any time.

use x11prof_cost_model::{Network, ServerParameters, Substitutions};
use x11prof_trace::Record;

use crate::facts::Facts;
use crate::pipeline::Pipeline;
use crate::profile::Profile;
use crate::profile::report::ProfileReport;
use crate::resources::Resources;
use crate::resources::report::ResourceReport;
use crate::stalls::grabs::GrabReport;
use crate::stalls::report::StallsReport;
use crate::stalls::{FRAME_MS, Stalls};
use crate::switches_first::SwitchesFirst;
use x11prof_server_model::Blocking;

/// A profile that grows.
pub struct LiveProfile {
    order: SwitchesFirst,
    pipeline: Pipeline,
    facts: Facts,
    profile: Profile,
    resources: Resources,
    stalls: Stalls,
}

impl LiveProfile {
    /// A profile of nothing, on the server that `parameters` describe.
    pub fn new(parameters: &ServerParameters, substitutions: &Substitutions) -> LiveProfile {
        let profile = Profile::new(parameters, substitutions, Blocking::default());
        let mut pipeline = Pipeline::new();
        pipeline.follow_changes(profile.knows_updates());
        LiveProfile {
            order: SwitchesFirst::default(),
            pipeline,
            facts: Facts::default(),
            profile,
            resources: Resources::default(),
            stalls: Stalls::new(parameters, substitutions, FRAME_MS),
        }
    }

    /// Takes the next record. It counts once the context switches of its time are known.
    pub fn feed(&mut self, record: Record) {
        let mut order = std::mem::take(&mut self.order);
        order.put(record, &mut |record| self.observe(record));
        self.order = order;
    }

    /// There are no more records: all that came counts.
    pub fn end(&mut self) {
        let mut order = std::mem::take(&mut self.order);
        order.end(&mut |record| self.observe(record));
        self.profile.end();
    }

    fn observe(&mut self, record: &Record) {
        let LiveProfile {
            pipeline,
            facts,
            profile,
            resources,
            stalls,
            ..
        } = self;
        pipeline.feed(record, |observation| {
            facts.observe(observation);
            profile.observe(observation);
            resources.observe(observation);
            stalls.observe(observation);
        });
    }

    /// Starts all counts afresh, with `parameters` from now on. What the session is like, who is
    /// connected and what is held stays known.
    pub fn afresh(&mut self, parameters: &ServerParameters, substitutions: &Substitutions) {
        let empty = Profile::new(parameters, substitutions, Blocking::default());
        let before = std::mem::replace(&mut self.profile, empty);
        self.profile = before.afresh(parameters, substitutions);
        self.pipeline.follow_changes(self.profile.knows_updates());
        self.facts.start_afresh();
        self.resources.start_afresh();
        self.stalls.start_afresh();
    }

    /// What came so far; `path` names the trace, and with `held` it has resources and grabs.
    pub fn report(&mut self, path: &str, network: &Network, held: bool) -> ProfileReport {
        let facts = &self.facts;
        let mut report = self
            .profile
            .now(|profile| ProfileReport::new(path, facts, profile, network));
        // A recording that goes on has no end yet, which is nothing to warn of.
        report
            .warnings
            .retain(|warning| warning.kind != crate::warnings::WarningKind::Incomplete);
        report.trace.complete = true;
        report.stalls = Some(StallsReport::new(&self.stalls, &self.facts));
        if held {
            report.resources = Some(ResourceReport::new(&self.resources, &self.facts));
            report.grabs = Some(GrabReport::new(self.stalls.grabs(), &self.facts));
        }
        report
    }
}

#[cfg(test)]
mod tests {
    use x11prof_cost_model::{Network, ServerParameters, Substitutions};

    use super::LiveProfile;
    use crate::testing::*;

    fn parameters(cost: &str) -> ServerParameters {
        ServerParameters::from_toml(&format!(
            "format = 1\n[server]\nname = \"it\"\n[[request]]\nname = \"NoOperation\"\n\
             points = [{{ size = 0.0, cpu_us = {cost} }}]\n"
        ))
        .unwrap()
    }

    #[test]
    fn it_grows_and_starts_afresh_with_other_prices() {
        let rules = Substitutions::default();
        let mut trace = Synthetic::new();
        trace.wait(10).client_sends(&[no_operation(1)]);
        let mut live = LiveProfile::new(&parameters("1.0"), &rules);
        let report = |live: &mut LiveProfile| live.report("it", &Network::NONE, true);
        trace
            .records
            .iter()
            .for_each(|record| live.feed(record.clone()));
        live.end();
        let before = report(&mut live);
        assert_eq!((before.total.count, before.total.server_ms), (1, 0.001));
        assert!(before.trace.complete);

        live.afresh(&parameters("3.0"), &rules);
        let nothing = report(&mut live);
        assert_eq!(
            (nothing.total.count, nothing.trace.connection_count),
            (0, 1)
        );
        assert_eq!(nothing.trace.duration_ms, 0.0);
        let known = trace.records.len();
        trace
            .wait(20)
            .client_sends(&[no_operation(1), no_operation(1)]);
        trace.records[known..]
            .iter()
            .for_each(|record| live.feed(record.clone()));
        live.end();
        let after = report(&mut live);
        assert_eq!((after.total.count, after.total.server_ms), (2, 0.006));
        // It is still the same client, whose earlier requests are not missing.
        let missing = after.warnings.iter().map(|warning| warning.kind);
        assert!(
            !missing
                .into_iter()
                .any(|kind| kind == crate::WarningKind::MissingRequest)
        );
    }
}
