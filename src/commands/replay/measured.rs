//! Profiles a replay in the same way as other recordings.

use std::path::Path;

use x11prof_analyzer::{Profile, ProfileReport, TraceSummary};
use x11prof_cost_model::{Network, Substitutions};

use crate::error::CommandError;
use crate::input;
use crate::pass::Pass;

/// Returns the profile of the trace at `path`. `server` is the server's name in the comparison.
pub(super) fn report(path: &Path, server: &str) -> Result<ProfileReport, CommandError> {
    let pass = Pass::open(path)?.take_together().tell_missing();
    // The costs only split measured time, so their caveats do not matter.
    let parameters = input::likely_parameters(path)?;
    let rules = Substitutions::default();
    let mut profile = Profile::new(&parameters, &rules);
    let mut summary = TraceSummary::default();
    pass.run(|observation| {
        summary.observe(observation);
        profile.observe(observation);
    })?;
    profile.end();
    let name = path.to_string_lossy();
    let mut report = ProfileReport::new(&name, &summary, &profile, &Network::NONE);
    server.clone_into(&mut report.server.name);
    // X errors and other warnings of the recorded session have no name before them.
    for text in report
        .warnings
        .iter_mut()
        .flat_map(|warning| &mut warning.from)
    {
        text.insert_str(0, &format!("{server}: "));
    }
    Ok(report)
}

/// The server time of a report's requests, in milliseconds.
pub(super) fn requests_ms(report: &ProfileReport) -> f64 {
    report.requests.iter().map(|line| line.charged_ms).sum()
}

/// Leaves out `added` requests of this name that the replay itself sent. They have the mean time of all requests of the
/// name, and remain part of the total.
pub(super) fn leave_out(report: &mut ProfileReport, name: &str, added: u64) {
    let mut requests = report.requests.iter_mut();
    if let Some(line) = requests.find(|line| line.name == name) {
        let left = line.count.saturating_sub(added);
        let part = left as f64 / line.count.max(1) as f64;
        line.count = left;
        for ms in [&mut line.time_ms, &mut line.server_ms, &mut line.charged_ms] {
            *ms *= part;
        }
    }
    report.requests.retain(|line| line.count > 0);
}
