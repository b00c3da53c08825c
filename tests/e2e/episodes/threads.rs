//! Multi-threaded clients and clients with timers: real programs, compared with their own measurements.

use super::benchmark::{Pair, run_in};
use super::figures::{median, quantile};
use super::toolkits::Toolkit;
use crate::harness::Server;

/// Durations of the handlings, in milliseconds.
const TIMES_MS: [u64; 5] = [20, 40, 30, 60, 90];
/// Maximum median error of the latencies, in milliseconds. If the toolkit measures none, it includes the toolkit's work
/// before and after the handler that measures.
const MEDIAN_MS: f64 = 3.0;

/// Runs benchmarks of a toolkit with handlers that sleep and handlers that compute. Asserts that each handling has
/// an episode of its latency and the right culprit.
fn agree(toolkit: Toolkit, benchmarks: &[&str]) {
    let server = Server::xvfb(&[]);
    for benchmark in benchmarks {
        for (work, culprit) in [("sleep", "off_cpu"), ("compute", "client")] {
            let run = run_in(toolkit, &server, benchmark, work, &TIMES_MS);
            run.kernel.is_not_exceeded(&run.episodes);
            // On a busy machine keys arrive while earlier ones are handled, so handlings cannot be paired.
            if run.disturbed_ms > TIMES_MS.iter().sum::<u64>() as f64 {
                println!("disturbed for {:.1} ms: not compared", run.disturbed_ms);
                continue;
            }
            run.has_one_handling_each();
            let pairs = run
                .pairs_in_toolkit()
                .unwrap_or_else(|wrong| panic!("{wrong}"));
            assert_eq!(pairs.len() + 1, TIMES_MS.len(), "{run:?}");
            let errors: Vec<f64> = pairs
                .iter()
                .map(|pair| pair.toolkit_error_ms().abs())
                .collect();
            println!(
                "{} {benchmark} {work}: off by {:.2} ms at the median, {:.2} ms at most; disturbed for {:.1} ms",
                toolkit.name(),
                median(&errors),
                quantile(&errors, 1.0),
                run.disturbed_ms,
            );
            assert!(
                median(&errors) <= MEDIAN_MS + run.disturbed_ms,
                "{pairs:#?}"
            );
            let right = |pair: &Pair| {
                pair.episode.culprit() == culprit
                    || run.disturbed_ms > pair.episode.latency_ms / 3.0
            };
            assert!(pairs.iter().all(right), "{culprit}: {pairs:#?}");
        }
    }
}

#[test]
fn multithreaded_swing_episodes_match_handler_times() {
    agree(Toolkit::Swing, &["keyboard", "modal-dialog"]);
}

#[test]
fn multithreaded_tk_episodes_match_handler_times() {
    agree(Toolkit::Tk, &["keyboard", "button", "modal-dialog"]);
}

#[test]
fn gtk_episodes_match_handler_times() {
    agree(Toolkit::Gtk, &["keyboard", "button", "modal-dialog"]);
}
