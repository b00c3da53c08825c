//! `issues`: the same problem in many sessions becomes one issue, sorted by severity, from recordings and from
//! tables.

mod online;
mod pages;
mod sessions;
mod sixty;

use std::path::{Path, PathBuf};

use crate::harness::terminal::Terminal;
use crate::harness::{Finished, Place, needs, until};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

/// Recordings and their tables give the same list. Damaged and foreign files are reported and skipped.
#[test]
fn tables_match_recordings_and_damaged_files_are_skipped() {
    let place = Place::new();
    let folder = place.path("all/version=1.2/user=ann");
    std::fs::create_dir_all(&folder).expect("a folder");
    for name in ["xterm.mcap", "xclock.mcap", "gtk3-widget-factory.mcap"] {
        std::fs::copy(data(name), folder.join(name)).expect("a copy");
    }
    std::fs::copy(data("xterm.mcap"), place.path("all/again.mcap")).expect("a copy");
    let whole = std::fs::read(data("xterm.mcap")).expect("a recording");
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle..middle + 50].fill(0x55);
    place.write("all/damaged.mcap", &damaged);
    place.write("all/notes.txt", b"not a recording");
    place.write("all/foreign.mcap", b"\x89PNG not a recording either");
    place.write("all/episodes.parquet", b"PAR1 no table");

    let list =
        |folder: &str| place.json(["issues", folder, "--threshold", "5", "--format", "json"]);
    let from_traces = list("all");
    let left_out: Vec<&str> = from_traces["skipped"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|left| left["file"].as_str().expect("a name"))
        .collect();
    // Of two copies of a session, the first by name counts.
    let ones = [
        "damaged",
        "foreign",
        "notes.txt",
        "episodes.parquet",
        "xterm",
    ];
    assert_eq!(left_out.len(), ones.len(), "{left_out:?}");
    for one in ones {
        assert!(
            left_out.iter().any(|file| file.contains(one)),
            "{one}: {left_out:?}"
        );
    }
    assert_eq!(from_traces["sessions"], 3);

    std::fs::remove_file(place.path("all/again.mcap")).expect("it is there");
    let said = place.run(["export", "all", "--to", "parquet", "-o", "tables"]);
    assert!(
        said.stderr().contains("3 sessions in tables"),
        "{}",
        said.stderr()
    );
    let mut from_traces = list("all");
    let mut from_tables = list("tables");
    for report in [&mut from_traces, &mut from_tables] {
        report["skipped"].take();
    }
    assert!(
        from_traces["issues"]
            .as_array()
            .is_some_and(|list| list.len() > 3)
    );
    assert_eq!(from_traces, from_tables);
    assert_eq!(from_traces["versions"], serde_json::json!(["1.2"]));
    assert_eq!(
        (&from_traces["users"], &from_traces["sessions"]),
        (&1.into(), &3.into())
    );
    // Exporting a session again replaces its rows.
    place.ok(["export", "all", "--to", "parquet", "-o", "tables"]);
    let mut again = list("tables");
    again["skipped"].take();
    assert_eq!(again, from_tables);
    let nothing = place
        .run(["issues", "all/notes.txt"])
        .failed_with_one_line(1);
    assert!(nothing.contains("neither a recording"), "{nothing}");
}

/// The list fits a terminal; details, accepted issues and errors are readable text.
#[test]
fn issue_list_is_readable_text() {
    let place = Place::new();
    let folder = place.path("all");
    std::fs::create_dir_all(place.path("empty")).expect("a folder");
    std::fs::create_dir_all(&folder).expect("a folder");
    for name in ["xterm.mcap", "xclock.mcap"] {
        std::fs::copy(data(name), folder.join(name)).expect("a copy");
    }
    place.write(
        "known.toml",
        b"format = 1\n[[issue]]\nprogram = \"xclock\"\naccepted = \"it has many fonts\"\n",
    );
    let words = ["issues", "all", "--threshold", "5", "--known", "known.toml"];
    let list = |more: &[&str]| place.ok(words.iter().chain(more));
    let short = list(&[]);
    assert!(
        short.contains("Start-up (xterm): waiting for the server (QueryFont)"),
        "{short}"
    );
    assert!(short.contains("1 issue accepted, not shown"), "{short}");
    assert!(!short.contains("Users"), "nobody is known: {short}");
    let long = list(&["--all", "--details"]);
    for part in [
        "; accepted: it",
        "once: Start-up (windows,",
        "The slowest is in all/xterm.mcap at 0.",
    ] {
        assert!(long.contains(part), "{part}: {long}");
    }
    let widest = short
        .lines()
        .chain(long.lines())
        .map(|line| line.chars().count());
    assert!(widest.max().is_some_and(|columns| columns <= 80), "{long}");
    let empty = place.run(["issues", "empty"]).failed_with_one_line(1);
    assert!(
        empty.contains("empty: there is no session; record one"),
        "{empty}"
    );
    let versions = place.run(["issues", "all", "--compare", "1,2"]);
    let versions = versions.failed_with_one_line(2);
    assert!(versions.contains("--label version=1.2"), "{versions}");
}

/// A query runs in an installed DuckDB with a view for each table. Without DuckDB the error explains how to install
/// it.
#[test]
fn query_runs_in_an_installed_duckdb() {
    use std::os::unix::fs::PermissionsExt;

    let place = Place::new();
    let trace = data("xclock.mcap");
    let trace = trace.to_string_lossy();
    place.ok(["export", &trace, "--to", "parquet", "-o", "it's"]);
    std::fs::create_dir(place.path("bin")).expect("a folder");
    let duckdb = place.write(
        "bin/duckdb",
        b"#!/bin/sh\nfor word; do echo \"<$word>\"; done\n",
    );
    let runs = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(duckdb, runs).expect("a program");
    let query = ["sql", "SELECT 1", "it's", "--format", "csv"];
    let run = |path: &str| {
        let mut command = place.x11prof(query);
        Finished::of(command.env("PATH", place.path(path)))
    };
    let asked = run("bin").succeeded();
    assert!(
        asked.contains("CREATE VIEW episodes AS SELECT * FROM read_parquet('it''s/episodes/**"),
        "{asked}"
    );
    assert!(asked.contains("hive_types_autocast = false"), "{asked}");
    assert!(!asked.contains("VIEW marks"), "it has none: {asked}");
    assert!(
        asked.starts_with("<-csv>") && asked.trim_end().ends_with("<SELECT 1>"),
        "{asked}"
    );
    let none = run("nothing").failed_with_one_line(1);
    assert!(none.contains("pip install duckdb"), "{none}");
    let elsewhere = place.run(["sql", "SELECT 1", "."]).failed_with_one_line(1);
    assert!(elsewhere.contains("export --to parquet"), "{elsewhere}");
}

/// Names in tables may contain escape sequences. Only a pipe or a file receives them unchanged.
#[test]
fn query_results_are_stripped_of_escapes_on_a_terminal() {
    use std::os::unix::fs::PermissionsExt;

    needs("tmux", "tmux");
    let place = Place::new();
    std::fs::create_dir_all(place.path("tables/episodes")).expect("a folder");
    let duckdb = place.write(
        "duckdb",
        b"#!/bin/sh\nfor to in 1 2; do printf 'a\\033[31mb\\342\\200\\256c\\n' \
          >&$to; done\nexit 3\n",
    );
    let runs = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(duckdb, runs).expect("a program");
    let folder = place.path("");
    let query = ["sql", "SELECT 1", "tables", "--format", "csv"];
    let piped = Finished::of(place.x11prof(query).env("PATH", &folder));
    assert_eq!(
        String::from_utf8_lossy(&piped.output.stdout),
        "a\u{1b}[31mb\u{202e}c\n"
    );
    let terminal = Terminal::start(&place);
    terminal.types(&format!(
        "clear; cd {0}; PAGER=cat PATH={0}:$PATH {1} sql 'SELECT 1' tables --format csv; echo status=$?\n",
        folder.display(),
        env!("CARGO_BIN_EXE_x11prof"),
    ));
    let screen = terminal.shows("the result", |screen| screen.contains("\nstatus=1"));
    assert_eq!(screen.matches("a?[31mb?c\n").count(), 2, "{screen}");
}

/// A query may run for days.
#[test]
fn query_ends_with_x11prof() {
    use std::os::unix::fs::PermissionsExt;

    let place = Place::new();
    std::fs::create_dir_all(place.path("tables/episodes")).expect("a folder");
    let program = b"#!/bin/sh\necho $$ > pid.new\nmv pid.new pid\nexec sleep 600\n";
    std::fs::create_dir(place.path("bin")).expect("a folder");
    let duckdb = place.write("bin/duckdb", program);
    let runs = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(duckdb, runs).expect("a program");
    let path = format!("{}:/usr/bin:/bin", place.path("bin").display());
    let mut command = place.x11prof(["sql", "SELECT 1", "tables"]);
    let mut child = command.env("PATH", path).spawn().expect("x11prof starts");
    let pid = until("the query", || {
        std::fs::read_to_string(place.path("pid")).ok()
    });
    child.kill().expect("a signal is sent");
    child.wait().expect("x11prof ends");
    let state = Path::new("/proc").join(pid.trim()).join("stat");
    until("the end of the query", || {
        let state = std::fs::read_to_string(&state).unwrap_or_default();
        // An ended process stays until its parent waits for it.
        (state.is_empty() || state.contains(") Z ")).then_some(())
    });
}

/// A folder of tables may contain untrusted programs and modules.
#[test]
fn query_runs_no_code_from_the_current_directory() {
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    let place = Place::new();
    let trace = data("xclock.mcap");
    let trace = trace.to_string_lossy();
    place.ok(["export", &trace, "--to", "parquet", "-o", "tables"]);
    for module in ["duckdb", "csv", "json", "os", "site", "sitecustomize"] {
        let code = b"open('ran', 'w')\nraise SystemExit(0)\n";
        place.write(&format!("{module}.py"), code);
    }
    let program = |path: &str, text: &[u8]| {
        let file = place.write(path, text);
        let runs = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(file, runs).expect("a program");
    };
    for name in ["duckdb", "python3"] {
        program(name, b"#!/bin/sh\n: > ran\n");
    }
    std::fs::create_dir(place.path("bin")).expect("a folder");
    let mut python = Command::new("python3");
    let python = Finished::of(python.args(["-c", "import sys; print(sys.executable)"]));
    let python = python.succeeded();
    std::os::unix::fs::symlink(python.trim(), place.path("bin/python3")).expect("a link");
    let query = || {
        let mut command = place.x11prof(["sql", "SELECT 1", "tables", "--format", "json"]);
        let path = format!(":.:bin:{}", place.path("bin").display());
        Finished::of(command.env("PATH", path).env("PYTHONPATH", ":."))
    };
    let none = query().failed_with_one_line(1);
    assert!(none.contains("pip install duckdb"), "{none}");
    assert!(
        !place.path("ran").exists(),
        "code of the current folder ran"
    );
    // Modules in the user's own site packages are used.
    let own = Finished::of(
        Command::new(place.path("bin/python3"))
            .args(["-c", "import site; print(site.getusersitepackages())"])
            .env("HOME", place.path("")),
    );
    let own = own.succeeded();
    std::fs::create_dir_all(own.trim()).expect("a folder");
    let package = Path::new(own.trim()).join("duckdb.py");
    std::fs::write(
        package,
        b"import os\nprint(os.getcwd(), flush=True)\nos._exit(0)\n",
    )
    .expect("a package");
    assert_eq!(query().succeeded().trim(), "/");
    assert!(
        !place.path("ran").exists(),
        "code of the current folder ran"
    );
}
