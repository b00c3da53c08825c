//! `episodes`: the latencies equal those that programs measure themselves (LiLa's eleven micro-benchmarks, Jovic &
//! Hauswirth 2008, Table 1) and those observed on the screen.

mod benchmark;
mod figures;
mod idle;
mod kernel;
mod parts;
mod programs;
mod screen;
mod table;
mod table_toolkits;
mod threads;
mod toolkits;

use crate::harness::Server;
use benchmark::{Pair, Run, run};
use figures::{median, quantile};

/// Handling durations in milliseconds; `cargo xtask validate episodes` uses longer ones.
const TIMES_MS: [u64; 4] = [30, 45, 60, 90];
/// Maximum median error of the latencies, in milliseconds.
const MEDIAN_MS: f64 = 1.0;
/// Maximum median error of the parts, in milliseconds.
const PARTS_MS: f64 = 1.0;

/// Runs these benchmarks with handlers that sleep, compute and make round trips for a third of their time each.
/// Asserts that every requested duration has an episode of that latency with the right parts.
fn agree(benchmarks: &[&str]) -> Vec<Run> {
    let server = Server::xvfb(&[]);
    let run_once = |benchmark: &&str| {
        let run = run(&server, benchmark, "mixed", &TIMES_MS);
        assert_eq!(agreeing(&run).len(), TIMES_MS.len(), "{run:?}");
        run
    };
    benchmarks.iter().map(run_once).collect()
}

/// The handlings with their episodes. Asserts that they agree to [`MEDIAN_MS`], plus the time that other load kept
/// the test's processes off the processors.
fn agreeing(run: &Run) -> Vec<Pair> {
    let (name, disturbed_ms) = (&run.benchmark, run.disturbed_ms);
    let pairs = run.pairs().unwrap_or_else(|wrong| panic!("{wrong}"));
    let errors: Vec<f64> = pairs.iter().map(|pair| pair.error_ms().abs()).collect();
    // A context switch takes longer on a busy machine, so each handling is corrected by its own switch time.
    let parts: Vec<f64> = pairs
        .iter()
        .map(|pair| parts::part_error_ms(pair, parts::switch_ms(&[pair])))
        .collect();
    println!(
        "{name}: latency off by {:.3} ms at the median, {:.3} ms at most; parts {:.3} ms; disturbed for {disturbed_ms:.1} ms",
        median(&errors),
        quantile(&errors, 1.0),
        median(&parts),
    );
    assert!(
        median(&errors) <= MEDIAN_MS + disturbed_ms,
        "{name}: latency: {pairs:#?}"
    );
    assert!(
        median(&parts) <= PARTS_MS + disturbed_ms,
        "{name}: parts: {pairs:#?}"
    );
    for Pair { episode, .. } in &pairs {
        let sum = episode.parts_ms();
        assert!((sum - episode.latency_ms).abs() < 0.001, "{episode:?}");
    }
    if disturbed_ms == 0.0 {
        let missed: Vec<f64> = pairs.iter().map(parts::missed_round_trips).collect();
        assert!(median(&missed) <= 1.0, "{name}: round trips: {pairs:#?}");
    }
    pairs
}

/// Asserts that all episodes have this trigger.
fn triggered(runs: &[Run], trigger: &str) {
    for Pair { episode, .. } in runs.iter().filter_map(|run| run.pairs().ok()).flatten() {
        assert_eq!(episode.trigger, trigger, "{episode:?}");
    }
}

#[test]
fn key_motion_and_button_episodes_match_handler_times() {
    let runs = agree(&["keyboard", "motion", "button"]);
    triggered(&runs, "input");
}

#[test]
fn painting_episodes_match_handler_times() {
    let runs = agree(&["painting"]);
    triggered(&runs, "output");
}

#[test]
fn timer_episodes_match_handler_times() {
    let runs = agree(&["timer"]);
    triggered(&runs, "asynchronous");
}

#[test]
fn menu_and_combo_box_episodes_match_handler_times() {
    let runs = agree(&["menu", "combo-box"]);
    triggered(&runs, "input");
}

#[test]
fn multi_window_episodes_match_handler_times() {
    let runs = agree(&["two-frames", "non-modal-dialog"]);
    triggered(&runs, "input");
}

#[test]
fn user_think_time_in_modal_dialog_is_in_no_episode() {
    let runs = agree(&["modal-dialog", "built-in-dialog"]);
    triggered(&runs, "input");
    for run in &runs {
        let asked: Vec<_> = run
            .truths
            .iter()
            .filter(|truth| truth.asked_ms.is_some())
            .collect();
        for pair in asked.windows(2) {
            let [before, after] = pair else { continue };
            // The midpoint between two actions is think time, whatever short actions happen around it.
            let thinking = (before.end_ms() + after.begin_ms) / 2.0;
            let charged = run.episodes.iter().find(|episode| {
                (episode.start_ms - 10.0..episode.end_ms() + 10.0).contains(&thinking)
                    && episode.latency_ms > 10.0
            });
            assert!(charged.is_none(), "{thinking} ms: {charged:?} of {run:#?}");
        }
    }
}

/// Each handler does one kind of work, and its episode must name that kind as the culprit.
#[test]
fn each_kind_of_work_has_the_expected_culprit() {
    let server = Server::xvfb(&[]);
    for (work, culprits) in [
        ("sleep", &["off_cpu"][..]),
        ("compute", &["client"]),
        ("read-back", &["server"]),
        ("round-trips", &["server", "network"]),
    ] {
        let run = run(&server, "keyboard", work, &[20, 60, 100]);
        for pair in agreeing(&run) {
            let named = culprits.contains(&pair.episode.culprit.as_str());
            // If other load kept the client off the processors for that long, another culprit is valid.
            let others = run.disturbed_ms > pair.episode.latency_ms / 3.0;
            assert!(named || others, "{work}: {pair:#?}");
        }
    }
}

/// The handler draws without a round trip; a screen watcher measures when the drawing appears.
#[test]
fn drawing_episode_ends_when_the_screen_changes() {
    let server = Server::xvfb(&[]);
    let (seen, disturbed_ms) = screen::watch_microbench(&server, "draw", &[12, 30, 60, 90]);
    let compared = screen::Compared::of(&seen, screen::Frames::OneResponse);
    println!("disturbed for {disturbed_ms:.1} ms: {seen:#?}");
    assert!(compared.same() == 4 || disturbed_ms > 0.0);
    assert!(compared.median_ms() <= 3.0 + disturbed_ms);
    for one in seen.iter().filter(|one| one.event == "key:38") {
        let episode = one.episode.as_ref().expect("an episode");
        let others = disturbed_ms > episode.latency_ms / 3.0;
        assert!(episode.culprit == "server" || others, "{one:?}");
    }
}
