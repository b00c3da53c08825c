//! `episodes`: the latencies that it finds are those that programs measure of themselves (LiLa's
//! eleven micro-benchmarks, Jovic & Hauswirth 2008, Table 1), and those that are seen on the screen.

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

/// How long handlers take here; the long ones are in `cargo xtask validate episodes`.
const TIMES_MS: [u64; 4] = [30, 45, 60, 90];
/// The most that the middle one of the latencies may be off.
const MEDIAN_MS: f64 = 1.0;
/// The most that the middle one of the parts may be off.
const PARTS_MS: f64 = 1.0;

/// How often a run is tried: others on the machine, who come and go, may spoil one. What is wrong with
/// the analysis spoils all.
const TRIES: usize = 3;

/// What the first try that is well gives.
///
/// # Panics
/// With what was wrong with the last one, where none is.
fn tried<T>(mut attempt: impl FnMut() -> Result<T, String>) -> T {
    for _ in 1..TRIES {
        match attempt() {
            Ok(value) => return value,
            Err(wrong) => println!("tried again: {wrong}"),
        }
    }
    attempt().unwrap_or_else(|wrong| panic!("{TRIES} tries; the last: {wrong}"))
}

/// Fails with this unless it holds.
fn ensure(holds: bool, wrong: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(wrong()) }
}

/// Runs these benchmarks with handlers that sleep, compute and ask, a third of their time each: every
/// time that was asked for has an episode of that latency, made of the right parts.
fn agree(benchmarks: &[&str]) -> Vec<Run> {
    let server = Server::xvfb(&[]);
    let run_once = |benchmark: &&str| {
        tried(|| {
            let run = run(&server, benchmark, "mixed", &TIMES_MS);
            let pairs = run.pairs()?;
            assert_eq!(pairs.len(), TIMES_MS.len(), "{run:?}");
            agrees(&run.benchmark, &pairs)?;
            Ok(run)
        })
    };
    benchmarks.iter().map(run_once).collect()
}

fn agrees(name: &str, pairs: &[Pair]) -> Result<(), String> {
    let errors: Vec<f64> = pairs.iter().map(|pair| pair.error_ms().abs()).collect();
    // A switch takes longer while other programs share the processor: each handling by its own.
    let parts: Vec<f64> = pairs
        .iter()
        .map(|pair| parts::part_error_ms(pair, parts::switch_ms(&[pair])))
        .collect();
    println!(
        "{name}: latency off by {:.3} ms at the median, {:.3} ms at most; parts {:.3} ms",
        median(&errors),
        quantile(&errors, 1.0),
        median(&parts),
    );
    ensure(median(&errors) <= MEDIAN_MS, || {
        format!("{name}: latency: {pairs:#?}")
    })?;
    ensure(median(&parts) <= PARTS_MS, || {
        format!("{name}: parts: {pairs:#?}")
    })?;
    for Pair { episode, .. } in pairs {
        let sum = episode.parts_ms();
        assert!((sum - episode.latency_ms).abs() < 0.001, "{episode:?}");
    }
    let missed: Vec<f64> = pairs.iter().map(parts::missed_round_trips).collect();
    ensure(median(&missed) <= 1.0, || {
        format!("{name}: round trips: {pairs:#?}")
    })
}

/// All have this trigger.
fn triggered(runs: &[Run], trigger: &str) {
    for Pair { episode, .. } in runs.iter().filter_map(|run| run.pairs().ok()).flatten() {
        assert_eq!(episode.trigger, trigger, "{episode:?}");
    }
}

#[test]
fn keyboard_motion_and_button() {
    let runs = agree(&["keyboard", "motion", "button"]);
    triggered(&runs, "input");
}

#[test]
fn painting() {
    let runs = agree(&["painting"]);
    triggered(&runs, "output");
}

#[test]
fn timer() {
    let runs = agree(&["timer"]);
    triggered(&runs, "asynchronous");
}

#[test]
fn menu_and_combo_box() {
    let runs = agree(&["menu", "combo-box"]);
    triggered(&runs, "input");
}

#[test]
fn two_frames_and_a_non_modal_dialog() {
    let runs = agree(&["two-frames", "non-modal-dialog"]);
    triggered(&runs, "input");
}

#[test]
fn the_time_that_a_person_thinks_over_a_modal_dialog_is_nobodys() {
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
        tried(|| {
            let run = run(&server, "keyboard", work, &[20, 60, 100]);
            let pairs = run.pairs()?;
            agrees(&run.benchmark, &pairs)?;
            let named = |pair: &Pair| culprits.contains(&pair.episode.culprit.as_str());
            ensure(pairs.iter().all(named), || format!("{work}: {pairs:#?}"))
        });
    }
}

/// Drawing that nobody waits for, as a client sees it that looks at the screen only.
#[test]
fn drawing_ends_when_it_is_seen() {
    let server = Server::xvfb(&[]);
    tried(|| {
        let seen = screen::watch_microbench(&server, "draw", &[12, 30, 60, 90]);
        let compared = screen::Compared::of(&seen, screen::Frames::OneResponse);
        ensure(compared.same() == 4 && compared.median_ms() <= 3.0, || {
            format!("{seen:#?}")
        })?;
        for one in seen.iter().filter(|one| one.event == "key:38") {
            let episode = one.episode.as_ref().expect("an episode");
            ensure(episode.culprit == "server", || format!("{one:?}"))?;
        }
        Ok(())
    });
}
