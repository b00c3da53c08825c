//! Clients of several threads, and clients that tick: real programs, with what they measure of themselves.

use super::benchmark::{Pair, run_in};
use super::figures::{median, quantile};
use super::toolkits::Toolkit;
use super::{ensure, tried};
use crate::harness::Server;

/// How long handlers take here.
const TIMES_MS: [u64; 5] = [20, 40, 30, 60, 90];
/// The most that the middle one of the latencies may be off, in milliseconds: what a toolkit does before the
/// handler that measures is called, and after, is in it.
const MEDIAN_MS: f64 = 3.0;

/// Runs benchmarks of a toolkit with handlers that sleep and that compute: each has an episode of its
/// latency, and the culprit is what it did.
fn agree(toolkit: Toolkit, benchmarks: &[&str]) {
    let server = Server::xvfb(&[]);
    for benchmark in benchmarks {
        for (work, culprit) in [("sleep", "off_cpu"), ("compute", "client")] {
            tried(|| {
                let run = run_in(toolkit, &server, benchmark, work, &TIMES_MS);
                run.kernel.is_not_exceeded(&run.episodes);
                run.has_one_handling_each();
                let pairs = run.pairs_in_toolkit()?;
                ensure(pairs.len() + 1 == TIMES_MS.len(), || format!("{run:?}"))?;
                let errors: Vec<f64> = pairs.iter().map(|pair| pair.error_ms().abs()).collect();
                println!(
                    "{} {benchmark} {work}: off by {:.2} ms at the median, {:.2} ms at most",
                    toolkit.name(),
                    median(&errors),
                    quantile(&errors, 1.0)
                );
                ensure(median(&errors) <= MEDIAN_MS, || format!("{pairs:#?}"))?;
                let right = |pair: &Pair| pair.episode.culprit() == culprit;
                ensure(pairs.iter().all(right), || format!("{culprit}: {pairs:#?}"))
            });
        }
    }
}

#[test]
fn swing_reads_in_one_thread_and_paints_in_another() {
    agree(Toolkit::Swing, &["keyboard", "modal-dialog"]);
}

#[test]
fn tk_waits_in_one_thread_and_works_in_another() {
    agree(Toolkit::Tk, &["keyboard", "button", "modal-dialog"]);
}

#[test]
fn gtk_repaints_at_a_tick() {
    agree(Toolkit::Gtk, &["keyboard", "button", "modal-dialog"]);
}
