//! Exports of what happened when: messages, runs of the server, episodes.

use std::io;
use std::ops::ControlFlow;

use x11prof_analyzer::{EpisodeOptions, Episodes};
use x11prof_views::export::perfetto::Perfetto;

use crate::args::Export;
use crate::error::Outcome;
use crate::output::{Access, emit_as};
use crate::pass::Pass;

/// Writes the recording for Perfetto.
pub(super) fn perfetto(arguments: &Export) -> Outcome {
    let pass = Pass::open(&arguments.trace, None)?;
    let (mut perfetto, mut episodes) = (Perfetto::new(), Episodes::new(&EpisodeOptions::default()));
    emit_as(Access::Private, Some(&arguments.output), |out| {
        let mut written: io::Result<()> = Ok(());
        pass.run_until(|observation| {
            episodes.observe(observation);
            written = perfetto.observe(observation, out);
            match written {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        })?;
        written?;
        let findings = episodes.finish();
        perfetto.end(&findings.episodes(), out)?;
        Ok(())
    })
}
