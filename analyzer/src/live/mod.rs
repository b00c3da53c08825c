//! The analysis of a recording while it continues. It receives records, returns the profile so far and the clients'
//! current activity, and can restart all counts at any time.

pub(crate) mod clients_now;

use x11prof_cost_model::{Network, ServerParameters, Substitutions};
use x11prof_trace::{Record, Timestamp};

use crate::live::clients_now::report::NowReport;
use crate::live::clients_now::{ClientsNow, NowOptions};
use crate::pipeline::Pipeline;
use crate::profile::report::ProfileReport;
use crate::resources::report::ResourceReport;
use crate::stalls::grabs::report::GrabReport;
use crate::stalls::report::StallsReport;

/// The profile of a live recording.
pub struct LiveProfile {
    pipeline: Pipeline,
    clients: ClientsNow,
}

impl LiveProfile {
    /// Creates an empty profile. `parameters` has the costs of the server.
    pub fn new(
        parameters: &ServerParameters,
        substitutions: &Substitutions,
        options: &NowOptions,
    ) -> LiveProfile {
        let mut clients = ClientsNow::new(parameters, substitutions, options);
        clients.begin();
        LiveProfile {
            pipeline: Pipeline::new(),
            clients,
        }
    }

    /// Adds the next record. The record counts once all earlier records have arrived.
    pub fn feed(&mut self, record: Record) {
        let LiveProfile { pipeline, clients } = self;
        pipeline.feed(record, |observation| clients.observe(observation));
    }

    /// Ends the recording, and counts all messages up to its end.
    pub fn end(&mut self) {
        let LiveProfile { pipeline, clients } = self;
        pipeline.end(|observation| clients.observe(observation));
        clients.end();
    }

    /// Notes that no record arrived before `time`, and advances the analysis to it.
    pub fn until(&mut self, time: Timestamp) {
        let LiveProfile { pipeline, clients } = self;
        let known = pipeline.until(time, |observation| clients.observe(observation));
        clients.profile.until(known);
        clients.until(time);
    }

    /// Restarts all counts, with the costs of `parameters` from now on. The state of the session, the clients and their
    /// resources are kept.
    pub fn afresh(&mut self, parameters: &ServerParameters, substitutions: &Substitutions) {
        self.clients.afresh(parameters, substitutions);
    }

    /// The current activity of the clients. With a `filter`, only names that contain that text.
    pub fn now(&mut self, filter: Option<&str>) -> NowReport {
        self.clients.report(filter)
    }

    /// The profile so far. `path` names the trace. If `held` is true, the report includes resources, grabs and stalls.
    pub fn report(&mut self, path: &str, network: &Network, held: bool) -> ProfileReport {
        let ClientsNow {
            summary,
            profile,
            resources,
            stalls,
            ..
        } = &mut self.clients;
        let mut report = profile.now(|profile| ProfileReport::new(path, summary, profile, network));
        // A recording that continues has no end yet, so the warning does not apply.
        report
            .warnings
            .retain(|warning| warning.kind != crate::recording::warnings::WarningKind::Incomplete);
        if !std::mem::replace(&mut report.trace.complete, true) {
            // The server's clock was last read up to a second ago.
            report.total.server_cpu_ms = None;
            report.client_and_server.server_cpu_ms = None;
            report.client_and_server.estimate_ratio = None;
        }
        // The groups by window are only for the clients' current activity.
        report.groups = None;
        if held {
            report.stalls = Some(StallsReport::new(stalls, summary));
            report.resources = Some(ResourceReport::new(resources, summary));
            report.grabs = Some(GrabReport::new(stalls.grabs(), summary));
        }
        report
    }
}

#[cfg(test)]
mod tests {
    use x11prof_cost_model::{Network, ServerParameters, Substitutions};
    use x11prof_trace::{Control, Record, Switch, SwitchKind, Timestamp};

    use super::LiveProfile;
    use crate::testing::*;
    use crate::{FRAME_MS, NowOptions, TimeSourceOption};

    fn parameters(cost: &str) -> ServerParameters {
        ServerParameters::from_toml(&format!(
            "format = 1\n[server]\nname = \"it\"\n[[request]]\nname = \"NoOperation\"\n\
             points = [{{ size = 0.0, cpu_us = {cost} }}]\n"
        ))
        .unwrap()
    }

    #[test]
    fn active_recording_omits_outdated_server_cpu() {
        let options = NowOptions {
            seconds: 1.0,
            frame_ms: FRAME_MS,
            basis: TimeSourceOption::Auto,
        };
        let mut live = LiveProfile::new(&parameters("1.0"), &Substitutions::default(), &options);
        let mut trace = Synthetic::new();
        trace.cpu_time(SERVER_PID, 1000);
        trace.wait(10).client_sends(&[no_operation(1)]);
        trace.wait(10).cpu_time(SERVER_PID, 1001);
        let mut server_cpu = |trace: &Synthetic, from: usize| {
            let new = trace.records[from..].iter().cloned();
            new.for_each(|record| live.feed(record));
            live.pipeline
                .until(Timestamp::from_nanos(u64::MAX), |seen| {
                    live.clients.observe(seen);
                });
            let report = live.report("it", &Network::NONE, true);
            let both = report.client_and_server;
            assert_eq!(both.server_cpu_ms.is_some(), both.estimate_ratio.is_some());
            (report.total.server_cpu_ms, both.server_cpu_ms)
        };
        assert_eq!(server_cpu(&trace, 0), (None, None));
        let known = trace.records.len();
        trace.end();
        assert_eq!(server_cpu(&trace, known), (Some(0.001), Some(0.001)));
    }

    /// The server's last work is attributed without another message.
    #[test]
    fn active_recording_attributes_time_up_to_the_report() {
        let options = NowOptions {
            seconds: 1.0,
            frame_ms: FRAME_MS,
            basis: TimeSourceOption::Measured,
        };
        let mut live = LiveProfile::new(&parameters("1.0"), &Substitutions::default(), &options);
        let mut trace = Synthetic::new();
        trace.control(Control::Capture {
            pid: SERVER_PID,
            capture: "switches".to_owned(),
            why: None,
        });
        trace.wait(100).client_sends(&[no_operation(1)]);
        let switch = |micros: u64, kind| Switch {
            time: Timestamp::from_nanos(1_000_000_000 + micros * 1000),
            pid: SERVER_PID,
            tid: SERVER_PID,
            cpu: 0,
            kind,
        };
        let ran = vec![
            switch(110, SwitchKind::In),
            switch(150, SwitchKind::Blocked),
        ];
        trace.records.push(Record::Schedule(ran));
        let new = trace.records.iter().cloned();
        new.for_each(|record| live.feed(record));
        live.until(Timestamp::from_nanos(10_000_000_000));
        let report = |live: &mut LiveProfile| live.report("it", &Network::NONE, true).total;
        let before = report(&mut live);
        assert!((before.server_ms - 0.04).abs() < 1e-9, "{before:?}");
        live.end();
        assert_eq!(report(&mut live).server_ms, before.server_ms);
    }

    #[test]
    fn live_profile_grows_and_restarts_with_new_costs() {
        let rules = Substitutions::default();
        let mut trace = Synthetic::new();
        trace.wait(10).client_sends(&[no_operation(1)]);
        let options = NowOptions {
            seconds: 1.0,
            frame_ms: FRAME_MS,
            basis: TimeSourceOption::Auto,
        };
        let mut live = LiveProfile::new(&parameters("1.0"), &rules, &options);
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
        // The client is the same, so its earlier requests are not missing.
        let missing = after.warnings.iter().map(|warning| warning.kind);
        assert!(
            !missing
                .into_iter()
                .any(|kind| kind == crate::WarningKind::MissingRequest)
        );
    }
}
