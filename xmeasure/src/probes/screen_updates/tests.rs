//! Recovers the deferred work of simulated servers.

use x11prof_cost_model::{Deferred, Micros};

use super::ScreenUpdates;
use crate::plan::Plan;
use crate::simulated::{calibrated, truth};

fn found(deferred: Option<Deferred>) -> Option<Deferred> {
    let mut truth = truth();
    truth.transport.as_mut().unwrap().deferred = deferred;
    let plan = Plan {
        quick: true,
        ..Plan::default()
    };
    calibrated::<ScreenUpdates>(&truth, &plan)
        .transport
        .unwrap()
        .deferred
}

fn close(found: Option<Micros>, expected: Option<Micros>, share: f64) {
    let both = found.zip(expected);
    let close = both
        .is_none_or(|(found, expected)| (found.0 - expected.0).abs() <= share * expected.0 + 1e-4);
    assert!(
        close && found.is_some() == expected.is_some(),
        "{found:?} instead of {expected:?}"
    );
}

#[test]
fn server_without_deferred_work_has_no_updates() {
    assert_eq!(found(None), None);
}

/// Xvnc with a viewer updates periodically, each changed box separately.
#[test]
fn periodic_updates_are_recovered() {
    let truth = Deferred {
        interval_us: Micros(16_000.0),
        first_us: Some(Micros::ZERO),
        update_us: Micros(140.0),
        pixel_us: Micros(0.008),
        smooth_us: Some(Micros(0.008)),
        same_us: Some(Micros::ZERO),
        ..Deferred::default()
    };
    let found = found(Some(truth)).unwrap();
    close(Some(found.interval_us), Some(truth.interval_us), 0.05);
    close(found.first_us, truth.first_us, 0.0);
    close(Some(found.update_us), Some(truth.update_us), 0.02);
    close(Some(found.pixel_us), Some(truth.pixel_us), 0.02);
    close(found.same_us, truth.same_us, 0.0);
    close(found.smooth_us, truth.smooth_us, 0.02);
}

/// Xephyr updates whenever it is idle.
#[test]
fn updates_at_every_idle_moment_are_not_recorded() {
    let truth = Deferred {
        update_us: Micros(20.0),
        pixel_us: Micros(0.002),
        first_us: Some(Micros::ZERO),
        ..Deferred::default()
    };
    assert_eq!(found(Some(truth)), None);
}
