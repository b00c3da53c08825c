//! Pages of played sessions.

use x11prof_analyzer::{PartsReport, PlayedAction, PlaysReport};

use super::{csv, keys, text};
use crate::page::Page;

fn play(latencies: &[Option<f64>]) -> Vec<PlayedAction> {
    let actions = ["type \"h\"", "key ctrl+s", "click 1 10 10"];
    let list = actions.iter().zip(latencies).zip(1..);
    list.map(|((action, latency), number)| PlayedAction {
        number,
        drew_later_ms: (number == 2).then_some(48.0),
        action: (*action).to_owned(),
        latency: latency.map(|latency| {
            let parts = PartsReport {
                waiting_ms: 0.1,
                client_ms: latency - 0.3,
                off_cpu_ms: 0.0,
                server_ms: 0.2,
                network_ms: 0.0,
                other_clients_ms: 0.0,
            };
            (latency, parts)
        }),
    })
    .collect()
}

fn report() -> PlaysReport {
    PlaysReport::new(vec![
        (
            "play-1.mcap".to_owned(),
            play(&[Some(9.0), Some(80.0), None]),
        ),
        (
            "play-2.mcap".to_owned(),
            play(&[Some(1.0), Some(41.5), None]),
        ),
        (
            "play-3.mcap".to_owned(),
            play(&[Some(2.0), Some(40.0), None]),
        ),
    ])
}

#[test]
fn action_latencies_exclude_the_first_run() {
    insta::assert_snapshot!(text(&report(), &Page::default()));
}

#[test]
fn key_report_shows_the_latency_distribution() {
    let report = PlaysReport::new(vec![(
        "type.mcap".to_owned(),
        play(&[Some(1.0), Some(2.5), None]),
    )]);
    insta::assert_snapshot!(keys(&report, &Page::default()));
}

#[test]
fn csv_has_a_row_per_action_and_run() {
    insta::assert_snapshot!(csv(&report()));
}
