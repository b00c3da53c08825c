//! Runs the shell steps of action.yml as a GitHub runner runs them.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::harness::{Finished, Place, needs};

const ACTION: &str = include_str!("../../action.yml");

/// A step that runs a shell.
#[derive(Default)]
struct Step {
    environment: Vec<(String, String)>,
    script: String,
}

/// The value after `key:` in a line with this indentation.
fn value<'a>(line: &'a str, indent: usize, key: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(&" ".repeat(indent))?.strip_prefix(key)?;
    Some(rest.strip_prefix(':')?.trim().trim_matches('\''))
}

/// The inputs with their defaults.
fn inputs() -> BTreeMap<String, String> {
    let mut inputs = BTreeMap::new();
    let mut name = String::new();
    for line in ACTION.lines().take_while(|line| *line != "runs:") {
        if let Some(default) = value(line, 4, "default") {
            inputs.insert(name.clone(), default.to_owned());
        } else if let Some(key) = line
            .strip_prefix("  ")
            .and_then(|line| line.strip_suffix(':'))
        {
            name = key.to_owned();
        }
    }
    inputs
}

/// The steps that run a shell, with `inputs` substituted.
fn steps(inputs: &BTreeMap<String, String>) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in ACTION.lines() {
        if line.starts_with("    - name:") {
            steps.push(Step::default());
        }
        let Some(step) = steps.last_mut() else {
            continue;
        };
        if let Some(shell) = line.strip_prefix(&" ".repeat(8)) {
            let input = shell.split_once(": ${{ inputs.");
            match input.and_then(|(name, rest)| Some((name, rest.strip_suffix(" }}")?))) {
                Some((name, input)) => {
                    step.environment
                        .push((name.to_owned(), inputs[input].clone()));
                }
                None => step.script.push_str(&format!("{shell}\n")),
            }
        } else if line.starts_with("      uses:") {
            // The step uses another action, so it has no shell script.
            steps.pop();
            break;
        }
    }
    steps
}

/// Runs the steps until one fails. A step sees the variables that earlier steps set.
fn run(place: &Place, mut inputs: BTreeMap<String, String>) -> Finished {
    inputs.insert(
        "x11prof".to_owned(),
        env!("CARGO_BIN_EXE_x11prof").to_owned(),
    );
    let mut last = None;
    for step in steps(&inputs) {
        let script = place.write("step.sh", step.script.as_bytes());
        // The options that a runner uses for `shell: bash`.
        let mut bash = Command::new("bash");
        bash.args(["--noprofile", "--norc", "-eo", "pipefail"])
            .arg(script);
        // Use the same working directory and environment as the other tests.
        let usual = place.x11prof([""; 0]);
        bash.current_dir(place.path("")).env_remove("DISPLAY");
        bash.envs(
            usual
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        for name in ["GITHUB_ENV", "GITHUB_STEP_SUMMARY"] {
            bash.env(name, place.path(name));
        }
        let set = std::fs::read_to_string(place.path("GITHUB_ENV")).unwrap_or_default();
        bash.envs(set.lines().filter_map(|line| line.split_once('=')));
        bash.envs(step.environment);
        let finished = Finished::of(&mut bash);
        let failed = finished.status() != Some(0);
        last = Some(finished);
        if failed {
            break;
        }
    }
    last.expect("a step")
}

fn with(inputs: &BTreeMap<String, String>, more: &[(&str, &str)]) -> BTreeMap<String, String> {
    let more = more
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    inputs.clone().into_iter().chain(more).collect()
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn action_passes_and_fails_budgets() {
    needs("xterm", "xterm");
    let place = Place::new();
    let command = ("command", "xterm -e 'echo done'");
    let inputs = with(&inputs(), &[command]);
    assert_eq!(steps(&inputs).len(), 3, "{ACTION}");
    place.write("x11prof-budget.toml", b"[start_up]\nround_trips = 500\n");
    let kept = run(&place, inputs.clone()).succeeded();
    assert!(kept.starts_with("1 limit kept, 0 over\n"), "{kept}");
    assert!(text(&place.path("x11prof/junit.xml")).contains("failures=\"0\""));
    assert!(text(&place.path("x11prof/report.html")).contains("</html>"));
    let summary = text(&place.path("GITHUB_STEP_SUMMARY"));
    assert!(
        summary.contains("1 limit kept") && summary.contains("InternAtom"),
        "{summary}"
    );

    // No program starts with three round trips, so the step fails after writing its results.
    place.write("small.toml", b"[start_up]\nround_trips = 3\n");
    let small = with(&inputs, &[("budget", "small.toml"), ("name", "over")]);
    let over = run(&place, small);
    assert_eq!(over.status(), Some(1));
    assert!(
        over.stdout().contains("over: start_up.round_trips: "),
        "{}",
        over.stdout()
    );
    assert!(text(&place.path("over/junit.xml")).contains("failures=\"1\""));
    assert!(place.path("over/report.html").exists());
}

#[test]
fn limit_of_a_start_up_that_did_not_happen_is_not_kept() {
    let place = Place::new();
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/xset.mcap");
    place.write("b.toml", b"rtt_ms = 50\n[start_up]\nnetwork_ms = 1\n");
    let checked = place.run(["check", &trace.to_string_lossy(), "--budget", "b.toml"]);
    assert_eq!(checked.status(), Some(1), "{checked}");
    let page = checked.stdout();
    assert!(page.contains("start_up.network_ms: unknown"), "{page}");
}
