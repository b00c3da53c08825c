//! Calibration of a real server, in small: Xvfb must be installed.

#![expect(
    clippy::unwrap_used,
    reason = "what a test cannot set up fails the test"
)]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use x11prof_proxy::{DisplayName, ServerLink};
use x11prof_xmeasure::{MeasureError, Plan, Target, measure};

/// A private Xvfb on a display number of its own choice. It ends with the test.
struct Xvfb {
    process: Child,
    display: String,
}

impl Xvfb {
    fn start() -> Xvfb {
        let mut process = Command::new("Xvfb")
            .args([
                "-displayfd",
                "1",
                "-screen",
                "0",
                "1024x768x24",
                "-nolisten",
                "tcp",
                "-noreset",
            ])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut number = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut number)
            .unwrap();
        Xvfb {
            process,
            display: format!(":{}", number.trim()),
        }
    }
}

impl Drop for Xvfb {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn target(display: &str) -> Target {
    let name = DisplayName::parse(display).unwrap();
    Target::new(ServerLink::new(name, None)).unwrap()
}

fn plan(only: &[&str]) -> Plan {
    Plan {
        quick: true,
        only: only.iter().map(|name| (*name).into()).collect(),
        ..Plan::default()
    }
}

#[test]
fn requested_operations_are_measured_by_server_cpu_clock() {
    let server = Xvfb::start();
    let plan = plan(&["NoOperation", "PolyFillRectangle"]);
    let (mut last, mut phases) = (0.0, Vec::new());
    let parameters = measure(&target(&server.display), &plan, None, &mut |progress| {
        assert!((last..=1.0).contains(&progress.share), "{progress:?}");
        last = progress.share;
        phases.push(progress.phase.to_owned());
    })
    .unwrap();
    phases.dedup();
    assert_eq!(phases[0], "preparing");
    assert!(phases.contains(&"measuring".to_owned()), "{phases:?}");
    assert_eq!(
        phases.last().map(String::as_str),
        Some("sleeps and wakeups")
    );
    assert_eq!(parameters.server.executable.as_deref(), Some("Xvfb"));
    assert_eq!(parameters.server.depth, Some(24));
    let transport = parameters.transport.unwrap();
    let wakeup = transport.wakeup.cpu_us.unwrap();
    let names: Vec<_> = parameters
        .requests
        .iter()
        .map(|costs| costs.name.as_str())
        .collect();
    assert!(names.contains(&"NoOperation") && names.contains(&"PolyFillRectangle"));
    for costs in &parameters.requests {
        assert!(["NoOperation", "PolyFillRectangle"].contains(&costs.name.as_str()));
        assert!(
            costs
                .points
                .iter()
                .all(|point| point.cpu_us.is_some() && point.wall_us.is_none())
        );
        assert!(costs.points.is_sorted_by(|a, b| a.size < b.size));
        if costs.name == "NoOperation" {
            // The reason for a transport part: waking up outweighs the operation by far.
            assert!(costs.points[0].cpu_us.unwrap().0 * 10.0 < wakeup.0);
        } else {
            assert!(costs.fixed.is_some());
            let (first, last) = (costs.points.first().unwrap(), costs.points.last().unwrap());
            assert!(first.cpu_us < last.cpu_us);
        }
    }
}

/// Descriptors go both ways: with AttachFd, and with CreateSegment's reply.
#[test]
fn requests_with_file_descriptors_are_measured() {
    let server = Xvfb::start();
    let names = ["MIT-SHM:AttachFd", "MIT-SHM:CreateSegment"];
    let target = target(&server.display);
    let parameters = measure(&target, &plan(&names), None, &mut |_| {}).unwrap();
    for name in names {
        let mut requests = parameters.requests.iter();
        let costs = requests.find(|costs| costs.name == name).unwrap();
        assert!(costs.points[0].cpu_us.unwrap().0 > 0.0, "{name}");
    }
}

#[test]
fn server_crash_keeps_partial_results() {
    let mut server = Xvfb::start();
    let target = target(&server.display);
    let mut measured = 0;
    let result = measure(&target, &plan(&["NoOperation"]), None, &mut |progress| {
        measured += usize::from(progress.phase == "measuring");
        if measured == 20 {
            let _ = server.process.kill();
        }
    });
    match result {
        Err(MeasureError::ServerGone { partial }) => {
            assert!(partial.transport.is_some());
            assert!(
                partial
                    .requests
                    .iter()
                    .any(|costs| costs.name == "NoOperation")
            );
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn unknown_request_error_names_the_request() {
    let server = Xvfb::start();
    let error = measure(
        &target(&server.display),
        &plan(&["PolyLion"]),
        None,
        &mut |_| {},
    )
    .unwrap_err();
    assert!(error.to_string().contains("PolyLion"));
}
