//! `cargo xtask validate ablate`: the benefit of each term of the model.
//!
//! Uses the recordings of the last `validate division`, with all terms and with each term removed. Compares costs with
//! the kernel's clock (after removing the machine's factor), and shares of time with those of measured handler times. A
//! term should be removed if it does not reduce an error by more than the error's spread.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use x11prof_analyzer::{Profile, TimeSourceOption, profile_trace};
use x11prof_cost_model::{ServerParameters, Substitutions, built_in};
use x11prof_proxy::ServerKind;
use x11prof_trace::Reader;

use super::division::{self, Recorded};
use super::programs::PROGRAMS;
use super::refit::SHOWN;
use super::{median, reported};
use xtask::run::target;

/// The servers that may have been recorded, with their cost tables.
const KINDS: [(ServerKind, &str); 2] = [
    (ServerKind::Xvfb, "xvfb-24"),
    (ServerKind::Xephyr, "xephyr"),
];

/// A term: its name, and a function that removes it.
type Term = (&'static str, fn(&mut ServerParameters));

const TERMS: &[Term] = &[
    ("(nothing left out)", |_| {}),
    ("wakeup: by how long the server slept", |params| {
        params.each_sleep(|points| {
            let first = points.first().map(|point| point.wakeup_us);
            points
                .iter_mut()
                .for_each(|point| point.wakeup_us = first.unwrap_or_default());
        });
    }),
    ("cache: cold pixels", |params| {
        params.each_sleep(|points| {
            points
                .iter_mut()
                .for_each(|point| point.megapixel_us = None);
        });
    }),
];

/// The errors of a program's figures.
struct Errors {
    /// The ratio of estimated costs to the kernel's clock.
    ratio: f64,
    /// The largest error of the shares of the most expensive requests, in percentage points.
    share: f64,
}

/// Prints the table.
pub(crate) fn validate() -> Result<(), String> {
    let folder = target().join("validate/division");
    let mut none = true;
    for (kind, parameters) in KINDS {
        let recorded: Vec<Recorded<'_>> = PROGRAMS
            .iter()
            .map(|program| (program, kind))
            .filter(|program| division::times(*program, &folder).exists())
            .collect();
        if !recorded.is_empty() {
            none = false;
            println!("\n{} programs on {kind}\n", recorded.len());
            table(&recorded, &folder, parameters)?;
        }
    }
    match none {
        true => {
            Err("there are no recordings: `cargo xtask validate division` makes them".to_owned())
        }
        false => Ok(()),
    }
}

fn table(recorded: &[Recorded<'_>], folder: &Path, parameters: &str) -> Result<(), String> {
    let known = built_in().iter().find(|known| known.name == parameters);
    let known = known.ok_or_else(|| format!("no parameters {parameters}"))?;
    let all = known.parameters().map_err(reported)?;
    println!(
        "| left out | costs: median error, % | new programs | shares: median of the largest difference, % | new programs |"
    );
    println!("|---|---:|---:|---:|---:|");
    let mut whole: Option<Vec<Errors>> = None;
    for (name, leave_out) in TERMS {
        let mut parameters = all.clone();
        leave_out(&mut parameters);
        if whole.is_some() && parameters == all {
            continue;
        }
        let errors: Result<Vec<Errors>, String> = recorded
            .iter()
            .map(|program| errors(*program, folder, &parameters))
            .collect();
        let errors = errors?;
        let row = |of: &dyn Fn(&[Errors]) -> Vec<f64>| {
            let now = of(&errors);
            let before = whole.as_deref().map(of);
            let is_new = |at: &usize| recorded[*at].0.new;
            [
                cell(&now, before.as_deref(), &|_| true),
                cell(&now, before.as_deref(), &is_new),
            ]
            .join(" | ")
        };
        println!("| {name} | {} | {} |", row(&spread), row(&shares));
        whole = whole.or(Some(errors));
    }
    Ok(())
}

/// The difference between each program's ratio and the median, in percent. The median is the machine's factor.
fn spread(errors: &[Errors]) -> Vec<f64> {
    let middle = median(errors.iter().map(|error| error.ratio.ln()));
    let far = |error: &Errors| 100.0 * ((error.ratio.ln() - middle).abs().exp() - 1.0);
    errors.iter().map(far).collect()
}

fn shares(errors: &[Errors]) -> Vec<f64> {
    errors.iter().map(|error| error.share).collect()
}

/// The median of the chosen values, and its increase over `before` with the spread of that increase by chance: half of
/// the middle two thirds over bootstrap samples of the programs.
fn cell(now: &[f64], before: Option<&[f64]>, chosen: &dyn Fn(&usize) -> bool) -> String {
    let at: Vec<usize> = (0..now.len()).filter(chosen).collect();
    let of = |values: &[f64], at: &[usize]| median(at.iter().map(|at| values[*at]));
    let Some(before) = before else {
        return format!("{:.1}", of(now, &at));
    };
    let mut state = 1_u64;
    let mut drawn = || -> Vec<usize> {
        let mut one = || {
            // Knuth's generator with a fixed seed, so that the table is the same in each run.
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            at[(state >> 33) as usize % at.len()]
        };
        (0..at.len()).map(|_| one()).collect()
    };
    let differences: Vec<f64> = (0..1000)
        .map(|_| {
            let at = drawn();
            of(now, &at) - of(before, &at)
        })
        .collect();
    let by_chance =
        (super::quantile(&differences, 0.84) - super::quantile(&differences, 0.16)) / 2.0;
    let more = of(now, &at) - of(before, &at);
    format!("{:.1} ({more:+.1} ± {by_chance:.1})", of(now, &at))
}

fn errors(
    program: Recorded<'_>,
    folder: &Path,
    parameters: &ServerParameters,
) -> Result<Errors, String> {
    let trace = division::trace(program, folder);
    let truth = division::truth(&trace, &division::times(program, folder))?;
    let rules = Substitutions::default();
    let new = || Profile::new(parameters, &rules);
    let mut profiles = [
        new().on(TimeSourceOption::Model),
        new().on(TimeSourceOption::Measured),
    ];
    let file = File::open(&trace).map_err(|error| format!("{}: {error}", trace.display()))?;
    let mut reader = Reader::new(BufReader::new(file)).map_err(reported)?;
    let summary = profile_trace(&mut reader, &mut profiles).map_err(reported)?;
    let network = x11prof_cost_model::Network::NONE;
    let report =
        |profile: &Profile| x11prof_analyzer::ProfileReport::new("", &summary, profile, &network);
    let [model, measured] = [report(&profiles[0]), report(&profiles[1])];
    let kernel = model.total.server_cpu_ms.unwrap_or(f64::NAN);
    let all: f64 = measured
        .requests
        .iter()
        .map(|request| request.server_ms)
        .sum();
    let of = |name: &str| {
        let line = measured
            .requests
            .iter()
            .find(|request| request.name == name);
        line.map_or(0.0, |request| 100.0 * request.server_ms / all)
    };
    let mut most: Vec<(&String, &f64)> = truth.iter().collect();
    most.sort_by(|a, b| b.1.total_cmp(a.1));
    let differences = most
        .iter()
        .take(SHOWN)
        .map(|(name, share)| (of(name) - **share).abs());
    Ok(Errors {
        ratio: model.total.server_ms / kernel,
        share: differences.fold(0.0, f64::max),
    })
}

/// Changes parts of a parameter file.
trait Parts {
    fn each_transport(&mut self, change: impl FnOnce(&mut x11prof_cost_model::TransportCosts));
    fn each_sleep(&mut self, change: impl FnOnce(&mut Vec<x11prof_cost_model::AfterSleep>));
}

impl Parts for ServerParameters {
    fn each_transport(&mut self, change: impl FnOnce(&mut x11prof_cost_model::TransportCosts)) {
        if let Some(transport) = &mut self.transport {
            change(transport);
        }
    }

    fn each_sleep(&mut self, change: impl FnOnce(&mut Vec<x11prof_cost_model::AfterSleep>)) {
        self.each_transport(|transport| change(&mut transport.after_sleep));
    }
}
