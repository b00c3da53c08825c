//! `cargo xtask validate measure`: does a second calibration agree with the first, do interpolated
//! prices agree with fresh measurements, do wall prices agree with x11perf?

use std::path::Path;

use x11prof_cost_model::{
    Clock, CostTable, Micros, ServerParameters, Substitutions, TransportPrices, differences,
};
use x11prof_session::{Operation, Value};
use x11prof_xmeasure::{Pin, Plan, Target, measure};

use crate::bench::x_server::XServer;
use crate::bench::x11perf;
use crate::packages::{DEMO, TEST, ensure};

/// Where the server runs, and x11perf; calibration pins itself.
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

/// Runs the validation; with `quick` the runs are quick ones, to try it out. With a parameter file
/// of this machine's Xvfb that one is taken in place of both runs, and compared with none.
pub(crate) fn validate(arguments: &[String]) -> Result<(), String> {
    ensure(&[DEMO, TEST])?;
    let quick = arguments.first().is_some_and(|it| it == "quick");
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
        None => {
            let first = calibrate(&server, &plan)?;
            repeatability(&first, &calibrate(&server, &plan)?);
            first
        }
    };
    interpolation(&server, &plan, &first)?;
    against_x11perf(&server, &first)
}

fn calibrate(server: &XServer, plan: &Plan) -> Result<ServerParameters, String> {
    eprintln!("measuring {}", server.display());
    let target = Target::display(server.display());
    measure(&target, plan, &mut |_| true).map_err(|error| error.to_string())
}

/// All points of two runs, and the transport.
fn repeatability(first: &ServerParameters, second: &ServerParameters) {
    let all = differences(first, second);
    let mut apart: Vec<f64> = all.iter().map(|it| (it.ratio() - 1.0).abs()).collect();
    apart.sort_by(f64::total_cmp);
    println!(
        "two runs: median difference {:.1} %, 95th percentile {:.1} %, over {} points (goals 3 %, 10 %)",
        100.0 * quantile(&apart, 0.5),
        100.0 * quantile(&apart, 0.95),
        apart.len()
    );
    for it in all.iter().take(10) {
        let (ratio, request, attributes, size) = (it.ratio(), &it.request, &it.attributes, it.size);
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
        ("flush", one.flush(), other.flush()),
        ("event", one.event(), other.event()),
        ("byte read", one.byte_read(), other.byte_read()),
    ] {
        println!("  {:6.3} {name}", other.time.0 / one.time.0);
    }
}

/// Prices between the grid's sizes, against measurements there.
fn interpolation(server: &XServer, plan: &Plan, first: &ServerParameters) -> Result<(), String> {
    let wanted = BETWEEN.iter().map(|(request, sizes)| {
        let mut operation = operation(request);
        operation.items = sizes.to_vec();
        operation
    });
    let plan = Plan {
        wanted: wanted.collect(),
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
            let point = entry.and_then(|it| it.points.iter().find(|it| it.size == *size));
            let Some(time) = point.and_then(|it| it.time(Clock::Cpu)) else {
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

/// Wall prices beside x11perf's rates on the same server.
fn against_x11perf(server: &XServer, first: &ServerParameters) -> Result<(), String> {
    let mut prices = CostTable::with_clock(first, &Substitutions::default(), Clock::Wall);
    let bytes = TransportPrices::with_clock(first, Clock::Wall).byte_read();
    let solid = "PolyFillRectangle fillstyle=FillSolid gxmode=GXcopy";
    // What x11perf counts: rectangles of many in a request, characters of lines of 80.
    for (test, request, size, items, length, counted) in [
        ("noop", "NoOperation", 0.0, 1, 4.0, 1.0),
        ("rect10", solid, 100.0, 100, 812.0, 100.0),
        ("rect500", solid, 250_000.0, 1, 20.0, 1.0),
        (
            "putimage500",
            "PutImage depth=24 format=ZPixmap gxmode=GXcopy",
            250_000.0,
            1,
            1_000_028.0,
            1.0,
        ),
        ("fitext", "ImageText8 fontname=6x13", 80.0, 1, 96.0, 80.0),
    ] {
        let mut operation = operation(request);
        operation.items = vec![size; items];
        operation.op_size = size * items as f64;
        let price = prices.price(&operation);
        let own = price.server.time.0 + bytes.time.0 * length;
        let before = busy(server.pid());
        let start = std::time::Instant::now();
        let rate = x11perf::rate(test, &server.display(), Path::new("/dev/null"), CLIENT_CPU)?;
        let share = (busy(server.pid()) - before) / start.elapsed().as_secs_f64();
        let theirs = counted * 1e6 / rate;
        println!(
            "x11perf -{test}: {theirs:.4} µs, ours {own:.4} µs, {:+.1} % (goal 10 %); the server \
             was busy for {:.0} % of x11perf's run",
            100.0 * (own / theirs - 1.0),
            100.0 * share
        );
    }
    println!(
        "where the server is idle for much of the run, its setup left out, x11perf's own sending is \
         what it measured"
    );
    Ok(())
}

/// Processor seconds of a process so far.
fn busy(pid: u32) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap_or_default();
    let nanoseconds = text
        .split_whitespace()
        .next()
        .and_then(|it| it.parse::<f64>().ok());
    nanoseconds.unwrap_or(0.0) / 1e9
}

/// The operation that `PolyText8 fontname=6x13` names.
fn operation(text: &str) -> Operation {
    let mut words = text.split_whitespace();
    let mut operation = Operation::new(words.next().unwrap_or_default().into());
    for (name, value) in words.filter_map(|word| word.split_once('=')) {
        operation.attributes.set(name.into(), Value::parse(value));
    }
    operation
}

fn quantile(sorted: &[f64], at: f64) -> f64 {
    let last = sorted.len().saturating_sub(1) as f64;
    sorted
        .get((last * at).round() as usize)
        .copied()
        .unwrap_or(f64::NAN)
}
