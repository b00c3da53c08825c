//! Finds the four known problems in sixty sessions.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde_json::Value;

use super::sessions::{PROBLEMS, PROGRAMS, Problem, Session};
use crate::harness::{Place, quiet};

/// Number of sessions that are recorded concurrently. Their pauses leave enough processor time for each other.
const AT_A_TIME: usize = 3;

/// The folder of the sessions; `cargo xtask validate issues` keeps it for inspection.
fn folder(place: &Place) -> PathBuf {
    let kept = std::env::var_os("X11PROF_VALIDATE_ISSUES");
    let folder = kept.map_or_else(|| place.path("sessions"), PathBuf::from);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn sessions(of_each: u64, actions: usize) -> Vec<Session> {
    let mut all = Vec::new();
    for number in 0..of_each {
        for program in PROGRAMS {
            for version in ["1", "2"] {
                all.push(Session {
                    program,
                    version,
                    user: format!("user{}", number % 5 + 1),
                    number,
                    actions,
                });
            }
        }
    }
    all
}

/// Records several sessions concurrently. Existing recordings in the folder are reused.
fn record(mut sessions: Vec<Session>, folder: &Path) {
    sessions.retain(|session| !session.trace(folder).exists());
    sessions.reverse();
    let left = Mutex::new(sessions);
    let next = || left.lock().expect("nobody failed").pop();
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some(session) = next() {
                    session.record(folder);
                }
            });
        }
    });
}

/// True if an issue has a problem's program and window.
fn is_about(issue: &Value, problem: &Problem) -> bool {
    let text = |field: &str| issue[field].as_str().unwrap_or_default();
    text("program") == problem.program && text("landmark").contains(problem.landmark)
}

/// True if an issue has a problem's blame.
fn is_blamed(issue: &Value, problem: &Problem) -> bool {
    let blame = issue["blame"].as_str().unwrap_or_default();
    problem.blame.iter().any(|word| blame.contains(word))
}

/// True if the blame is a lack of processors ("no free CPU").
fn lacked(issue: &Value) -> bool {
    let blame = issue["blame"].as_str().unwrap_or_default();
    blame.contains("no free CPU")
}

/// An issue's time over the threshold in the version with the problem and in the other version.
fn own_and_other(issue: &Value, problem: &Problem) -> [f64; 2] {
    let versions = issue["by_version"].as_array().expect("a list");
    let sum = |own: bool| -> f64 {
        let of = versions.iter();
        let of = of.filter(|by| (by["version"] == problem.version) == own);
        of.map(|by| by["total_over_threshold_ms"].as_f64().expect("ms"))
            .sum()
    };
    [sum(true), sum(false)]
}

/// The position of each problem in the list. Asserts the right blame and the right version.
fn places(report: &Value) -> Vec<usize> {
    let issues = report["issues"].as_array().expect("a list");
    let place = |problem: &Problem| {
        let is_of = |issue: &Value| is_about(issue, problem) && is_blamed(issue, problem);
        let at = issues.iter().position(is_of);
        let about = (problem.program, problem.blame);
        let at = at.unwrap_or_else(|| panic!("{about:?} is not in {report:#}"));
        println!("{about:?}: number {} of {}", at + 1, issues.len());
        // On a busy machine the other version may be slow once.
        let [own, other] = own_and_other(&issues[at], problem);
        assert!(own > 5.0 * other, "{:#}", issues[at]);
        at
    };
    PROBLEMS.iter().map(place).collect()
}

/// The problems of six sessions are found: each takes more time in its version than in the other one. Their rank
/// depends on the machine's load and is tested with sixty sessions.
#[test]
fn six_sessions_reveal_the_known_problems() {
    let _quiet = quiet();
    let place = Place::new();
    let folder = folder(&place);
    record(sessions(1, 4), &folder);
    let name = folder.to_string_lossy().into_owned();
    let report = place.json(["issues", &name, "--format", "json"]);
    assert_eq!(
        (&report["sessions"], &report["users"]),
        (&6.into(), &1.into())
    );
    println!("{}", place.ok(["issues", &name, "--details", "--all"]));
    let issues = report["issues"].as_array().expect("a list");
    for problem in &PROBLEMS {
        let is_of = |issue: &&Value| {
            is_about(issue, problem)
                && (is_blamed(issue, problem) || problem.works && lacked(issue))
        };
        let of = issues.iter().filter(is_of);
        let [own, other] = of.fold([0.0, 0.0], |sum, issue| {
            let more = own_and_other(issue, problem);
            [sum[0] + more[0], sum[1] + more[1]]
        });
        let about = (problem.program, problem.blame);
        assert!(own > other, "{about:?}: {own} {other} {report:#}");
    }
    // The worst issue's example is an episode of its recording.
    let example = &report["issues"][0]["example"];
    let trace = example["trace"].as_str().expect("a trace");
    let worst = place.json(["episodes", trace, "--worst", "50", "--format", "json"]);
    let worst = worst["episodes"].as_array().expect("a list");
    let is_it = |one: &Value| {
        let [start_ms, at_s] = [&one["start_ms"], &example["at_s"]].map(|time| time.as_f64());
        let apart = start_ms.zip(at_s).map(|(start, at)| start / 1e3 - at);
        one["latency_ms"] == example["latency_ms"] && apart.is_some_and(|apart| apart.abs() < 1e-6)
    };
    assert!(worst.iter().any(is_it), "{worst:#?}\n{example:#}");
}

/// Ten sessions of each program and version: the four problems rank first, and every issue marked as new or fixed
/// is a real change.
#[test]
#[ignore = "five minutes: cargo xtask validate issues"]
fn sixty_sessions_rank_the_known_problems_first() {
    let place = Place::new();
    let folder = folder(&place);
    record(sessions(10, 10), &folder);
    let name = folder.to_string_lossy().into_owned();
    let report = place.json(["issues", &name, "--format", "json"]);
    println!("{}", place.ok(["issues", &name, "--details"]));
    assert_eq!(
        (&report["sessions"], &report["users"]),
        (&60.into(), &5.into())
    );
    let mut top = places(&report);
    let issues = report["issues"].as_array().expect("a list");
    for (problem, at) in PROBLEMS.iter().zip(&top) {
        let change = &issues[*at]["change"];
        let expected = match problem.version {
            "2" => ["new", "worse"],
            _ => ["fixed", "better"],
        };
        let word = change["change"].as_str().unwrap_or_default();
        let about = (problem.program, problem.blame);
        println!("{about:?}: {word}, chance {}", change["p_value"]);
        assert!(expected.contains(&word), "{about:?}: {change:#}");
    }
    top.sort_unstable();
    // Issues of a busy machine (run queue) are not problems of a program.
    for at in (0..top[3]).filter(|at| !top.contains(at)) {
        assert!(
            lacked(&issues[at]),
            "above one of the four: {:#}",
            issues[at]
        );
    }
    // Issues that did not change have no `change` label.
    for (at, issue) in issues.iter().enumerate() {
        assert!(
            top.contains(&at) || lacked(issue) || issue["change"]["change"].is_null(),
            "it did not change: {issue:#}"
        );
    }
}
