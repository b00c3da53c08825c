//! The time range of a recording to which a report applies: `--from`, `--to`, `--start-up`, `--episode`.

use std::path::Path;

use clap::Args;
use x11prof_analyzer::{
    ClientChoice, EpisodeOptions, EpisodeReport, Episodes, EpisodesReport, Observation,
    StartUpReport, TraceSummary, program_of,
};
use x11prof_trace::ConnectionId;

use crate::args::seconds;
use crate::error::{CommandError, shown};
use crate::pass::{Pass, Span};

/// The options that select the time range of a report. By default a report covers the whole recording.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct SpanArguments {
    /// Skip the first S seconds of the recording
    #[arg(long, value_name = "S", value_parser = seconds)]
    from: Option<f64>,
    /// Stop S seconds after the start of the recording
    #[arg(long, value_name = "S", value_parser = seconds)]
    to: Option<f64>,
    /// Only the start-up of the program: until the end of its first frame
    #[arg(long, conflicts_with_all = ["from", "to", "episode"])]
    start_up: bool,
    /// Only the N-th longest episode, as `episodes --worst` lists them
    #[arg(long, value_name = "N", conflicts_with_all = ["from", "to"],
          value_parser = clap::value_parser!(u32).range(1..))]
    episode: Option<u32>,
}

impl SpanArguments {
    /// Returns true if the selected time range is one episode.
    pub(crate) fn is_episode(&self) -> bool {
        self.episode.is_some()
    }

    /// Returns the selected time range of the trace at `path`. For a start-up or an episode, this function searches the
    /// trace.
    pub(crate) fn find(&self, path: &Path, client: Option<&str>) -> Result<Span, CommandError> {
        Ok(self.find_start_up(path, client)?.0)
    }

    /// Returns the selected time range and, if it is a start-up, this start-up.
    pub(crate) fn find_start_up(
        &self,
        path: &Path,
        client: Option<&str>,
    ) -> Result<(Span, Option<StartUpReport>), CommandError> {
        if self.start_up {
            let (span, one) = start_up(path, client)?;
            return Ok((span, Some(one)));
        }
        if let Some(number) = self.episode {
            return Ok((episode(path, number)?, None));
        }
        let (from, to) = (self.from, self.to);
        if let (Some(from), Some(to)) = (from, to)
            && to <= from
        {
            return Err(CommandError::usage(format_args!(
                "--to {to} must be greater than --from {from}"
            )));
        }
        Ok((Span { from, to }, None))
    }
}

/// Returns the name of the program whose start-up `--start-up` selects in the trace at `path`; `None` if there is none.
pub(crate) fn starting_program(path: &Path) -> Result<Option<String>, CommandError> {
    let all = start_ups(path, None)?;
    let name = StartUpReport::first(&all).and_then(|one| program_of(&one.client));
    Ok(name.map(str::to_owned))
}

/// Returns the start-ups of the clients in the trace at `path` that match `client`.
fn start_ups(path: &Path, client: Option<&str>) -> Result<Vec<StartUpReport>, CommandError> {
    let mut summary = TraceSummary::default();
    let mut choice = ClientChoice::new(client);
    Pass::open(path)?.run(|observation| {
        summary.observe(observation);
        if let Observation::Control(_, control) = observation {
            choice.control(control);
        }
    })?;
    let is_chosen = |one: &&StartUpReport| choice.holds(ConnectionId(one.connection));
    let chosen = summary.start_ups().iter().filter(is_chosen);
    Ok(chosen.cloned().collect())
}

fn start_up(path: &Path, client: Option<&str>) -> Result<(Span, StartUpReport), CommandError> {
    let done = start_ups(path, client)?;
    StartUpReport::first(&done)
        .and_then(|one| Some((Span::of(one.start_ms, one.latency_ms?), one.clone())))
        .ok_or_else(|| {
            let why =
                |one: &StartUpReport| Some(format!("{}: {}", one.client, one.why_none.as_ref()?));
            let why = done.iter().find_map(why);
            let why = why.map_or_else(String::new, |why| format!(" ({why})"));
            CommandError::file(path, format_args!("no client has a start-up{why}"))
        })
}

fn episode(path: &Path, number: u32) -> Result<Span, CommandError> {
    let mut summary = TraceSummary::default();
    let mut episodes = Episodes::new(&EpisodeOptions::default());
    Pass::open(path)?.run(|observation| {
        summary.observe(observation);
        episodes.observe(observation);
    })?;
    let report = EpisodesReport::new(&path.to_string_lossy(), &summary, &episodes.finish());
    // `episodes --worst` does not count an episode that another episode caused.
    let counted = |one: &&EpisodeReport| one.led_to_by.is_none();
    let mut longest: Vec<_> = report.episodes.iter().filter(counted).collect();
    longest.sort_by(|a, b| b.latency_ms.total_cmp(&a.latency_ms));
    let one = usize::try_from(number - 1)
        .ok()
        .and_then(|at| longest.get(at));
    one.map(|one| Span::of(one.start_ms, one.latency_ms))
        .ok_or_else(|| {
            CommandError::usage(format_args!(
                "--episode {number}: {1} has only {0} episodes",
                longest.len(),
                shown(path)
            ))
        })
}
