//! The stages of the analysis, as an example of the analyzer measures them.

use std::path::Path;
use std::process::Command;

use crate::run::target;

/// The processor on which the example runs.
const CPU: &str = "1";

/// The output of the `stages` example.
pub struct Stages {
    /// The stages, in the order in which a message passes them.
    pub stages: Vec<Stage>,
    /// Peak of resident memory, in bytes.
    pub peak: u64,
}

/// A stage of the analysis.
pub struct Stage {
    /// The name of the stage, as the example prints it.
    pub name: String,
    /// The requests of the recording.
    pub requests: f64,
    /// The time of the stage and of those before it.
    pub seconds: f64,
}

/// Runs the `stages` example, built for release, on the trace. `what` is `memory`, `file` or a stage's name.
pub fn stages(trace: &Path, what: &str, parameters: &Path) -> Result<Stages, String> {
    let output = Command::new("taskset")
        .args(["-c", CPU])
        .arg(target().join("release/examples/stages"))
        .arg(trace)
        .arg(what)
        .arg(parameters)
        .output()
        .map_err(|error| format!("cannot run stages: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut read = Stages {
        stages: Vec::new(),
        peak: 0,
    };
    for line in text.lines() {
        let mut words = line.split('\t');
        let (Some(name), Some(first)) = (words.next(), words.next()) else {
            continue;
        };
        match words.next() {
            Some(seconds) => read.stages.push(Stage {
                name: name.to_owned(),
                requests: first.parse().unwrap_or(0.0),
                seconds: seconds.parse().unwrap_or(f64::INFINITY),
            }),
            None => read.peak = first.parse().unwrap_or(0),
        }
    }
    if output.status.success() && !read.stages.is_empty() {
        Ok(read)
    } else {
        Err(format!(
            "stages failed: {text}{}",
            String::from_utf8_lossy(&output.stderr)
        ))
    }
}
