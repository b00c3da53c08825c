//! `cargo xtask validate calibration`: how long a calibration takes, whether a second one agrees with the first, also
//! with busy programs, handler times with saturated loops, interpolated costs with measured ones, and costs with
//! x11perf.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use x11prof_cost_model::{
    Clock, CostTable, Difference, ServerParameters, Substitutions, differences,
};
use x11prof_proxy::{PrivateServer, ServerKind, ServerLink};
use x11prof_session::Operation;
use x11prof_xmeasure::{Plan, Target, measure, usual_processor};

use super::calibration::calibrate;
use super::guest::busy_loop;
use super::{quantile, rates, reported};
use crate::bench::x_server::XServer;
use xtask::packages::{DEMO, TEST, ensure};
use xtask::run::{cargo, run, target};

/// The servers that time their handlers.
const KINDS: [&str; 4] = ["xvfb", "xvnc", "xephyr", "xorg-dummy"];
/// The number of busy loops.
const LOOPS: usize = 2;
/// Requests are listed if the median of their ratios differs from 1 by this factor or more.
const APART: f64 = 1.3;
/// The build of x11prof: that of this program.
const BUILD: &str = if cfg!(debug_assertions) {
    "debug"
} else {
    "release"
};
/// The processors of the server and of x11perf. The calibration pins itself.
const SERVER_CPU: &str = "1";
const CLIENT_CPU: &str = "0";

/// Runs the validation of the servers in `arguments`, or of all; `both`, `between` and
/// `x11perf` select the other parts.
pub(crate) fn validate(arguments: &[String]) -> Result<(), String> {
    ensure(&[DEMO, TEST])?;
    if arguments.first().is_some_and(|word| word == "x11perf") {
        let server = XServer::start(SERVER_CPU)?;
        let plan = Plan {
            pin: usual_processor(),
            intrusive: true,
            ..Plan::default()
        };
        let costs = calibrate(&server, &plan)?;
        return rates::compare(&server, &costs, &plan, [SERVER_CPU, CLIENT_CPU]);
    }
    if BUILD == "release" {
        run(cargo().args(["build", "--release", "--locked"]))?;
    }
    let folder = target().join("validate/calibration");
    std::fs::create_dir_all(&folder).map_err(reported)?;
    if arguments.first().is_some_and(|word| word == "between") {
        interpolation(&calibrated(&folder, KINDS[0], "between", &[])?.parameters);
        return Ok(());
    }
    let both = arguments.iter().any(|word| word == "both");
    let arguments = &arguments[usize::from(both)..];
    let kinds = KINDS.into_iter();
    let kinds =
        kinds.filter(|kind| arguments.is_empty() || arguments.iter().any(|one| one == kind));
    if both {
        return kinds
            .into_iter()
            .try_for_each(|kind| both_ways(&folder, kind));
    }
    println!(
        "{BUILD} build; differences of points: median, 95 % (goals: 60 s, 10 s, 2 % and 10 %)\n"
    );
    println!("| server | s | quick, s | points | again | beside {LOOPS} busy loops | s there |");
    println!("|---|---|---|---|---|---|---|");
    let mut furthest = Vec::new();
    for kind in kinds {
        let first = calibrated(&folder, kind, "first", &[])?;
        let again = calibrated(&folder, kind, "again", &[])?;
        let quick = calibrated(&folder, kind, "quick", &["--quick"])?;
        let busy = {
            let _loops = (0..LOOPS)
                .map(|_| busy_loop(600))
                .collect::<Result<Vec<_>, _>>()?;
            calibrated(&folder, kind, "busy", &[])?
        };
        let all = differences(&first.parameters, &again.parameters);
        println!(
            "| {kind} | {:.0} | {:.0} | {} | {} | {} | {:.0} |",
            first.seconds,
            quick.seconds,
            all.len(),
            apart(&all),
            apart(&differences(&first.parameters, &busy.parameters)),
            busy.seconds
        );
        furthest.push((kind, all));
    }
    for (kind, all) in furthest {
        println!("\n{kind}, furthest apart:");
        for difference in all.iter().take(10) {
            let (ratio, request, attributes, size) = (
                difference.ratio(),
                &difference.request,
                &difference.attributes,
                difference.size,
            );
            println!("  {ratio:6.3} {request} {attributes} {size}");
        }
    }
    Ok(())
}

/// A calibration, and its duration.
struct Calibrated {
    parameters: ServerParameters,
    seconds: f64,
}

/// Calibrates a private server of this kind into the file `kind-name.toml`.
fn calibrated(
    folder: &Path,
    kind: &str,
    name: &str,
    options: &[&str],
) -> Result<Calibrated, String> {
    let file: PathBuf = folder.join(format!("{kind}-{name}.toml"));
    let mut command = Command::new(target().join(BUILD).join("x11prof"));
    command
        .args(["calibrate", "--server", kind, "-o"])
        .arg(&file);
    let start = Instant::now();
    run(command.args(options))?;
    let seconds = start.elapsed().as_secs_f64();
    let text = std::fs::read_to_string(&file).map_err(reported)?;
    let parameters = ServerParameters::from_toml(&text).map_err(reported)?;
    Ok(Calibrated {
        parameters,
        seconds,
    })
}

/// The median and the 95th percentile of the differences between two calibrations.
fn apart(all: &[Difference]) -> String {
    let apart: Vec<f64> = all
        .iter()
        .map(|difference| (difference.ratio() - 1.0).abs() * 100.0)
        .collect();
    format!(
        "{:.1} %, {:.1} %",
        quantile(&apart, 0.5),
        quantile(&apart, 0.95)
    )
}

/// Compares a calibration by handler times with one by saturated loops, on a server of the same kind that does not time
/// its handlers.
fn both_ways(folder: &Path, kind: &str) -> Result<(), String> {
    let timed = calibrated(folder, kind, "first", &[])?.parameters;
    let server = ServerKind::from_name(kind).ok_or("no such kind of server")?;
    let server = PrivateServer::start(server).map_err(reported)?;
    let authority = Some(server.authority_file().to_owned());
    let link = ServerLink::new(server.display().clone(), authority);
    let target = Target::new(link).map_err(reported)?;
    let plan = Plan {
        pin: usual_processor(),
        intrusive: true,
        ..Plan::default()
    };
    let start = Instant::now();
    let loops = measure(&target, &plan, None, &mut |_| {}).map_err(reported)?;
    let seconds = start.elapsed().as_secs_f64();
    let all = differences(&timed, &loops);
    let within = |most: f64| {
        let within = all.iter().filter(|one| one.ratio().ln().abs() <= most.ln());
        100.0 * within.count() as f64 / all.len().max(1) as f64
    };
    println!(
        "\n{kind}: by loops {seconds:.0} s; {} points by both, median and 95 % of the differences {}; {:.0} % within \
         1.1, {:.0} % within {APART}\n\n| request | points | handler times, µs | loops / handler times |\n|---|---|---|---|",
        all.len(),
        apart(&all),
        within(1.1),
        within(APART)
    );
    let mut requests: BTreeMap<&str, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    for one in &all {
        let (ratios, times) = requests.entry(&one.request).or_default();
        ratios.push(one.ratio());
        times.push(one.first.0);
    }
    for (request, (ratios, times)) in requests {
        let ratio = quantile(&ratios, 0.5);
        if ratio.ln().abs() >= APART.ln() {
            let time = quantile(&times, 0.5);
            println!("| {request} | {} | {time:.2} | {ratio:.2} |", ratios.len());
        }
    }
    Ok(())
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
            let mut costs = CostTable::new(&parameters, &Substitutions::default());
            let cost = costs.cost(&operation).server.time;
            errors.push((cost.0 / time.0 - 1.0).abs());
        }
    }
    println!(
        "between the sizes, each left out in turn: median error {:.1} %, 95th percentile {:.1} %, over {} sizes",
        100.0 * quantile(&errors, 0.5),
        100.0 * quantile(&errors, 0.95),
        errors.len()
    );
}
