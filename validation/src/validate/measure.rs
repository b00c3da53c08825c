//! `cargo xtask validate calibrate`: checks whether a second calibration agrees with the first, interpolated costs with
//! measured ones, and costs with x11perf.

use x11prof_cost_model::{
    Clock, CostTable, Micros, ServerParameters, Substitutions, TransportEstimates, differences,
};
use x11prof_session::Operation;
use x11prof_xmeasure::{Pin, Plan};

use super::calibration::calibrate;
use super::rates;
use crate::bench::x_server::XServer;
use xtask::packages::{DEMO, TEST, ensure};

/// The processors of the server and of x11perf. The calibration pins itself.
const SERVER_CPU: &str = "1";
const CLIENT_CPU: &str = "0";

/// Runs the validation. `quick` selects quick runs, to test the validation. A parameter file for this machine's Xvfb
/// replaces the first run; a word after it selects one part to run.
pub(crate) fn validate(arguments: &[String]) -> Result<(), String> {
    ensure(&[DEMO, TEST])?;
    let quick = arguments
        .first()
        .is_some_and(|argument| argument == "quick");
    let server = XServer::start(SERVER_CPU)?;
    let plan = Plan {
        quick,
        pin: Pin::usual(),
        intrusive: true,
        ..Plan::default()
    };
    let first = match arguments.first().filter(|_| !quick) {
        Some(file) => {
            let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
            ServerParameters::from_toml(&text).map_err(|error| format!("{file}: {error}"))?
        }
        None => calibrate(&server, &plan)?,
    };
    let part = arguments.get(1).map(String::as_str);
    let wants = |name: &str| part.is_none_or(|part| part == name);
    if wants("again") {
        repeatability(&first, &calibrate(&server, &plan)?);
    }
    if wants("between") {
        interpolation(&first);
    }
    if wants("x11perf") {
        rates::compare(&server, &first, &plan, [SERVER_CPU, CLIENT_CPU])?;
    }
    Ok(())
}

/// Prints the differences between two runs: all points, and the transport.
fn repeatability(first: &ServerParameters, second: &ServerParameters) {
    let all = differences(first, second);
    let mut apart: Vec<f64> = all
        .iter()
        .map(|difference| (difference.ratio() - 1.0).abs())
        .collect();
    apart.sort_by(f64::total_cmp);
    println!(
        "two runs: median difference {:.1} %, 95th percentile {:.1} %, over {} points (goals 3 %, 10 %)",
        100.0 * quantile(&apart, 0.5),
        100.0 * quantile(&apart, 0.95),
        apart.len()
    );
    for difference in all.iter().take(10) {
        let (ratio, request, attributes, size) = (
            difference.ratio(),
            &difference.request,
            &difference.attributes,
            difference.size,
        );
        println!("  {ratio:6.3} {request} {attributes} {size}");
    }
    let (one, other) = (
        TransportEstimates::new(first),
        TransportEstimates::new(second),
    );
    for (name, one, other) in [
        (
            "wakeup",
            one.wakeup(Micros::ZERO),
            other.wakeup(Micros::ZERO),
        ),
        ("reply", one.reply(0), other.reply(0)),
        ("event", one.event(), other.event()),
        ("byte read", one.byte_read(), other.byte_read()),
    ] {
        println!("  {:6.3} {name}", other.time.0 / one.time.0);
    }
}

/// Compares the cost at each inner size, interpolated between its neighbours, with the measurement there.
fn interpolation(first: &ServerParameters) {
    let mut errors = Vec::new();
    for entry in &first.requests {
        for left_out in 1..entry.points.len().saturating_sub(1) {
            let mut others = entry.clone();
            let point = others.points.remove(left_out);
            let Some(time) = point.time(Clock::Cpu).filter(|time| time.0 > 0.0) else {
                continue;
            };
            let mut operation = Operation::new(entry.name.as_str().into());
            operation.attributes = entry.attribute_set();
            operation.items = vec![point.size];
            operation.op_size = point.size;
            let parameters = ServerParameters {
                requests: vec![others],
                ..ServerParameters::default()
            };
            let mut prices = CostTable::new(&parameters, &Substitutions::default());
            let price = prices.price(&operation).server.time;
            errors.push((price.0 / time.0 - 1.0).abs());
        }
    }
    errors.sort_by(f64::total_cmp);
    println!(
        "between the sizes, each left out in turn: median error {:.1} %, 95th percentile {:.1} %, over {} sizes",
        100.0 * quantile(&errors, 0.5),
        100.0 * quantile(&errors, 0.95),
        errors.len()
    );
}

fn quantile(sorted: &[f64], at: f64) -> f64 {
    let last = sorted.len().saturating_sub(1) as f64;
    sorted
        .get((last * at).round() as usize)
        .copied()
        .unwrap_or(f64::NAN)
}
