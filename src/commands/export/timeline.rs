//! Exports timelines: messages, runs of the server, episodes.

use std::io;
use std::ops::ControlFlow;

use x11prof_analyzer::{EpisodeOptions, Episodes, Running};
use x11prof_views::export::firefox::Firefox;
use x11prof_views::export::perfetto::Perfetto;

use crate::args::Export;
use crate::callers::FunctionNames;
use crate::error::Outcome;
use crate::output::emit;
use crate::pass::Pass;

/// Writes the recording for Perfetto.
pub(super) fn perfetto(arguments: &Export) -> Outcome {
    let pass = Pass::open(&arguments.trace)?.tell_missing();
    let (mut perfetto, mut episodes) = (Perfetto::new(), Episodes::new(&EpisodeOptions::default()));
    emit(Some(&arguments.output), |out| {
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

/// Writes the recording for Firefox's profiler.
pub(super) fn firefox(arguments: &Export) -> Outcome {
    let pass = Pass::open(&arguments.trace)?.tell_missing();
    let (mut firefox, mut episodes) = (Firefox::new(), Episodes::new(&EpisodeOptions::default()));
    let (mut functions, mut running) = (FunctionNames::default(), Running::default());
    pass.run(|observation| {
        episodes.observe(observation);
        functions.observe(observation);
        running.observe(observation);
        firefox.observe(observation);
    })?;
    let names = functions.whole();
    let findings = episodes.finish();
    let mut left_out = 0;
    let written = emit(Some(&arguments.output), |out| {
        left_out = firefox.end(&findings.episodes(), (running.samples(), &names), out)?;
        Ok(())
    })?;
    if left_out > 0 {
        say!(
            "{left_out} markers are omitted: a profile holds at most 500,000 messages, 500,000 round \
             trips and runs, and 1000 clients. Select a part with --from and --to"
        );
    }
    Ok(written)
}
