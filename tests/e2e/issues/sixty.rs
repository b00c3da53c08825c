//! The four problems of sixty sessions, found among them.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde_json::Value;

use super::sessions::{PROBLEMS, PROGRAMS, Problem, Session};
use crate::harness::{Disturbance, Place, alone};

/// Sessions that are recorded at a time: people pause, so that they leave each other the processors.
const AT_A_TIME: usize = 3;

/// The share of the processors that others may have while sessions are recorded.
const MOST_OF_OTHERS: f64 = 0.1;

/// Where the sessions are kept, for who wants to look at them (`cargo xtask validate issues`).
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

/// Records sessions, several at a time. Those of the last time are taken again where they were left there.
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

/// True where an issue is that of a problem.
fn is_of(issue: &Value, problem: &Problem) -> bool {
    let text = |field: &str| issue[field].as_str().unwrap_or_default();
    let mut blames = problem.blame.iter();
    text("program") == problem.program
        && text("landmark").contains(problem.landmark)
        && blames.any(|blame| text("blame").contains(blame))
}

/// Each problem is in the list, with the right blame and in the right version: its place.
fn places(report: &Value) -> Vec<usize> {
    let issues = report["issues"].as_array().expect("a list");
    let place = |problem: &Problem| {
        let at = issues.iter().position(|issue| is_of(issue, problem));
        let about = (problem.program, problem.blame);
        let at = at.unwrap_or_else(|| panic!("{about:?} is not in {report:#}"));
        println!("{about:?}: number {} of {}", at + 1, issues.len());
        // A busy machine may make the other version slow once.
        let times = |version: &Value| {
            let by = issues[at]["by_version"].as_array().expect("a list");
            let by = by.iter().find(|by| &by["version"] == version);
            by.map_or(0.0, |by| {
                by["total_over_threshold_ms"].as_f64().expect("ms")
            })
        };
        let [other, own] = if problem.version == "2" {
            ["1", "2"]
        } else {
            ["2", "1"]
        };
        assert!(
            times(&own.into()) > 5.0 * times(&other.into()),
            "{:#}",
            issues[at]
        );
        at
    };
    PROBLEMS.iter().map(place).collect()
}

/// The problems of six sessions are found. Whether they are above everything else depends on how busy the
/// machine is: the sixty tell.
#[test]
fn the_problems_of_six_sessions_are_found() {
    let _alone = alone();
    let place = Place::new();
    let folder = folder(&place);
    let disturbance = Disturbance::begin(&[]);
    record(sessions(1, 4), &folder);
    let others = disturbance.share_of_others();
    let name = folder.to_string_lossy().into_owned();
    let report = place.json(["issues", &name, "--format", "json"]);
    assert_eq!(
        (&report["sessions"], &report["users"]),
        (&6.into(), &1.into())
    );
    println!("{}", place.ok(["issues", &name, "--details", "--all"]));
    if others > MOST_OF_OTHERS {
        // Then the lack of a processor is to blame, rightly.
        println!(
            "others had {:.0} % of the processors: not compared",
            100.0 * others
        );
        return;
    }
    places(&report);
    let example = &report["issues"][0]["example"];
    let trace = example["trace"].as_str().expect("a trace");
    // One of the worst there.
    let worst = place.json(["episodes", trace, "--worst", "5", "--format", "json"]);
    let worst = worst["episodes"].as_array().expect("a list");
    let starts = worst.iter().filter_map(|one| one["start_ms"].as_f64());
    let at_s = example["at_s"].as_f64().expect("a time");
    let mut near = starts.filter(|at_ms| (at_ms / 1e3 - at_s).abs() < 1e-6);
    assert!(near.next().is_some(), "{worst:#?}\n{example:#}");
}

/// Ten sessions of each program and version: the four problems are the top of the list, and what is new or
/// fixed is real.
#[test]
#[ignore = "five minutes: cargo xtask validate issues"]
fn the_problems_of_sixty_sessions_are_on_top() {
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
        println!("{about:?}: {word}, chance {}", change["chance"]);
        assert!(expected.contains(&word), "{about:?}: {change:#}");
    }
    top.sort_unstable();
    // What a busy machine lacked is nobody's problem.
    let lacked = |issue: &Value| {
        let blame = issue["blame"].as_str().unwrap_or_default();
        blame.starts_with("no free processor")
    };
    for at in (0..top[3]).filter(|at| !top.contains(at)) {
        assert!(
            lacked(&issues[at]),
            "above one of the four: {:#}",
            issues[at]
        );
    }
    // What did not change has no word.
    for (at, issue) in issues.iter().enumerate() {
        assert!(
            top.contains(&at) || lacked(issue) || issue["change"]["change"].is_null(),
            "it did not change: {issue:#}"
        );
    }
}
