//! The toolkit tables of `cargo xtask validate episodes toolkits` and `… idle`.

use serde_json::{Value, json};

use super::benchmark::{BENCHMARKS, Pair, run_in};
use super::figures::{median, quantile};
use super::table::{MEDIAN_MS, P95_MS, TIMES_MS, WORKS, keep};
use super::toolkits::{TOOLKITS, Toolkit};
use crate::harness::Server;

/// The toolkits named in the arguments of `cargo xtask validate episodes toolkits`, or all.
fn wanted() -> Vec<Toolkit> {
    let named = std::env::var("X11PROF_EPISODES_BENCHMARKS").unwrap_or_default();
    let named: Vec<&str> = named.split_whitespace().collect();
    let is = |toolkit: &Toolkit| named.iter().any(|name| toolkit.name().starts_with(name));
    let all = TOOLKITS.into_iter();
    all.filter(|toolkit| named.is_empty() || is(toolkit))
        .collect()
}

/// A handling with its benchmark and its kind of work.
type Done = (&'static str, &'static str, Pair);

/// True if the culprit is the handler's longest activity. `None` if the handler did not measure that, if the
/// handler is less than half of the toolkit's time, or if two parts may be the largest.
fn right(toolkit: Toolkit, (_, work, pair): &Done) -> Option<bool> {
    let truth = &pair.truth;
    let of_all = truth.toolkit.map_or(0.0, |toolkit| toolkit.latency_ms());
    if truth.latency_ms < of_all * 0.75 {
        return None;
    }
    let culprit = match *work {
        "sleep" => "off_cpu",
        "compute" => "client",
        "read-back" => "server",
        _ if toolkit == Toolkit::Tk => return None,
        // Work of another thread overlaps the handler's waits or its own work.
        _ if truth.waited_ms - truth.beside_ms > truth.latency_ms / 2.0 => "server",
        _ if truth.waited_ms < truth.latency_ms / 2.0 => "client",
        _ => return None,
    };
    Some(pair.episode.culprit() == culprit)
}

fn row(name: &str, toolkit: Toolkit, done: &[&Done]) -> String {
    let of = |value: fn(&Pair) -> f64| -> Vec<f64> {
        done.iter().map(|(_, _, pair)| value(pair)).collect()
    };
    let (errors, dispatched) = (
        of(|pair| pair.error_ms().abs()),
        of(|pair| pair.toolkit_error_ms().abs()),
    );
    let judged: Vec<bool> = done.iter().filter_map(|one| right(toolkit, one)).collect();
    format!(
        "| {name} | {} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {} of {} | {} |",
        done.len(),
        median(&of(|pair| pair.truth.latency_ms)),
        median(&of(Pair::ours_ms)),
        median(&errors),
        quantile(&errors, 0.95),
        median(&dispatched),
        quantile(&dispatched, 0.95),
        quantile(&dispatched, 1.0),
        judged.iter().filter(|right| **right).count(),
        judged.len(),
        done.iter()
            .filter(|(_, _, pair)| pair.episode.unsure)
            .count(),
    )
}

#[test]
#[ignore = "takes minutes; cargo xtask validate episodes"]
fn toolkit_benchmark_episodes_match_handlers() {
    let server = Server::xvfb(&[]);
    for toolkit in wanted() {
        let mut all: Vec<Done> = Vec::new();
        println!(
            "\n| {} | handlings | handler, ms | ours, ms | off the handler: median, ms | 95th percentile, ms | off the toolkit: median, ms | 95th percentile, ms | greatest, ms | right culprit | unsure |\n\
             |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
            toolkit.name()
        );
        for benchmark in BENCHMARKS {
            // The first handling absorbs loading and compiling. Only one benchmark runs one-second handlings.
            let most = if benchmark == "keyboard" { 1000 } else { 300 };
            let times = TIMES_MS.into_iter().filter(|time| *time <= most);
            let times: Vec<u64> = [10].into_iter().chain(times).collect();
            for work in WORKS {
                let run = run_in(toolkit, &server, benchmark, work, &times);
                run.kernel.is_not_exceeded(&run.episodes);
                run.has_one_handling_each();
                let pairs = run
                    .pairs_in_toolkit()
                    .expect("each handling has an episode");
                all.extend(pairs.into_iter().map(|pair| (benchmark, work, pair)));
            }
            let these: Vec<&Done> = all.iter().filter(|one| one.0 == benchmark).collect();
            println!("{}", row(benchmark, toolkit, &these));
        }
        let of = |wanted: &dyn Fn(&Done) -> bool| all.iter().filter(|one| wanted(one)).collect();
        let print = |name: &str, done: Vec<&Done>| println!("{}", row(name, toolkit, &done));
        for work in WORKS {
            print(work, of(&|one| one.1 == work));
        }
        print("all", of(&|_| true));
        keep(
            "toolkits",
            toolkit.name(),
            all.iter().map(figures).collect(),
        );
        for one in &all {
            if one.2.toolkit_error_ms().abs() > P95_MS || right(toolkit, one) == Some(false) {
                println!("far off: {one:?}");
            }
        }
        let errors = all.iter().map(|one| one.2.toolkit_error_ms().abs());
        let errors: Vec<f64> = errors.collect();
        assert!(median(&errors) <= MEDIAN_MS, "the median");
        assert!(quantile(&errors, 0.95) <= P95_MS, "the 95th percentile");
    }
}

fn figures((benchmark, work, pair): &Done) -> Value {
    json!({
        "benchmark": benchmark, "work": work, "asked_ms": pair.truth.asked_ms,
        "truth_ms": pair.truth.latency_ms, "toolkit_ms": pair.truth.toolkit.map(|toolkit| toolkit.latency_ms()),
        "off_the_toolkit_ms": pair.toolkit_error_ms(), "ours_ms": pair.ours_ms(),
        "culprit": pair.episode.culprit, "landmark": pair.episode.landmark,
        "unsure": pair.episode.unsure,
    })
}
