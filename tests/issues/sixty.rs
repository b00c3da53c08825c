//! The four problems of sixty sessions, found among them.

use std::path::PathBuf;

use serde_json::Value;

use crate::harness::Place;
use crate::sessions::{PROBLEMS, PROGRAMS, Problem, Session};

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

/// Whether an issue is of a problem.
fn is_of(issue: &Value, problem: &Problem) -> bool {
    let text = |field: &str| issue[field].as_str().unwrap_or_default();
    text("program") == problem.program
        && text("landmark").contains(problem.landmark)
        && problem
            .blame
            .iter()
            .any(|blame| text("blame").contains(blame))
        && issue["versions"] == serde_json::json!([problem.version])
}

/// Whether an issue is of a problem's action, whatever its blame: how it went otherwise in the same version.
fn is_same_action(issue: &Value, problem: &Problem) -> bool {
    let text = |field: &str| issue[field].as_str().unwrap_or_default();
    let landmark = text("landmark");
    let same = landmark.contains(problem.landmark)
        || problem.also.is_some_and(|also| landmark.contains(also));
    same && text("program") == problem.program
        && issue["versions"] == serde_json::json!([problem.version])
}

/// Each problem is in the list, in the right version and with the right blame: where the last of them is.
fn the_problems_are_found(report: &Value) -> usize {
    let issues = report["issues"].as_array().expect("a list");
    let mut last = 0;
    for problem in &PROBLEMS {
        let at = issues.iter().position(|issue| is_of(issue, problem));
        let about = (problem.program, problem.landmark);
        let at = at.unwrap_or_else(|| panic!("{about:?} is not in {report:#}"));
        println!("{about:?}: number {} of {}", at + 1, issues.len());
        last = last.max(at);
    }
    last
}

/// The problems of six sessions are found. Whether they are above everything else depends on how busy the machine
/// is: the sixty tell.
#[test]
fn the_problems_of_six_sessions_are_found() {
    let place = Place::new();
    let folder = folder(&place);
    for session in sessions(1, 4) {
        session.record(&folder);
    }
    let name = folder.to_string_lossy().into_owned();
    let report = place.json(["issues", &name, "--format", "json"]);
    assert_eq!(
        (&report["sessions"], &report["users"]),
        (&6.into(), &1.into())
    );
    println!("{}", place.ok(["issues", &name]));
    the_problems_are_found(&report);
    let example = &report["issues"][0]["example"];
    let trace = example["trace"].as_str().expect("a trace");
    // One of the worst there: an action, or what another client did for it.
    let worst = place.json(["episodes", trace, "--worst", "5", "--format", "json"]);
    let worst = worst["episodes"].as_array().expect("a list");
    let starts = worst.iter().filter_map(|one| one["start_ms"].as_f64());
    let at_s = example["at_s"].as_f64().expect("a time");
    let mut near = starts.filter(|at_ms| (at_ms / 1e3 - at_s).abs() < 1e-6);
    assert!(near.next().is_some(), "{worst:#?}\n{example:#}");
}

/// Ten sessions of each program and version: the four problems are on top, and what is new or fixed is real.
#[test]
#[ignore = "ten minutes: cargo xtask validate issues"]
fn the_problems_of_sixty_sessions_are_on_top() {
    let place = Place::new();
    let folder = folder(&place);
    for session in sessions(10, 10) {
        // Those of the last time are taken again where they were left there.
        if !session.trace(&folder).exists() {
            session.record(&folder);
        }
    }
    let name = folder.to_string_lossy().into_owned();
    let report = place.json(["issues", &name, "--format", "json"]);
    println!("{}", place.ok(["issues", &name]));
    assert_eq!(
        (&report["sessions"], &report["users"]),
        (&60.into(), &5.into())
    );
    let last = the_problems_are_found(&report);
    let issues = report["issues"].as_array().expect("a list");
    for issue in &issues[..last] {
        let known = PROBLEMS
            .iter()
            .any(|problem| is_same_action(issue, problem));
        assert!(known, "above one of the four: {issue:#}");
    }
    for problem in &PROBLEMS {
        let expected = if problem.version == "2" {
            "new"
        } else {
            "fixed"
        };
        // One action is several issues where it did not always do the same: one of them at least is seldom chance.
        let real = |issue: &&Value| is_of(issue, problem) && issue["change"]["change"] == expected;
        let real = issues.iter().find(real);
        let about = (problem.program, problem.landmark);
        let real = real.unwrap_or_else(|| panic!("{about:?} is not {expected}"));
        println!("{about:?}: {expected}, chance {}", real["change"]["chance"]);
    }
    // What did not change has no word.
    for issue in issues {
        let known = PROBLEMS
            .iter()
            .any(|problem| is_same_action(issue, problem));
        assert!(
            known || issue["change"]["change"].is_null(),
            "it did not change: {issue:#}"
        );
    }
}
