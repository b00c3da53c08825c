//! Exports one or many sessions as Parquet tables.

use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

use x11prof_analyzer::{By, Observation, Profile, Thresholds};
use x11prof_collection::{Gather, TableError, TraceTables, schema};
use x11prof_cost_model::{ServerParameters, Substitutions, built_in};
use x11prof_views::plain;

use crate::args::Export;
use crate::error::{CommandError, Outcome, shown};
use crate::input;
use crate::pass::Pass;
use crate::sessions::{Tables, find, write_session};

/// Writes the Parquet tables of every recording. A damaged recording is reported and skipped.
pub(super) fn export(arguments: &Export) -> Outcome {
    let mut found = find(std::slice::from_ref(&arguments.trace))?;
    // A file that the user names is a recording, whatever its file name is.
    if arguments.trace.is_file() && found.traces.is_empty() {
        found.traces.push(arguments.trace.clone());
        found.left_out.clear();
    }
    let mut written = 0;
    let mut last = None;
    for trace in &found.traces {
        match session(trace, &arguments.output) {
            Ok(()) => written += 1,
            Err(error) => {
                say!("skipped: {}", error.message());
                last = Some(error);
            }
        }
    }
    for left in &found.left_out {
        say!("skipped: {}: {}", plain(&left.file), left.why);
    }
    if let (0, Some(error)) = (written, last) {
        return Err(error);
    }
    if written == 0 {
        return Err(CommandError::file(
            &arguments.trace,
            "the folder has no recording",
        ));
    }
    let sessions = if written == 1 { "session" } else { "sessions" };
    say!("{written} {sessions} in {}", shown(&arguments.output));
    Ok(ExitCode::SUCCESS)
}

fn session(path: &Path, folder: &Path) -> Result<(), CommandError> {
    let pass = Pass::open(path)?.tell_missing();
    let costs = input::recorded_costs(path, false)?;
    let with_costs = costs.is_some();
    let parameters = match costs {
        Some(costs) => costs.parameters,
        None => any_parameters(path)?,
    };
    let rules = Substitutions::default();
    let profile = Profile::new(&parameters, &rules).stacked(By::Window);
    let mut gather = Gather::new(&path.to_string_lossy(), &Thresholds::default());
    let mut more = TraceTables::new(profile, with_costs);
    let mut tables = Tables::new(folder)?;
    let mut written: Result<(), TableError> = Ok(());
    pass.run_until(|observation| {
        written = observe(observation, &mut gather, &mut more, &mut tables);
        match written {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    })?;
    let end = |written: Result<(), TableError>| {
        written?;
        let (rows, session, latencies) = gather.finish();
        for row in rows {
            tables.row(&schema::EPISODES, &row.cells(&session))?;
        }
        more.finish(&session.id, &mut |table, cells| tables.row(table, cells))?;
        write_session(&mut tables, &session, &latencies)?;
        Ok((session, tables))
    };
    let (session, tables) =
        end(written).map_err(|error: TableError| CommandError::file(folder, error))?;
    tables.finish(&session, None).map(drop)
}

fn observe(
    observation: &Observation<'_>,
    gather: &mut Gather,
    more: &mut TraceTables,
    tables: &mut Tables,
) -> Result<(), TableError> {
    let rows = gather.observe(observation);
    more.episodes(gather.finished());
    let session = gather.session();
    for row in rows {
        tables.row(&schema::EPISODES, &row.cells(session))?;
    }
    more.observe(&session.id, observation, &mut |table, cells| {
        tables.row(table, cells)
    })
}

/// Returns the first built-in cost table, for a recording without a matching cost table. Fails if this build has no
/// cost tables; `path` is the trace, for the message.
fn any_parameters(path: &Path) -> Result<ServerParameters, CommandError> {
    let any = built_in().first().and_then(|any| any.parameters().ok());
    any.ok_or_else(|| {
        CommandError::file(
            path,
            "this build has no cost tables; name one with --params",
        )
    })
}
