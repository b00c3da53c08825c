//! `record --stacks`: the call sites of a program's waits.

use std::fs::File;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::UNIX_EPOCH;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::attach::Attached;
use crate::harness::{Finished, Place, Server, needs, until};

/// A network that makes each wait longer than capturing a stack may take.
const SLOW: &str = "100MB/s,20ms";

fn compiled(place: &Place, options: &[&str]) -> String {
    client(place, "asker", options)
}

fn client(place: &Place, name: &str, options: &[&str]) -> String {
    needs("cc", "gcc");
    let program = place.path(name);
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/stacks");
    let source = format!("{folder}/{name}.c");
    let mut compiler = Command::new("cc");
    compiler.args(options).arg("-o").arg(&program);
    let made = compiler.args([source.as_str(), "-l:libxcb.so.1"]).status();
    assert!(made.expect("cc").success());
    program
        .into_os_string()
        .into_string()
        .expect("a plain path")
}

/// The callers of the recording: function, waits, the most frequent request.
fn callers(report: &Value) -> Vec<(&str, u64, &str)> {
    let callers = report["callers"]["callers"].as_array().expect("callers");
    fn of(one: &Value) -> Option<(&str, u64, &str)> {
        let name = one["functions"][0]["name"].as_str()?;
        let request = one["requests"][0]["request"].as_str()?;
        Some((name, one["waits"].as_u64()?, request))
    }
    callers.iter().filter_map(of).collect()
}

#[test]
fn waits_have_the_requesting_function() {
    each_wait_is_reported(&["-O2", "-g"]);
}

/// Some distributions compile all programs with frame pointers. The kernel does not report the frame pointer.
#[test]
fn frame_pointer_stacks_are_complete() {
    each_wait_is_reported(&["-O2", "-g", "-fno-omit-frame-pointer"]);
    each_wait_is_reported(&["-O0", "-g"]);
}

#[test]
fn rust_waits_have_complete_stacks() {
    let place = Place::new();
    let ours = env!("CARGO_BIN_EXE_x11prof");
    place.ok([
        "record", "--server", "xvfb", "--net", SLOW, "--stacks", "--", ours, "ping",
    ]);
    let report = place.json(["network", "x11prof.mcap", "--format", "json"]);
    let all = &report["callers"];
    assert_eq!(all["complete"], all["sampled"], "{all:#}");
    let first = callers(&report)[0];
    assert!(first.0.starts_with("x11prof_"), "{first:?}");
    assert!(first.1 > 20, "{first:?}");
}

fn each_wait_is_reported(options: &[&str]) {
    let place = Place::new();
    let program = compiled(&place, options);
    place.ok([
        "record", "--server", "xvfb", "--net", SLOW, "--stacks", "--", &program,
    ]);
    let report = place.json(["network", "x11prof.mcap", "--format", "json"]);
    let all = callers(&report);
    assert!(
        all.contains(&("ask_for_atoms", 20, "InternAtom")),
        "{all:?}"
    );
    assert!(
        all.contains(&("ask_for_focus", 10, "GetInputFocus")),
        "{all:?}"
    );
    let callers = &report["callers"];
    assert_eq!(callers["complete"], callers["sampled"], "{callers:#}");
    let atoms = callers["callers"].as_array().expect("callers").iter();
    let mut atoms = atoms.filter(|one| one["functions"][0]["name"] == "ask_for_atoms");
    let functions = &atoms.next().expect("a caller")["functions"];
    let line = functions[0]["line"].as_str().expect("a line");
    assert!(line.ends_with("asker.c:18"), "{line}");
    assert_eq!(functions[1]["name"], "start");
    assert_eq!(functions[2]["name"], "main");

    let page = place.ok(["network", "x11prof.mcap"]);
    assert!(
        page.contains("Call sites of waits in the recording: "),
        "{page}"
    );
    assert!(page.contains("Requested by ask_for_atoms"), "{page}");
    assert!(page.contains("ask_for_atoms (asker.c:18) <"), "{page}");
    // The same build has the same build id. Another program does not match the recording, whatever its time is.
    compiled(&place, options);
    let again = place.ok(["network", "x11prof.mcap"]);
    assert!(again.contains("Requested by ask_for_atoms"), "{again}");
    let other = client(&place, "burner", &["-O2", "-g"]);
    let old = std::fs::File::open(&other).expect("a program");
    old.set_modified(std::time::UNIX_EPOCH).expect("a time");
    std::fs::rename(&other, &program).expect("another program");
    let anew = place.run(["network", "x11prof.mcap"]);
    assert!(
        anew.stderr().contains("has changed since the recording"),
        "{anew}"
    );
    assert!(!anew.stdout().contains("ask_for_atoms"), "{anew}");

    place.ok(["scrub", "x11prof.mcap", "-o", "scrubbed.mcap"]);
    let folder = program.strip_suffix("/asker").expect("a folder");
    let [whole, scrubbed] =
        ["x11prof.mcap", "scrubbed.mcap"].map(|trace| place.ok(["dump", "--switches", trace]));
    assert!(
        whole.contains(folder) && !scrubbed.contains(folder),
        "{folder}"
    );
}

#[test]
fn a_program_that_restricts_its_system_calls_goes_on() {
    let place = Place::new();
    let program = client(&place, "sandboxed", &["-O2", "-g"]);
    let record = ["record", "--server", "xvfb", "--stacks=requests", "--"];
    let recorded = place.run(record.into_iter().chain([program.as_str()]));
    assert_eq!(recorded.status(), Some(7), "{recorded}");
    let page = place.ok(["report", "--by", "function", "x11prof.mcap"]);
    assert!(page.contains("ask_before"), "{page}");
    assert!(!page.contains("ask_in_the_sandbox"), "{page}");
}

#[test]
fn a_program_that_restricts_its_system_calls_on_its_own_connection_goes_on() {
    let place = Place::new();
    let program = client(&place, "sandboxed_itself", &["-O2", "-g"]);
    for how in ["prctl", "seccomp", "strict"] {
        let record = ["record", "--server", "xvfb", "--stacks=requests", "--"];
        let recorded = place.run(record.into_iter().chain([program.as_str(), how]));
        assert_eq!(recorded.status(), Some(7), "{how}: {recorded}");
    }
    let page = place.ok(["report", "--by", "function", "x11prof.mcap"]);
    assert!(page.contains("ask_before"), "{page}");
}

#[test]
fn a_program_under_the_filter_of_a_launcher_runs() {
    let place = Place::new();
    let program = client(&place, "launcher", &["-O2"]);
    let record = ["record", "--server", "xvfb", "--stacks=requests", "--"];
    let recorded = place.run(record.into_iter().chain([program.as_str()]));
    assert_eq!(recorded.status(), Some(7), "{recorded}");
}

#[test]
fn a_plug_in_that_waits_for_a_request_while_it_loads_runs() {
    let place = Place::new();
    let library = client(&place, "plug_in", &["-DPLUG_IN", "-shared", "-fPIC"]);
    let plug_in = format!("{library}.so");
    std::fs::rename(&library, &plug_in).expect("a file");
    // The program itself needs libxcb.
    let program = client(&place, "plug_in", &["-O2", "-Wl,--no-as-needed"]);
    let record = ["record", "--server", "xvfb", "--stacks=requests", "--"];
    let recorded = place.run(
        record
            .into_iter()
            .chain([program.as_str(), plug_in.as_str()]),
    );
    assert_eq!(recorded.status(), Some(7), "{recorded}");
}

#[test]
fn a_program_with_requests_between_coroutines_runs() {
    let place = Place::new();
    let program = client(&place, "coroutine", &["-O1", "-g"]);
    let record = ["record", "--server", "xvfb", "--stacks=requests", "--"];
    let recorded = place.run(record.into_iter().chain([program.as_str()]));
    assert_eq!(recorded.status(), Some(7), "{recorded}");
    let page = place.ok(["report", "--by", "function", "x11prof.mcap"]);
    assert!(page.contains("ask_on_the_threads_stack"), "{page}");
}

/// Python gives the address of a function that was freed to the next one.
#[test]
fn requests_of_freed_python_functions_have_their_names() {
    let place = Place::new();
    needs("/usr/bin/python3", "python3");
    let program = place.write(
        "functions.py",
        b"import ctypes\n\
        x = ctypes.CDLL('libX11.so.6')\n\
        x.XOpenDisplay.restype = ctypes.c_void_p\n\
        x.XNoOp.argtypes = x.XFlush.argtypes = [ctypes.c_void_p]\n\
        d = x.XOpenDisplay(None)\n\
        for name in ('alpha', 'beta', 'gamma'):\n\
        \x20   names = {'x': x, 'd': d}\n\
        \x20   exec(f'def {name}():\\n for i in range(100): x.XNoOp(d)\\n x.XFlush(d)', names)\n\
        \x20   names[name]()\n\
        \x20   names.clear()\n\
        # The letters of this text are not in the object itself.\n\
        class S(str): pass\n\
        def odd(): x.XNoOp(d), x.XFlush(d)\n\
        code, name = odd.__code__, S('n' * 50_000_000)\n\
        more = {'co_qualname': name} if hasattr(code, 'co_qualname') else {}\n\
        odd.__code__ = code.replace(co_name=name, **more)\n\
        odd()\n",
    );
    let program = program.to_str().expect("a path");
    let record = ["record", "--server", "xvfb", "--stacks=requests", "--"];
    place.ok(record.into_iter().chain(["/usr/bin/python3", program]));
    let page = place.ok(["report", "--by", "function", "--all", "x11prof.mcap"]);
    for name in ["alpha", "beta", "gamma"] {
        let row = page.lines().find(|line| line.starts_with(name));
        assert!(row.is_some_and(|row| row.contains(" 100 ")), "{page}");
    }
}

#[test]
fn a_program_whose_outer_frames_are_overwritten_runs() {
    let place = Place::new();
    let program = client(&place, "overwritten", &["-O1", "-fno-omit-frame-pointer"]);
    for overwritten in ["0", "1"] {
        let record = ["record", "--server", "xvfb", "--stacks=requests", "--"];
        let words = record.into_iter().chain([program.as_str(), overwritten]);
        let recorded = place.run(words);
        assert_eq!(recorded.status(), Some(7), "{recorded}");
        let page = place.ok(["report", "--by", "function", "x11prof.mcap"]);
        assert!(page.contains("ask"), "{page}");
    }
}

#[test]
fn a_library_at_the_addresses_of_an_unloaded_one_has_its_own_requests_and_time() {
    let place = Place::new();
    let plug_in = |name: &str| {
        let options = [format!("-DPLUG_IN={name}"), "-shared".to_owned()];
        let options = options.each_ref().map(String::as_str);
        let made = client(&place, "unloaded", &options);
        let library = place.path(&format!("{name}.so"));
        std::fs::rename(made, &library).expect("a file");
        library
            .into_os_string()
            .into_string()
            .expect("a plain path")
    };
    let [first, second, third] = ["first", "second", "third"].map(plug_in);
    let program = client(&place, "unloaded", &[]);
    let record = ["record", "--server", "xvfb", "--stacks=requests,cpu", "--"];
    let command = [&program, &first, &second, &third].map(String::as_str);
    let recorded = place.run(record.into_iter().chain(command));
    assert_eq!(recorded.status(), Some(7), "{recorded}");
    let functions = by_function(&place, "function");
    let count = |name: &str| {
        functions
            .iter()
            .find(|(one, ..)| one == name)
            .map(|one| one.1)
    };
    assert_eq!(count("first [first]"), Some(50), "{functions:?}");
    assert_eq!(count("second [second]"), Some(50), "{functions:?}");
    let report = place.json("report x11prof.mcap --by library --format json".split(' '));
    let running = &report["running"];
    let places = running["locations"].as_array().expect("places");
    let part = |name: &str| {
        let of = places.iter().find(|one| one["location"] == name);
        let ran = of.and_then(|one| one["cpu_ms"].as_f64());
        ran.unwrap_or_else(|| panic!("{name}: {running:#}"))
    };
    let parts = ["first", "second", "third"].map(part);
    let all: f64 = parts.iter().sum();
    for part in parts {
        assert!((part / all - 1.0 / 3.0).abs() < 0.06, "{running:#}");
    }
    // The deleted file has no names of functions, so its time is that of the caller.
    let page = place.ok("report x11prof.mcap --by function".split(' '));
    assert!(page.contains("\ndraw [unloaded] "), "{page}");
}

#[test]
fn a_program_with_address_sanitizer_runs() {
    let place = Place::new();
    let program = client(&place, "sandboxed", &["-g", "-fsanitize=address", "-DASAN"]);
    let record = ["record", "--server", "xvfb", "--stacks=requests", "--"];
    let recorded = place.run(record.into_iter().chain([program.as_str()]));
    assert_eq!(recorded.status(), Some(7), "{recorded}");
    let page = place.ok(["report", "--by", "function", "x11prof.mcap"]);
    assert!(page.contains("ask_before"), "{page}");
}

#[test]
fn kept_symbols_survive_program_removal_and_scrubbing() {
    let place = Place::new();
    let program = compiled(&place, &["-O2", "-g"]);
    let record = "record --server xvfb --stacks=requests --keep-symbols -o kept.mcap --";
    place.ok(record.split(' ').chain([program.as_str()]));
    std::fs::remove_file(&program).expect("the program");
    place.ok(["scrub", "kept.mcap", "-o", "scrubbed.mcap"]);
    for trace in ["kept.mcap", "scrubbed.mcap"] {
        let report = place.json(["network", trace, "--format", "json"]);
        let all = callers(&report);
        assert!(
            all.contains(&("ask_for_atoms", 20, "InternAtom")),
            "{all:?}"
        );
        let page = place.ok(["network", trace]);
        assert!(page.contains("ask_for_atoms (asker.c:18)"), "{page}");
    }
    let records = place.ok(["dump", "--switches", "scrubbed.mcap"]);
    assert!(records.contains(r#""kind":"symbol","file":"asker""#));
    let folder = program.strip_suffix("/asker").expect("a folder");
    assert!(!records.contains(folder), "{folder}");
}

#[test]
fn kept_symbols_leave_the_exit_status() {
    let place = Place::new();
    let shell = format!("{}; exit 7", compiled(&place, &["-O2", "-g"]));
    let record = "record --server xvfb --stacks=requests --keep-symbols -- sh -c";
    let recorded = place.run(record.split(' ').chain([shell.as_str()]));
    assert_eq!(recorded.status(), Some(7), "{recorded}");
    let records = place.ok(["dump", "--switches", "x11prof.mcap"]);
    assert!(records.contains(r#""kind":"symbol""#), "{records}");
}

/// Creates the command that records a stripped program, with a substitute for elfutils' `debuginfod-find`. `find` returns
/// the substitute's script for the paths of the program and of its debug file.
fn with_debuginfod(place: &Place, find: impl Fn(&str, &str) -> String) -> Command {
    needs("objcopy", "binutils");
    let program = compiled(place, &["-O2", "-g", "-Wl,--build-id"]);
    let debug_file = place.path("debug file");
    for (tool, options) in [("objcopy", "--only-keep-debug"), ("strip", "--strip-all")] {
        let mut command = Command::new(tool);
        command.args([options, &program]);
        if tool == "objcopy" {
            command.arg(&debug_file);
        }
        assert!(command.status().expect(tool).success());
    }
    let script = find(&program, &debug_file.to_string_lossy());
    let find = place.path("debuginfod-find");
    std::fs::write(&find, format!("#!/bin/sh\n{script}\n")).expect("a script");
    std::fs::set_permissions(&find, PermissionsExt::from_mode(0o700)).expect("a program");
    let path = std::env::var("PATH").expect("a path");
    let folder = find.parent().expect("a folder").display();
    let record = "record --server xvfb --stacks=requests --keep-symbols --";
    let mut record = place.x11prof(record.split(' ').chain([program.as_str()]));
    record.env("PATH", format!("{folder}:{path}"));
    record.env("DEBUGINFOD_URLS", "http://127.0.0.1:9/");
    record
}

#[test]
fn kept_symbols_come_from_debuginfod() {
    let place = Place::new();
    // Only this program has a debug file.
    let mut record = with_debuginfod(&place, |program, debug_file| {
        format!("test $1 = debuginfo && readelf -n '{program}' | grep -q $2 && echo '{debug_file}'")
    });
    let recorded = Finished::of(&mut record);
    let said = recorded.stderr();
    recorded.succeeded();
    assert!(said.contains("DEBUGINFOD_URLS"), "{said}");
    let page = place.ok(["network", "x11prof.mcap"]);
    assert!(page.contains("ask_for_atoms (asker.c:18)"), "{page}");
}

#[test]
fn debug_file_that_is_a_pipe_is_not_opened() {
    let place = Place::new();
    let mut record = with_debuginfod(&place, |_, debug_file| {
        format!("rm -f '{debug_file}'; mkfifo '{debug_file}'; echo '{debug_file}'")
    });
    Finished::of(&mut record).succeeded();
}

/// Starts a recording whose download starts `hangs`, and ends the recording by a signal. Checks that the trace is
/// complete, and that the process that wrote its id to the file that `hangs` names has ended.
fn end_hanging_download(hangs: impl Fn(&str) -> String) {
    let place = Place::new();
    let pid = place.path("pid");
    let mut record = with_debuginfod(&place, |_, _| hangs(&pid.to_string_lossy()));
    let mut recorder = record.spawn().expect("x11prof starts");
    until("the download", || pid.exists().then_some(()));
    kill_process(Pid::from_child(&recorder), Signal::TERM).expect("a signal is sent");
    let status = crate::harness::wait(&mut recorder, "record");
    assert_eq!(status.code(), Some(0), "{status}");
    let download = std::fs::read_to_string(&pid).expect("a process id");
    let command = std::path::Path::new("/proc")
        .join(download.trim())
        .join("cmdline");
    let is_over = || std::fs::read(&command).map_or(true, |words| words.is_empty());
    until("the end of the download", || is_over().then_some(()));
    let report = place.run(["report", "x11prof.mcap"]);
    assert!(!report.stderr().contains("cut off"), "{report}");
    report.succeeded();
}

#[test]
fn signal_ends_a_hanging_download_and_keeps_the_trace() {
    end_hanging_download(|pid| {
        format!("sleep 3000 & echo $! >'{pid}.new'; mv '{pid}.new' '{pid}'; wait")
    });
}

#[test]
fn download_that_leaves_its_process_group_is_ended() {
    needs("python3", "python3");
    end_hanging_download(|pid| {
        let leave = "import os, sys, time; os.setpgid(0, os.getpgid(os.getppid())); \
                     os.rename(sys.argv[1] + '.new', sys.argv[1]); time.sleep(3000)";
        format!("echo $$ >'{pid}.new'; exec python3 -c \"{leave}\" '{pid}'")
    });
}

#[test]
fn signal_to_a_recorded_command_starts_no_download() {
    let place = Place::new();
    let downloads = place.path("downloads");
    let mut record = with_debuginfod(&place, |_, _| {
        format!("echo $2 >>'{}'", downloads.display())
    });
    // More requests than the test takes time for.
    let mut recorder = record.arg("100000000").spawn().expect("x11prof starts");
    let trace = place.path("x11prof.mcap");
    let has_stacks = || std::fs::metadata(&trace).is_ok_and(|trace| trace.len() > 10_000);
    until("stacks", || has_stacks().then_some(()));
    kill_process(Pid::from_child(&recorder), Signal::INT).expect("a signal is sent");
    crate::harness::wait(&mut recorder, "record");
    let symbols = place.ok(["dump", "--switches", "x11prof.mcap"]);
    assert!(symbols.contains(r#""kind":"symbol""#), "{symbols:.2000}");
    assert!(!downloads.exists());
}

#[test]
fn slowest_episodes_name_the_waiting_functions() {
    needs("xclock", "x11-apps");
    let place = Place::new();
    place.ok([
        "record",
        "--server",
        "xvfb",
        "--net",
        SLOW,
        "--stacks",
        "--",
        "sh",
        "-c",
        "timeout 4 xclock; true",
    ]);
    let page = place.ok(["episodes", "x11prof.mcap", "--worst", "1"]);
    assert!(page.contains("Start-up, xclock"), "{page}");
    assert!(page.contains("Waited in "), "{page}");
    let report = place.json([
        "episodes",
        "x11prof.mcap",
        "--worst",
        "1",
        "--format",
        "json",
    ]);
    let all = report["episodes"][0]["callers"]
        .as_array()
        .expect("callers");
    let waits: u64 = all.iter().filter_map(|one| one["waits"].as_u64()).sum();
    assert!(waits > 10, "{report:#}");
    // The start-up issue names the call site of its longest wait.
    let issues = place.json(["issues", "x11prof.mcap", "--format", "json"]);
    let all_issues = issues["issues"].as_array().expect("issues");
    let start_up = all_issues.iter().find(|one| one["landmark"] == "Start-up");
    let start_up = start_up.unwrap_or_else(|| panic!("{issues:#}"));
    let waited_in = start_up["blocked_at"][0]["location"]
        .as_str()
        .expect("a place");
    let first = all[0]["functions"][0]["name"].as_str().unwrap_or_default();
    assert!(waited_in.starts_with(first), "{waited_in}: {first}");
    assert_eq!(start_up["by_version"][0]["blocked_at"], waited_in);
    let page = place.ok(["issues", "x11prof.mcap", "--details"]);
    assert!(page.contains("Waited longest in "), "{page}");
}

#[test]
fn stack_sampling_takes_a_small_share_of_wait_time() {
    let place = Place::new();
    let program = compiled(&place, &["-O2", "-s"]);
    place.ok([
        "record", "--server", "xvfb", "--stacks", "--", &program, "40",
    ]);
    let report = place.json(["network", "x11prof.mcap", "--format", "json"]);
    let callers = &report["callers"];
    let of = |figure: &str| callers[figure].as_f64().expect("a figure");
    assert!(
        of("sampled") > 0.0 && of("sampled") <= of("round_trips"),
        "{callers:#}"
    );
    // The first capture may exceed the limit, and so may an interrupted one.
    assert!(
        of("sampling_ms") < 0.15 * of("round_trips_ms"),
        "{callers:#}"
    );
    // For a stripped program addresses are shown.
    let module = callers["callers"][0]["functions"][0]["module"].as_str();
    assert!(
        module.is_some_and(|module| module.starts_with("asker+0x")),
        "{callers:#}"
    );
}

/// Requests by calling function: count and server time in milliseconds.
fn by_function(place: &Place, by: &str) -> Vec<(String, u64, f64)> {
    let report = place.json(["report", "x11prof.mcap", "--by", by, "--format", "json"]);
    let groups = report["groups"]["lines"].as_array().expect("groups");
    let group = |one: &Value| {
        let name = one["name"].as_str()?.to_owned();
        Some((name, one["count"].as_u64()?, one["server_ms"].as_f64()?))
    };
    groups.iter().filter_map(group).collect()
}

/// The collapsed stacks of a recording.
fn flames(place: &Place) -> String {
    let words = ["--to", "collapsed", "--by", "stack", "-o", "flames"];
    place.ok(["export"].iter().chain(&words));
    std::fs::read_to_string(place.path("flames")).expect("stacks")
}

#[test]
fn requests_have_their_calling_function() {
    let place = Place::new();
    needs("cc", "gcc");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/stacks/drawer.c");
    let drawer = place.path("drawer");
    for options in [
        &["-DXLIB", "-l:libX11.so.6", "-O2", "-g"][..],
        &["-l:libxcb.so.1", "-O2", "-g", "-fno-omit-frame-pointer"][..],
    ] {
        let mut compiler = Command::new("cc");
        compiler.arg(source).args(options).arg("-o").arg(&drawer);
        assert!(compiler.status().expect("cc").success());
        let program = drawer.to_str().expect("a plain path");
        place.ok([
            "record",
            "--server",
            "xvfb",
            "--stacks=requests",
            "--",
            program,
        ]);
        let functions = by_function(&place, "function");
        let in_function = |name: &str| {
            let mut all = functions.iter();
            all.find(|(one, ..)| *one == format!("{name} [drawer]"))
                .unwrap_or_else(|| panic!("{name}: {functions:?}"))
        };
        for (name, count) in [
            ("clear_areas", 300),
            ("copy_areas", 200),
            ("leak_pixmaps", 7),
            ("ask_for_atoms", 5),
        ] {
            assert_eq!(in_function(name).1, count, "{name}: {functions:?}");
        }
        // One function makes all requests of each kind, so both have the same time.
        let report = place.json(["report", "x11prof.mcap", "--format", "json"]);
        for (request, function) in [("ClearArea", "clear_areas"), ("CopyArea", "copy_areas")] {
            let requests = report["requests"].as_array().expect("requests");
            let mut requests = requests.iter();
            let request = requests.find(|one| one["name"] == request).expect(request);
            let (time, ours) = (
                request["server_ms"].as_f64().expect("a time"),
                in_function(function).2,
            );
            assert!(
                (ours / time - 1.0).abs() < 0.05,
                "{function}: {ours} of {time}"
            );
        }
        let lines = by_function(&place, "line");
        let line = lines
            .iter()
            .find(|(name, ..)| name.starts_with("clear_areas (drawer.c:"));
        assert_eq!(line.expect("a line").1, 300, "{lines:?}");
        // The same requests come from three stacks.
        let stacks = by_function(&place, "stack");
        let cleared = stacks
            .iter()
            .filter(|(name, ..)| name.starts_with("clear_areas "));
        let cleared: Vec<u64> = cleared.map(|(_, count, _)| *count).collect();
        assert_eq!(cleared, [100, 100, 100], "{stacks:?}");
        // All waits have the stacks of their requests.
        let waits = place.json(["network", "x11prof.mcap", "--format", "json"]);
        for one in waits["suggestions"].as_array().expect("suggestions") {
            let askers = one["callers"].as_array().expect("callers").iter();
            let asked: u64 = askers.filter_map(|of| of["waits"].as_u64()).sum();
            let trips = one["round_trips"].as_u64().expect("trips");
            // A slow reply is not saved.
            assert!(asked == trips || trips == 0, "{one:#}");
        }
        let waits = callers(&waits);
        let is_asker = |&(name, count, request): &(&str, u64, &str)| {
            name.ends_with("ask_for_atoms") && (count, request) == (5, "InternAtom")
        };
        assert!(waits.iter().any(is_asker), "{waits:?}");
        // Resources that the program leaves on the server name the function that created them.
        let held = &report["resources"]["clients"][0]["kinds"];
        let kinds = held.as_array().expect("kinds").iter();
        let mut pixmaps = kinds.filter(|one| one["kind"] == "pixmap");
        let left = &pixmaps.next().expect("pixmaps")["remained"];
        assert_eq!(left[0]["function"], "leak_pixmaps [drawer]", "{left:#}");
        assert_eq!(
            (&left[0]["count"], &left[1]),
            (&Value::from(7), &Value::Null)
        );
        let flames = flames(&place);
        let main = "main (drawer.c";
        let clear = flames
            .lines()
            .find(|line| line.contains(";clear_areas (drawer.c:"));
        let clear = clear.unwrap_or_else(|| panic!("{flames}"));
        assert!(
            clear.contains(main) && clear.contains(";ClearArea "),
            "{clear}"
        );
        assert!(clear.find(main) < clear.find("draw_again"), "{clear}");
        let page = place.ok(["report", "x11prof.mcap", "--by", "function"]);
        assert!(page.contains("Function "), "{page}");
        let times = &report["client_and_server"];
        let (took, ran) = (&times["stacks_ms"], &times["client_ms"]);
        let (took, ran) = (took.as_f64(), ran.as_f64());
        assert!(took > Some(0.0) && took < ran, "{times}");
    }
}

#[test]
fn stacks_of_packaged_programs_are_complete() {
    for (program, package) in [
        ("gtk3-widget-factory", "gtk-3-examples"),
        ("featherpad", "featherpad"),
        ("xterm", "xterm"),
    ] {
        needs(program, package);
        let place = Place::new();
        let record = "record --server xvfb --stacks=requests --seconds 3 --";
        place.ok(record.split(' ').chain([program]));
        let report = place.json("network x11prof.mcap --format json".split(' '));
        let callers = &report["callers"];
        let of = |figure: &str| callers[figure].as_u64().expect("a count");
        assert!(of("round_trips") > 40, "{program}: {callers:#}");
        assert!(
            20 * of("complete") >= 19 * of("round_trips"),
            "{program}: {} of {}",
            of("complete"),
            of("round_trips")
        );
    }
}

#[test]
fn python_requests_have_function_and_line() {
    needs("python3", "python3-tk");
    let place = Place::new();
    let program = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/clients/stacks/pictures.py"
    );
    let record = "record --server xvfb --stacks=requests -- /usr/bin/python3";
    place.ok(record.split(' ').chain([program]));
    let functions = by_function(&place, "function");
    let count = |name: &str| {
        let named = functions.iter().find(|(one, ..)| one == name);
        named.map(|(_, count, _)| *count)
    };
    assert_eq!(
        count("ask_for_atoms [pictures.py]"),
        Some(5),
        "{functions:?}"
    );
    assert_eq!(count("leak_windows [pictures.py]"), Some(7));
    // Each call has its own line: Tk's updates are attributed to the line that requested them.
    let lines = by_function(&place, "line");
    let drawn = lines
        .iter()
        .find(|(name, ..)| name == "Picture.draw (pictures.py:21)");
    assert!(
        drawn.is_some_and(|(_, count, _)| *count >= 1500),
        "{lines:?}"
    );
    let waits = place.json(["network", "x11prof.mcap", "--format", "json"]);
    let all = waits["callers"]["callers"].as_array().expect("callers");
    let asked = all.iter().filter(|one| {
        let functions = one["functions"].as_array().expect("functions");
        functions.iter().any(|one| one["name"] == "ask_for_atoms")
    });
    let asked: Vec<&Value> = asked
        .flat_map(|one| one["requests"].as_array())
        .flatten()
        .collect();
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_eq!(
        (&asked[0]["request"], &asked[0]["waits"]),
        (&"InternAtom".into(), &5.into())
    );
    let now = place.json(["top", "x11prof.mcap", "--json"]);
    let polls_in = now["clients"][0]["polls_at"].as_str();
    assert!(
        polls_in.is_some_and(|place| place.contains("poll_pointer (pictures.py:")),
        "{now:#}"
    );
    let report = place.json(["report", "x11prof.mcap", "--format", "json"]);
    let held = &report["resources"]["clients"][0]["kinds"];
    let kinds = held.as_array().expect("kinds").iter();
    let mut windows = kinds.filter(|one| one["kind"] == "window");
    let left = windows.next().expect("windows")["remained"]
        .as_array()
        .expect("places");
    let leaked = left
        .iter()
        .find(|one| one["function"] == "leak_windows [pictures.py]");
    assert_eq!(
        leaked.map(|one| &one["count"]),
        Some(&7.into()),
        "{left:#?}"
    );
    // One function draws the ellipses at three stack depths; its time is the time of all ellipses.
    let requests = report["requests"].as_array().expect("requests");
    let mut arcs = requests.iter().filter(|one| one["name"] == "PolyFillArc");
    let arcs = arcs.next().expect("ellipses");
    assert_eq!(arcs["count"], 300);
    let flames = flames(&place);
    let drawing: Vec<&str> = flames
        .lines()
        .filter(|line| line.contains(";PolyFillArc "))
        .collect();
    let within = ";draw_again (pictures.py:27);Picture.draw (pictures.py:21);";
    assert!(
        drawing.len() == 3 && drawing.iter().all(|line| line.contains(within)),
        "{drawing:#?}"
    );
    let micros = |line: &&str| line.rsplit(' ').next()?.parse::<f64>().ok();
    let drawn: f64 = drawing.iter().filter_map(micros).sum();
    // The stacks include the transport of these requests; each line is rounded.
    let ms = |part: &str| arcs[part].as_f64().expect("a time");
    let time = 1000.0 * (ms("server_ms") + ms("transport_ms"));
    assert!((drawn - time).abs() <= 1.5, "{drawn} of {time}");
}

#[test]
fn functions_have_their_cpu_time() {
    let place = Place::new();
    for options in [
        &["-O2", "-g"][..],
        &["-O2", "-g", "-fno-omit-frame-pointer"],
    ] {
        let program = client(&place, "burner", options);
        let record = "record --server xvfb --stacks=cpu,requests --";
        place.ok(record.split(' ').chain([program.as_str()]));
        let report = place.json("report x11prof.mcap --by function --format json".split(' '));
        let running = &report["running"];
        let places = running["locations"].as_array().expect("places");
        let ran = |name: &str| {
            let of = places
                .iter()
                .find(|one| one["location"] == format!("{name} [burner]"));
            of.and_then(|one| one["cpu_ms"].as_f64())
                .unwrap_or_else(|| panic!("{name}: {running:#}"))
        };
        // A sample represents 2 ms. If the kernel hides kernel samples, the time in system calls of these functions
        // is missing.
        let least = if running["kernel"] == true { 0.92 } else { 0.8 };
        for (name, ms) in [("lay_out", 200.0), ("paint", 300.0)] {
            let part = ran(name) / ms;
            assert!(part > least && part < 1.08, "{name}: {running:#}");
        }
        let by_library = "report x11prof.mcap --by library --format json";
        let by_library = place.json(by_library.split(' '));
        let own = &by_library["running"]["locations"][0];
        assert_eq!(own["location"], "burner", "{by_library:#}");
        let own = own["cpu_ms"].as_f64().expect("a time");
        // The functions also run in libc, to read the clock.
        let functions = ran("lay_out") + ran("paint");
        assert!(own > 0.9 * functions, "{by_library:#}");
        let sum = |of: &Value| -> f64 {
            let places = of["running"]["locations"].as_array().expect("places");
            places.iter().filter_map(|one| one["cpu_ms"].as_f64()).sum()
        };
        let all = running["cpu_ms"].as_f64().expect("a time");
        assert!(
            (sum(&by_library) / all - 1.0).abs() < 1e-9,
            "{by_library:#}"
        );
        let start_up = "episodes x11prof.mcap --landmark shown --format json";
        let start_up = place.json(start_up.split(' '));
        let of = &start_up["running"][0];
        assert_eq!(of["by"], "library", "{of:#}");
        assert_eq!(of["locations"][0]["location"], "burner", "{of:#}");
        assert!(of["cpu_ms"].as_f64() > Some(0.9 * functions), "{of:#}");
        place.ok("export x11prof.mcap --to firefox -o profile".split(' '));
        let profile = std::fs::read(place.path("profile")).expect("a profile");
        let profile: Value = serde_json::from_slice(&profile).expect("JSON");
        let threads = profile["threads"].as_array().expect("threads");
        let sampled = threads
            .iter()
            .filter_map(|one| one["samples"]["length"].as_u64());
        assert_eq!(Some(sampled.sum::<u64>()), running["samples"].as_u64());
        let page = place.ok("report x11prof.mcap --by line".split(' '));
        assert!(page.contains("paint (burner.c:"), "{page}");
        assert!(page.contains("Client CPU"), "{page}");
        let alone = "record --server xvfb --stacks=cpu -o cpu.mcap --";
        place.ok(alone.split(' ').chain([program.as_str()]));
        let export = "export cpu.mcap --to collapsed --by stack -o ran";
        place.ok(export.split(' '));
        let ran = std::fs::read_to_string(place.path("ran")).expect("stacks");
        let painting = ran.lines().find(|line| line.contains("paint"));
        assert!(
            painting.is_some_and(|line| line.contains(";(runs) ")),
            "{ran}"
        );
        let episodes = place.ok("episodes x11prof.mcap --worst 1".split(' '));
        assert!(episodes.contains("Ran in paint [burner] ("), "{episodes}");
        let issues = place.ok("issues x11prof.mcap --details".split(' '));
        assert!(
            issues.contains("Ran longest in paint [burner] (1)."),
            "{issues}"
        );
    }
}

#[test]
fn generated_code_has_the_names_of_its_map() {
    let place = Place::new();
    let program = client(&place, "generator", &["-O2"]);
    let record = "record --server xvfb --stacks=cpu --";
    let map = place.ok(record.split(' ').chain([program.as_str()]));
    let report = || place.run("report x11prof.mcap --by function".split(' '));
    let (names, elsewhere) = (Path::new(map.trim()), place.path("names"));
    let has_names = |page: &str| page.contains("\ngenerated_loop [made at run time] ");
    let named = report().succeeded();
    assert!(has_names(&named), "{named}");
    std::fs::rename(names, &elsewhere).expect("the program's map");
    symlink(&elsewhere, names).expect("a link");
    let linked = report().succeeded();
    assert!(has_names(&linked), "{linked}");
    let map_file = File::options().write(true).open(&elsewhere).expect("a map");
    map_file.set_modified(UNIX_EPOCH).expect("a time");
    let old = report();
    std::fs::remove_file(names).expect("a link");
    let (of_older, page) = (old.stderr(), old.succeeded());
    assert!(
        of_older.contains("since the recording began") && !has_names(&page),
        "{of_older}{page}"
    );
    let nameless = report();
    let hint = format!("no function names from {}: the program wrote", map.trim());
    assert!(nameless.to_string().contains(&hint), "{nameless}");
    let page = nameless.succeeded();
    assert!(page.contains("\n[made at run time] "), "{page}");
    let libraries = place.ok("report x11prof.mcap --by library".split(' '));
    assert!(libraries.contains("\n[made at run time] "), "{libraries}");
}

#[test]
fn attach_samples_program_functions() {
    let (server, place) = (Server::xvfb(&[]), Place::new());
    let program = client(&place, "burner", &["-O2", "-g"]);
    let attached = Attached::with(&["--stacks=cpu"], &place, &server.display, None);
    let status = server.client(&program).status();
    assert!(status.expect("the program").success());
    let trace = attached.end();
    let trace = trace.to_str().expect("a plain path");
    let report = place.json(["report", trace, "--by", "function", "--format", "json"]);
    let first = &report["running"]["locations"][0];
    assert_eq!(first["location"], "paint [burner]", "{report:#}");
    // The recorder detects a client when the server reports it.
    let ran = first["cpu_ms"].as_f64().expect("a time");
    assert!(ran > 250.0 && ran < 330.0, "{first}");
    let refused = place.run(["record", "--attach", "--stacks=requests"]);
    assert_eq!(refused.status(), Some(2), "{refused}");
}

#[test]
fn missing_request_stacks_are_reported() {
    let place = Place::new();
    let ours = env!("CARGO_BIN_EXE_x11prof");
    let record = "record --server xvfb --stacks=requests -- env -u LD_PRELOAD";
    let record = place.run(record.split(' ').chain([ours, "ping"]));
    let said = record.stderr();
    record.succeeded();
    assert!(said.contains("no request has a stack"), "{said}");
    for words in [
        &["report", "--by", "function"][..],
        &[
            "export",
            "--to",
            "collapsed",
            "--by",
            "stack",
            "-o",
            "flames",
        ],
    ] {
        let refused = place.run(words);
        assert_eq!(refused.status(), Some(1), "{refused}");
        let said = refused.stderr();
        assert!(said.contains("record --stacks=requests"), "{said}");
    }
    let timeline = [
        "export", "--to", "perfetto", "--by", "stack", "-o", "timeline",
    ];
    place.run(timeline).failed_with_one_line(2);
}

/// Where a client is off the processor, for how long and for what, in an action.
#[test]
fn the_time_off_the_processor_has_its_function_and_its_object() {
    needs("xdotool", "xdotool");
    let place = Place::new();
    let program = client(&place, "sleeper", &["-O2", "-g", "-pthread"]);
    let locked = place.path("locked");
    let locked = locked.to_str().expect("a plain path");
    // The key comes when the program waits for work.
    let key = format!(
        "{program} {locked} & while ! test -e {locked}; do sleep 0.1; done; \
         sleep 0.5; xdotool mousemove 100 100 key a; wait"
    );
    let record = ["record", "--server", "xvfb", "--stacks", "--", "sh", "-c"];
    let recorded = place.run(record.into_iter().chain([key.as_str()]));
    let own_clock = recorded.stdout();
    recorded.succeeded();
    let worst = ["episodes", "x11prof.mcap", "--worst", "1"];
    let report = place.json(worst.iter().copied().chain(["--format", "json"]));
    let all = report["episodes"][0]["off_cpu_at"].as_array();
    let all = all.unwrap_or_else(|| panic!("{report:#}"));
    let source = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/clients/stacks/sleeper.c"
    );
    let source = std::fs::read_to_string(source).expect("the source");
    for (function, object, name) in [
        ("load_config", "sleep", ""),
        ("update_model", "lock", "sleeper"),
        ("run_child", "child", "sleeper"),
        ("read_pipe", "pipe", "sleeper"),
        ("lock_file", "file", locked),
    ] {
        let mut of = all.iter();
        let of = of.find(|one| {
            one["location"]
                .as_str()
                .is_some_and(|at| at.starts_with(function))
        });
        let of = of.unwrap_or_else(|| panic!("{function}: {all:#?}"));
        assert_eq!(of["object"], object, "{of}");
        let has_name = of["name"].as_str().unwrap_or_default().starts_with(name);
        assert!(has_name, "{of}");
        let marked = format!("/* {function} */");
        let line = source.lines().position(|line| line.contains(&marked));
        let line = format!("{function} (sleeper.c:{})", line.expect("a line") + 1);
        assert_eq!(of["location"], line.as_str());
        let clock = own_clock
            .lines()
            .find_map(|line| line.strip_prefix(function));
        let clock: f64 = clock
            .and_then(|ms| ms.trim().parse().ok())
            .expect("its clock");
        let ms = of["off_cpu_ms"].as_f64().expect("a time");
        // The program's own time includes the wait for a processor afterwards.
        assert!(
            ms <= clock + 1.0 && clock - ms < 0.02 * clock,
            "{function}: {ms} of {clock}"
        );
    }
    let page = place.ok(worst);
    assert!(page.contains("sleeps 5"), "{page}");
    assert!(page.contains("ms in load_config (sleeper.c:"), "{page}");
}
