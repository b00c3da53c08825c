//! Profiles a replay in the same way as other recordings.

use std::path::Path;

use x11prof_analyzer::{Blocking, Profile, ProfileReport, TraceSummary};
use x11prof_cost_model::{Network, Substitutions};

use crate::error::CommandError;
use crate::input;
use crate::pass::Pass;

/// Returns the profile of the trace at `path`. `server` is the server's name in the comparison.
pub(super) fn report(path: &Path, server: &str) -> Result<ProfileReport, CommandError> {
    let pass = Pass::open(path, None)?.take_together().tell_missing();
    // The costs only split measured time, so their caveats do not matter.
    let parameters = input::likely_parameters(path)?;
    let rules = Substitutions::default();
    let mut profile = Profile::new(&parameters, &rules, Blocking::default());
    let mut summary = TraceSummary::default();
    pass.run(|observation| {
        summary.observe(observation);
        profile.observe(observation);
    })?;
    profile.end();
    let name = path.to_string_lossy();
    let mut report = ProfileReport::new(&name, &summary, &profile, &Network::NONE);
    server.clone_into(&mut report.server.name);
    Ok(report)
}
