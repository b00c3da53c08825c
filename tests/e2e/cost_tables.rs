//! The choice of a report's cost table, and the warning if the table comes from another machine.

use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;

use crate::harness::{Finished, Place, Server, needs, until, wait, xterm_trace};
use x11prof_cost_model::{Host, Rescaled, ServerParameters, built_in};

/// An x11prof command with a separate data folder in `place`.
fn x11prof(place: &Place, arguments: &[&str]) -> std::process::Command {
    let mut command = place.x11prof(arguments);
    command.env("XDG_DATA_HOME", place.path("data"));
    command
}

fn run(place: &Place, arguments: &[&str]) -> Finished {
    Finished::of(&mut x11prof(place, arguments))
}

/// The files below `folder` whose names end with `ending`.
fn files(folder: PathBuf, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(path, ending));
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
    found
}

#[test]
fn calibration_is_stored_per_server_and_reused() {
    needs("Xvfb", "xvfb");
    let place = Place::new();
    let measured = run(&place, &["calibrate", "--quick", "--server", "xvfb"]);
    measured.succeeded();
    let [kept] = &*files(place.path("data"), ".toml") else {
        panic!("{:?}", files(place.path("data"), ""));
    };
    assert!(kept.ends_with("xvfb.toml"), "{kept:?}");
    let said = measured.stderr();
    assert!(said.contains("x11prof report TRACE"), "{said}");

    // A report without handler times names its cost table.
    let server = Server::xvfb(&[]);
    let words = [
        "record",
        "--display",
        &server.display,
        "-o",
        "it.mcap",
        "--",
    ];
    run(&place, &[&words[..], &["xset", "q"]].concat()).succeeded();
    let trace = place.path("it.mcap").to_string_lossy().into_owned();
    let report = run(&place, &["report", &trace]);
    let said = report.stderr();
    assert!(
        said.contains("cost table: xvfb, measured on this machine"),
        "{said}"
    );
    // Costs of this machine need no rescaling, and so no probe.
    assert!(!report.succeeded().contains("rescaled from"));
    assert!(!place.path("data/x11prof/probes").exists());
    let list = run(&place, &["params", "list"]).succeeded();
    let used = |name: &str| {
        let line = list.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_whitespace().last())
    };
    assert_eq!(
        (used("xvfb "), used("sun4-ipc ")),
        (Some("yes"), Some("no")),
        "{list}"
    );
    assert!(list.contains("handler times"), "{list}");
    // Use this machine's table and another machine's table by name.
    let both = [
        "compare", &trace, "--params", "xvfb", "--params", "xvnc", "--format", "json",
    ];
    let both: serde_json::Value =
        serde_json::from_str(&run(&place, &both).succeeded()).expect("JSON");
    let servers = both["servers"].as_array().expect("servers");
    assert_eq!(servers[0]["rescaled"], serde_json::Value::Null);
    assert_eq!(servers[0]["machine"], servers[1]["machine"]);

    // Neither a quick nor an interrupted calibration replaces a complete one.
    let text = std::fs::read_to_string(kept).expect("a file");
    let whole = text.replacen("quick plan", "whole plan", 1);
    std::fs::write(kept, &whole).expect("a file is written");
    let line = run(&place, &["calibrate", "--quick", "--server", "xvfb"]).failed_with_one_line(1);
    assert!(line.contains("--quick"), "{line}");
    let mut child = x11prof(&place, &["calibrate", "--server", "xvfb"])
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("x11prof starts");
    until("the server of the measurement", || {
        let id = child.id();
        let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).ok()?;
        // The process catches SIGINT once it has begun to measure.
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
        let caught = status
            .lines()
            .find_map(|line| line.strip_prefix("SigCgt:"))?;
        let caught = u64::from_str_radix(caught.trim(), 16).ok()?;
        (!children.trim().is_empty() && caught & 2 != 0).then_some(())
    });
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a signal is sent");
    let status = wait(&mut child, "x11prof calibrate");
    assert_eq!(
        status.signal(),
        Some(rustix::process::Signal::INT.as_raw()),
        "{status}"
    );
    assert_eq!(std::fs::read_to_string(kept).expect("a file"), whole);
}

#[test]
fn partial_calibration_requires_an_output_file() {
    let place = Place::new();
    let ran = run(
        &place,
        &["calibrate", "--server", "xvfb", "--only", "PolyLine"],
    );
    let refused = !ran.output.status.success() && ran.stderr().contains("-o FILE");
    assert!(refused, "{ran}");
}

/// A built-in table with all costs multiplied by `times`, as from a slower machine.
fn of_a_machine(name: &str, times: f64) -> ServerParameters {
    let shipped = built_in().iter().find(|file| file.name == name);
    let shipped = shipped
        .expect("it comes along")
        .parameters()
        .expect("it is in order");
    let by = Rescaled {
        from: "?".into(),
        times,
        low: times,
        high: times,
    };
    let host = Host {
        cpu_model: Some(format!("{times} times as slow")),
        ..Host::default()
    };
    let mut other = shipped.brought(by, host);
    other.method.brought = None;
    other.server.name = "slow".to_owned();
    other
}

#[test]
fn rescaling_removes_machine_speed_differences() {
    needs("Xvfb", "xvfb");
    let place = Place::new();
    let trace = xterm_trace().to_string_lossy().into_owned();
    // Two servers of the slow machine have tables; one of them shows the machine's speed.
    let known = place.path("data/x11prof/slow");
    std::fs::create_dir_all(&known).expect("a folder");
    let write = |path: PathBuf, name: &str| {
        std::fs::write(&path, of_a_machine(name, 2.0).to_toml()).expect("a file is written");
        path.to_string_lossy().into_owned()
    };
    write(known.join("xvfb.toml"), "xvfb-24");
    let slow = &write(place.path("slow.toml"), "xephyr");
    let files = ["compare", &trace, "--params", "xephyr", "--params", slow];
    let compare = |more: &[&str]| {
        let all = [&files, more, &["--format", "json"]].concat();
        let text = run(&place, &all).succeeded();
        serde_json::from_str::<serde_json::Value>(&text).expect("JSON")
    };
    let total = |json: &serde_json::Value, at: usize| {
        json["servers"][at]["total_ms"].as_f64().expect("a time")
    };
    let brought = compare(&[]);
    let ratio = total(&brought, 1) / total(&brought, 0);
    assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
    assert!(brought["servers"][1]["rescaled"]["factor"].as_f64() > Some(0.0));
    // With `--no-rescale` the tables come from two machines, and no server is named the fastest.
    let as_measured = compare(&["--no-rescale"]);
    let ratio = total(&as_measured, 1) / total(&as_measured, 0);
    assert!(ratio > 1.5, "{ratio}");
    let fastest = |more: &[&str]| {
        let text = run(&place, &[&files, more].concat()).succeeded();
        (
            text.contains("estimated as the fastest server"),
            text.contains("different machines"),
        )
    };
    assert_eq!(fastest(&[]), (true, false));
    assert_eq!(fastest(&["--no-rescale"]), (false, true));
    // The report names the source of its costs in one line.
    let text = run(&place, &["report", "--all", &trace, "--params", slow]).succeeded();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("Cost table rescaled from 2 times as slow: by"),
        "{text}"
    );
}

#[test]
fn costs_that_cannot_be_rescaled_give_a_warning() {
    let place = Place::new();
    let trace = xterm_trace().to_string_lossy().into_owned();
    // That machine has no table for Xvfb, which this machine could measure, nor for another server with a table.
    let mut alone = of_a_machine("xephyr", 3.0);
    alone.server.executable = Some("Xother".to_owned());
    alone.server.vendor = Some("Another".to_owned());
    let file = place.write("alone.toml", alone.to_toml().as_bytes());
    let file = file.to_string_lossy();
    let report = place.json([
        "report",
        &trace,
        "--params",
        &file,
        "--time-source",
        "modelled",
        "--format",
        "json",
    ]);
    let warnings = report["warnings"].as_array().expect("warnings");
    let marked = warnings
        .iter()
        .any(|warning| warning["kind"] == "other-machine");
    assert!(marked, "{warnings:?}");
}

/// With `sudo`, the folder of saved tables may be that of another user.
#[test]
fn saved_tables_that_are_no_files_are_skipped() {
    let place = Place::new();
    crate::hostile::trace(&place, []);
    let folder = place.path("data/x11prof/machine");
    std::fs::create_dir_all(&folder).expect("a folder");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, folder.join("pipe.toml"), mode).expect("a pipe");
    std::os::unix::fs::symlink("/dev/zero", folder.join("zero.toml")).expect("a link");
    let long = std::fs::File::create(folder.join("long.toml")).expect("a file");
    long.set_len(1 << 40).expect("a long file");
    for words in [&["params", "list"][..], &["report"]] {
        let ran = run(&place, words);
        let said = ran.stderr();
        ran.succeeded();
        for why in [
            "pipe.toml: not a regular file; file ignored",
            "zero.toml: not a regular file; file ignored",
            "long.toml: not a parameter file: longer than 16 MiB; file ignored",
        ] {
            assert!(said.contains(why), "{words:?}: {said}");
        }
    }
}
