//! `cargo xtask validate calibrate`: does a second calibration agree with the first, do interpolated
//! costs agree with fresh measurements, do costs agree with x11perf?

use x11prof_cost_model::{
    Clock, CostTable, Micros, ServerParameters, Substitutions, TransportPrices, differences,
};
use x11prof_xmeasure::{Pin, Plan};

use super::calibration::{calibrate, operation};
use super::rates;
use crate::bench::x_server::XServer;
use xtask::packages::{DEMO, TEST, ensure};

/// The processor of the server and of x11perf; calibration pins itself.
const SERVER_CPU: &str = "1";
const CLIENT_CPU: &str = "0";

/// Op-sizes that no grid starts from: requests with their attributes, and sizes.
const BETWEEN: &[(&str, &[f64])] = &[
    (
        "PolyFillRectangle fillstyle=FillSolid gxmode=GXcopy",
        &[36.0, 2025.0, 16900.0, 110_889.0],
    ),
    (
        "PolyFillRectangle fillstyle=FillSolid gxmode=GXxor",
        &[36.0, 2025.0, 16900.0, 110_889.0],
    ),
    (
        "PolyFillRectangle fillstyle=FillTiled gxmode=GXcopy",
        &[36.0, 2025.0, 16900.0, 110_889.0],
    ),
    (
        "PolySegment fillstyle=FillSolid gxmode=GXcopy linestyle=LineSolid linewidth=0",
        &[6.0, 34.0, 77.0, 222.0],
    ),
    (
        "PolyLine fillstyle=FillSolid gxmode=GXxor linestyle=LineSolid linewidth=0",
        &[6.0, 34.0, 77.0, 222.0],
    ),
    (
        "PolyLine fillstyle=FillSolid gxmode=GXcopy linestyle=LineSolid linewidth=10",
        &[6.0, 34.0, 77.0, 222.0],
    ),
    (
        "PolyText8 fillstyle=FillSolid fontname=6x13 gxmode=GXcopy",
        &[12.0, 25.0, 50.0, 70.0],
    ),
    ("ImageText8 fontname=6x13", &[12.0, 25.0, 50.0, 70.0]),
    (
        "PolyText8 fillstyle=FillSolid fontname=9x15 gxmode=GXcopy",
        &[12.0, 25.0, 50.0],
    ),
];

/// Runs the validation; with `quick`, quick calibrations as a trial. A parameter file of this machine's Xvfb replaces
/// the first run; a word after it selects a single part.
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
        interpolation(&server, &plan, &first)?;
    }
    if wants("x11perf") {
        rates::compare(&server, &first, &plan, [SERVER_CPU, CLIENT_CPU])?;
    }
    Ok(())
}

/// Prints the differences of two runs: all points, and the transport.
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
    let (one, other) = (TransportPrices::new(first), TransportPrices::new(second));
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

/// Costs between the grid's sizes, against measurements there.
fn interpolation(server: &XServer, plan: &Plan, first: &ServerParameters) -> Result<(), String> {
    let needed = BETWEEN.iter().map(|(request, sizes)| {
        let mut operation = operation(request);
        operation.items = sizes.to_vec();
        operation
    });
    let plan = Plan {
        needed: needed.collect(),
        ..plan.clone()
    };
    let fresh = calibrate(server, &plan)?;
    let mut prices = CostTable::new(first, &Substitutions::default());
    let mut errors = Vec::new();
    for (request, sizes) in BETWEEN {
        let mut operation = operation(request);
        let entry = fresh.requests.iter().find(|entry| {
            entry.name == operation.request.as_str()
                && entry.attribute_set() == operation.attributes
        });
        for size in *sizes {
            let point =
                entry.and_then(|entry| entry.points.iter().find(|point| point.size == *size));
            let Some(time) = point.and_then(|point| point.time(Clock::Cpu)) else {
                println!("  not measured: {request} {size}");
                continue;
            };
            operation.items = vec![*size];
            operation.op_size = *size;
            let price = prices.price(&operation).server.time;
            let error = price.0 / time.0 - 1.0;
            println!("  {:+6.1} % {request} {size}", 100.0 * error);
            errors.push(error.abs());
        }
    }
    errors.sort_by(f64::total_cmp);
    println!(
        "between the sizes: median error {:.1} %, largest {:.1} %, over {} sizes (goal 5 %)",
        100.0 * quantile(&errors, 0.5),
        100.0 * quantile(&errors, 1.0),
        errors.len()
    );
    Ok(())
}

fn quantile(sorted: &[f64], at: f64) -> f64 {
    let last = sorted.len().saturating_sub(1) as f64;
    sorted
        .get((last * at).round() as usize)
        .copied()
        .unwrap_or(f64::NAN)
}
