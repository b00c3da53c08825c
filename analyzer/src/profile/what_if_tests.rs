//! Tests of what-if factors and groups: small traces with exact results.

use x11prof_cost_model::{Network, ServerParameters, Substitutions};

use crate::profile::Profile;
use crate::profile::groups::By;
use crate::profile::report::ProfileReport;
use crate::profile::scales::{Scale, Scales};
use crate::testing::*;
use x11prof_server_model::TransportPart;

const SERVER: &str = r#"
format = 1

[server]
name = "tiny"

[transport]
wakeup = { cpu_us = 10.0 }
byte_read = { cpu_us = 0.01 }
reply = { cpu_us = 3.0 }
event = { cpu_us = 1.0 }

[[request]]
name = "NoOperation"
points = [{ size = 0.0, cpu_us = 0.5 }]

[[request]]
name = "GetInputFocus"
points = [{ size = 0.0, cpu_us = 2.0 }]
"#;

fn profile(scales: &[&str]) -> Profile {
    let parameters = ServerParameters::from_toml(SERVER).unwrap();
    let scales = scales.iter().map(|text| Scale::parse(text).unwrap());
    Profile::new(&parameters, &Substitutions::default()).scaled(Scales::new(scales))
}

fn run(trace: &Synthetic, mut profile: Profile) -> (ProfileReport, Profile) {
    let summary = trace.run(&mut profile);
    let network = Network::parse("1KB/s,20ms").unwrap();
    (
        ProfileReport::new("tiny.mcap", &summary, &profile, &network),
        profile,
    )
}

/// A batch of a round trip and ten NoOperation, then a round trip alone.
fn trace() -> Synthetic {
    let mut trace = Synthetic::new();
    let batch = [vec![get_input_focus()], vec![no_operation(1); 10]].concat();
    trace.wait(1000).client_sends(&batch);
    trace.wait(50).server_sends(&[reply(1)]);
    trace.wait(1000).client_sends(&[get_input_focus()]);
    trace.wait(50).server_sends(&[reply(12)]);
    trace.end();
    trace
}

#[test]
fn scale_factor_applies_to_server_time_only() {
    let (report, _) = run(&trace(), profile(&["NoOp*=0.5"]));
    let line = report
        .requests
        .iter()
        .find(|line| line.name == "NoOperation")
        .unwrap();
    assert_eq!((line.count, line.bytes), (10, 40));
    assert_eq!((line.server_ms, line.network_ms), (0.0025, 40.0));
    assert_eq!(report.scaled[0].requests, 10);
}

#[test]
fn request_scaled_to_zero_is_removed() {
    let (all, before) = run(&trace(), profile(&[]));
    let (report, after) = run(&trace(), profile(&["GetInputFocus=0"]));
    assert_eq!(report.scaled[0].requests, 2);
    assert_eq!((report.total.count, report.total.bytes), (10, 40));
    assert_eq!(report.requests.len(), 1);
    assert_eq!(report.transport.replies, 0);
    // The wake-ups of the setup and of the batch remain; the wake-up of the round trip alone does not.
    let wakeups = |profile: &Profile| profile.transport(TransportPart::Wakeup).count;
    assert_eq!((wakeups(&before), wakeups(&after)), (3, 2));
    // The batch's wake-up now belongs to its remaining request.
    assert_eq!(report.requests[0].transport_ms, 0.0104);
    let difference = all.transport.wakeup_ms - report.transport.wakeup_ms;
    assert!((difference - 0.01).abs() < 1e-9, "{difference}");
}

#[test]
fn groups_sum_to_the_requests() {
    let mut trace = trace();
    trace.records.truncate(trace.records.len() - 2);
    trace.client_sends(&[map_window(ROOT), request(18, 0, &[ROOT, 39, 31, 8, 0])]);
    trace.server_sends(&[expose(14)]).end();
    for (by, names) in [
        (By::Client, vec!["xtex (client 1)"]),
        (By::Window, vec!["(no window)", "0x00000100 root window"]),
        (
            By::Drawable,
            vec!["(no drawable)", "0x00000100 root window"],
        ),
        (By::Atom, vec!["(no atom)", "WM_NAME"]),
    ] {
        let (report, _) = run(&trace, profile(&[]).grouped(by));
        let groups = report.groups.unwrap();
        let listed: Vec<&str> = groups.lines.iter().map(|line| line.name.as_str()).collect();
        assert_eq!(listed, names, "{by:?}");
        let count: u64 = groups.lines.iter().map(|line| line.count).sum();
        assert_eq!(count, report.total.count);
        let time: f64 = groups.lines.iter().map(|line| line.time_ms).sum();
        let requests: f64 = report.requests.iter().map(|line| line.time_ms).sum();
        assert!((time - requests).abs() < 1e-9);
    }
}
