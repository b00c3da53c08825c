//! `episodes`: the latencies that it finds are those that programs measure of themselves (LiLa's
//! eleven micro-benchmarks, Jovic & Hauswirth 2008, Table 1), and those that are seen on the screen.
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test that cannot go on says why and fails; with --nocapture it shows its figures"
)]

mod benchmark;
mod figures;
#[path = "../harness/mod.rs"]
mod harness;
mod parts;
mod screen;
mod table;

use benchmark::{Pair, Run, run};
use figures::{median, quantile};
use harness::Server;

/// How long handlers take here; the long ones are in `cargo xtask validate episodes`.
const TIMES_MS: [u64; 4] = [30, 45, 60, 90];
/// The most that the middle one of the latencies may be off.
const MEDIAN_MS: f64 = 1.0;
/// The most that the middle one of the parts may be off.
const PARTS_MS: f64 = 1.0;
/// The most round trips that may be missed, as a share of all.
const MISSED: f64 = 0.02;

/// Runs these benchmarks with handlers that sleep, compute and ask, a third of their time each.
fn runs(benchmarks: &[&str]) -> Vec<Run> {
    let server = Server::xvfb(&[]);
    benchmarks
        .iter()
        .map(|benchmark| run(&server, benchmark, "mixed", &TIMES_MS))
        .collect()
}

/// Every time that was asked for has an episode of that latency, made of the right parts.
fn agree(runs: &[Run]) {
    for run in runs {
        let pairs = run.pairs();
        assert_eq!(pairs.len(), TIMES_MS.len(), "{run:?}");
        agrees(&run.benchmark, &pairs);
    }
}

fn agrees(name: &str, pairs: &[Pair]) {
    let errors: Vec<f64> = pairs.iter().map(|pair| pair.error_ms().abs()).collect();
    let switch_ms = parts::switch_ms(&pairs.iter().collect::<Vec<_>>());
    let parts: Vec<f64> = pairs
        .iter()
        .map(|pair| parts::part_error_ms(pair, switch_ms))
        .collect();
    println!(
        "{name}: latency off by {:.3} ms at the median, {:.3} ms at most; parts {:.3} ms, a switch {switch_ms:.4} ms",
        median(&errors),
        quantile(&errors, 1.0),
        median(&parts),
    );
    assert!(median(&errors) <= MEDIAN_MS, "{name}: {pairs:#?}");
    assert!(median(&parts) <= PARTS_MS, "{name}: {pairs:#?}");
    for Pair { episode, .. } in pairs {
        let sum = episode.parts_ms();
        assert!((sum - episode.latency_ms).abs() < 0.001, "{episode:?}");
    }
    // A reply that is there before its client waits for it is no round trip to the analysis.
    let missed: Vec<f64> = pairs
        .iter()
        .map(|Pair { truth, episode }| {
            episode.round_trips.abs_diff(truth.round_trips) as f64
                - truth.round_trips as f64 * MISSED
        })
        .collect();
    assert!(median(&missed) <= 1.0, "{name}: {pairs:#?}");
}

/// All have this trigger.
fn triggered(runs: &[Run], trigger: &str) {
    for Pair { episode, .. } in runs.iter().flat_map(Run::pairs) {
        assert_eq!(episode.trigger, trigger, "{episode:?}");
    }
}

#[test]
fn keyboard_motion_and_button() {
    let runs = runs(&["keyboard", "motion", "button"]);
    agree(&runs);
    triggered(&runs, "input");
}

#[test]
fn painting() {
    let runs = runs(&["painting"]);
    agree(&runs);
    triggered(&runs, "output");
}

#[test]
fn timer() {
    let runs = runs(&["timer"]);
    agree(&runs);
    triggered(&runs, "asynchronous");
}

#[test]
fn menu_and_combo_box() {
    let runs = runs(&["menu", "combo-box"]);
    agree(&runs);
    triggered(&runs, "input");
}

#[test]
fn two_frames_and_a_non_modal_dialog() {
    let runs = runs(&["two-frames", "non-modal-dialog"]);
    agree(&runs);
    triggered(&runs, "input");
}

#[test]
fn the_time_that_a_person_thinks_over_a_modal_dialog_is_nobodys() {
    let runs = runs(&["modal-dialog", "built-in-dialog"]);
    agree(&runs);
    triggered(&runs, "input");
    for run in &runs {
        let asked: Vec<_> = run
            .truths
            .iter()
            .filter(|truth| truth.asked_ms.is_some())
            .collect();
        for pair in asked.windows(2) {
            let [before, after] = pair else { continue };
            // Half way between is thinking, whatever the short actions around it.
            let thinking = (before.end_ms() + after.begin_ms) / 2.0;
            let charged = run.episodes.iter().find(|episode| {
                (episode.start_ms - 10.0..episode.end_ms() + 10.0).contains(&thinking)
                    && episode.latency_ms > 10.0
            });
            assert!(charged.is_none(), "{thinking} ms: {charged:?} of {run:#?}");
        }
    }
}

/// The one thing that a handler does is what its episode is said to be spent on.
#[test]
fn each_kind_of_work_is_named_the_culprit() {
    let server = Server::xvfb(&[]);
    for (work, culprits) in [
        ("sleep", &["off_cpu"][..]),
        ("compute", &["client"]),
        ("read-back", &["server"]),
        ("round-trips", &["server", "network"]),
    ] {
        let run = run(&server, "keyboard", work, &[20, 60, 100]);
        let pairs = run.pairs();
        agrees(&run.benchmark, &pairs);
        for pair in &pairs {
            let culprit = pair.episode.culprit.as_str();
            assert!(culprits.contains(&culprit), "{pair:#?}");
        }
    }
}

/// Drawing that nobody waits for, as a client sees it that looks at the screen only.
#[test]
fn drawing_ends_when_it_is_seen() {
    let server = Server::xvfb(&[]);
    let seen = screen::watch_microbench(&server, "draw", &[12, 30, 60, 90]);
    let compared = screen::Compared::of(&seen, screen::Frames::OneResponse);
    assert_eq!(compared.same(), 4, "{seen:#?}");
    assert!(compared.median_ms() <= 3.0, "{seen:#?}");
    for one in seen.iter().filter(|one| one.event == "key:38") {
        let episode = one.episode.as_ref().expect("an episode");
        assert_eq!(episode.culprit, "server", "{one:?}");
    }
}
