//! `x11prof replay`: a recorded session, played to other servers and measured there.

mod measured;
pub(crate) mod player;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use serde::Serialize;
use signal_hook::consts::SIGTSTP;
use x11prof_analyzer::{Comparison, DivergenceReport, ProfileReport};
use x11prof_proxy::{ResultPath, Target, create_folder};
use x11prof_replay::{Played, Script};
use x11prof_views::units::counted;
use x11prof_views::{comparison as views, divergence};

use super::internal_program::InternalProgram;
use super::play::ask_for_input;
use super::private_servers::private_servers;
use super::{check, diverge};
use crate::args::{Check, PaceChoice, Replay, TableFormat};
use crate::commands::emit_table::emit_table;
use crate::error::{CommandError, Outcome, shown};
use crate::input;
use crate::output::{emit_json, emit_text, page, refuse_input_of_recording};

/// The maximum share of server time in requests that are not replayed. Above this share, a replay does not represent
/// the program.
const MOST_LEFT_OUT: f64 = 0.05;
/// The request that a replay adds to keep the order of the clients.
const ADDED: &str = "GetInputFocus";
/// The length of the longest recording that can be replayed with its recorded pauses.
const LONGEST: Duration = Duration::from_hours(24);

/// The messages that the server of a replay sent, compared with the recorded ones.
#[derive(Serialize)]
struct Answers {
    server: String,
    trace: PathBuf,
    #[serde(flatten)]
    report: DivergenceReport,
}

/// Plays the recording to each server, and compares their times.
pub(crate) fn run(arguments: &Replay) -> Outcome {
    let done = replayed(arguments);
    match arguments.answers || arguments.budget.is_some() {
        true => done.map_err(CommandError::into_trouble),
        false => done,
    }
}

fn replayed(arguments: &Replay) -> Outcome {
    let path = &arguments.trace;
    // A wrong budget is reported before the replay.
    arguments.budget.as_deref().map(check::budget).transpose()?;
    let reading = |error| CommandError::file(path, error);
    let is_shared = arguments.display.is_some();
    let script = Script::read(&mut input::trace(path)?, is_shared).map_err(reading)?;
    let recorded = measured::report(path, "recorded")?;
    if arguments.pace == PaceChoice::Recorded && script.lasts() > LONGEST {
        let days = script.lasts().as_secs() / LONGEST.as_secs();
        let why = format!(
            "the recording lasts {}; --pace full skips the pauses",
            counted(days, "day")
        );
        return Err(CommandError::file(path, why));
    }
    refuse(path, &script, &recorded)?;
    drop(script);
    if let Some(display) = &arguments.display {
        let caution = " A trace made to harm can do more: replay a stranger's trace with --server.";
        ask_for_input(display, arguments.yes, caution)?;
    }
    let servers = match &arguments.display {
        Some(display) => vec![("display".to_owned(), Target::Display(display.clone()))],
        None => private_servers(&arguments.server, &arguments.server_command),
    };
    if arguments.answers {
        return answers(arguments, servers);
    }
    let mut runs: Vec<Vec<(PathBuf, ProfileReport)>> = vec![Vec::new(); servers.len()];
    // The servers take turns, so that a change of the machine's speed affects all.
    for time in 1..=arguments.times {
        for ((server, target), runs) in servers.iter().zip(&mut runs) {
            let trace = output(arguments, server, time);
            refuse_input_of_recording(&trace, [path.as_path()])?;
            let played = play(arguments, server, target.clone(), &trace)?;
            let mut report = measured::report(&trace, server)?;
            measured::leave_out(&mut report, ADDED, played.added_round_trips);
            CommandError::check_signals()?;
            runs.push((trace, report));
        }
    }
    let (mut times, mut traces, mut reports) = (Vec::new(), Vec::new(), vec![recorded]);
    for (at, mut runs) in runs.into_iter().enumerate() {
        let command = at.checked_sub(arguments.server.len());
        let command = command.and_then(|at| arguments.server_command.get(at).cloned());
        let ms = |(_, report): &(_, ProfileReport)| measured::requests_ms(report);
        times.push((command, runs.iter().map(ms).collect()));
        runs.sort_by(|a, b| ms(a).total_cmp(&ms(b)));
        let (trace, report) = runs.swap_remove(runs.len() / 2);
        traces.push(trace);
        reports.push(report);
    }
    let comparison = Comparison::new(&reports).with_replays(times);
    let text = || views::replayed(&comparison, &page(None, arguments.all, None));
    let csv = || views::csv(&comparison);
    emit_table(None, arguments.format, &comparison, text, csv)?;
    let Some(budget) = &arguments.budget else {
        return Ok(ExitCode::SUCCESS);
    };
    let mut is_over = false;
    for (trace, report) in traces.into_iter().zip(&reports[1..]) {
        say!("{} on {}:", shown(&trace), report.server.name);
        let held = check::run(&Check {
            trace,
            budget: budget.clone(),
            junit: None,
        })?;
        is_over |= held != ExitCode::SUCCESS;
    }
    Ok(ExitCode::from(u8::from(is_over)))
}

/// Plays the recording to each server, and compares the received messages. The exit status is 1 if any differ, or if the
/// server hangs or dies.
fn answers(arguments: &Replay, servers: Vec<(String, Target)>) -> Outcome {
    if !matches!(arguments.format, TableFormat::Text | TableFormat::Json) {
        return Err(CommandError::usage(
            "--answers has the formats text and json",
        ));
    }
    let path = &arguments.trace;
    let mut all = Vec::with_capacity(servers.len());
    let mut is_cut_off = false;
    for (server, target) in servers {
        let trace = output(arguments, &server, 1);
        refuse_input_of_recording(&trace, [path.as_path()])?;
        // The file of an earlier replay is kept, but must not be compared if this one fails.
        let earlier = ResultPath::of(&trace).and_then(|earlier| earlier.keep_as_old());
        earlier.map_err(|error| CommandError::file(&trace, error))?;
        let failed = match play(arguments, &server, target, &trace) {
            // If the server hung or died, the messages in the incomplete trace are still compared.
            Err(error) if !error.is_server_not_started() && trace.exists() => Some(error),
            played => {
                played?;
                None
            }
        };
        CommandError::check_signals()?;
        let report = diverge::answers(path, &trace)?;
        if let Some(error) = failed {
            if report.answers.is_empty() {
                return Err(error);
            }
            say!("{server}: {}", error.message());
            is_cut_off = true;
        }
        all.push(Answers {
            server,
            trace,
            report,
        });
    }
    let page = page(None, arguments.all, None);
    let text = || {
        let texts = all.iter();
        let texts = texts.map(|one| divergence::answers(&one.report, &one.server, &page));
        texts.collect::<Vec<_>>().join("\n")
    };
    match arguments.format {
        TableFormat::Json => emit_json(None, &all)?,
        _ => emit_text(None, &text())?,
    };
    let differs = all.iter().any(|Answers { report, .. }| {
        let mut answers = report.answers.iter();
        !report.clients.is_empty()
            || !report.only_reference.is_empty()
            || answers.any(|one| one.differ + one.failed > 0)
    });
    Ok(ExitCode::from(u8::from(differs || is_cut_off)))
}

/// Fails if too large a share of the recording at `path` cannot be replayed. `script` is the replay's script,
/// `recorded` the recording's profile.
fn refuse(path: &Path, script: &Script, recorded: &ProfileReport) -> Result<(), CommandError> {
    let times = script.left_out().filter_map(|(name, count)| {
        let mut requests = recorded.requests.iter();
        let of = requests.find(|request| request.name == name)?;
        Some(of.time_ms * count as f64 / of.count.max(1) as f64)
    });
    let left_out: f64 = times.sum();
    let share = left_out / recorded.total.time_ms;
    if left_out <= MOST_LEFT_OUT * recorded.total.time_ms {
        return Ok(());
    }
    let why = format!(
        "{:.0} % of the server time is in requests that cannot be replayed, such as GPU buffers and file descriptors; \
         record with --keep-images --try no-sharing",
        100.0 * share
    );
    Err(CommandError::file(path, why))
}

/// Returns the path for the trace of a replay. `replay.mcap` becomes `replay-xvfb.mcap`, and `replay-xvfb-2.mcap` for
/// the second run. `time` is the number of the run.
fn output(arguments: &Replay, server: &str, time: u16) -> PathBuf {
    let path = &arguments.output;
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{server}"));
    if time > 1 {
        name.push(format!("-{time}"));
    }
    name.push(".mcap");
    path.with_file_name(name)
}

/// Replays once to the server `target`, and records the replay to `trace`. `server` is the server's name in messages.
fn play(
    arguments: &Replay,
    server: &str,
    target: Target,
    trace: &Path,
) -> Result<Played, CommandError> {
    let pace = [player::RECORDED, player::FULL][usize::from(arguments.pace == PaceChoice::Full)];
    let is_shared = arguments.display.is_some();
    let shared = [player::PRIVATE, player::SHARED][usize::from(is_shared)];
    if is_shared {
        // The recorder passes the releases of keys on while the player ends.
        crate::ignore(SIGTSTP);
    }
    let mut words: Vec<OsString> = vec![arguments.trace.clone().into(), pace.into(), shared.into()];
    if let Some(folder) = &arguments.pictures {
        let folder = folder.join(server);
        // The names of pictures contain marks and therefore may contain keys.
        create_folder(&folder, 0o700).map_err(|error| CommandError::file(&folder, error))?;
        words.push(folder.into());
    }
    let what = format!(
        "{}: the replay on {server} did not reach its end",
        shown(&arguments.trace)
    );
    let stand_in = InternalProgram {
        word: player::WORD,
        words,
        driven: Vec::new(),
        text: "",
        label: (input::REPLAY_OF, input::shown_name(&arguments.trace)),
        what: &what,
    };
    let played: Played = stand_in.recorded(target, trace)?;
    tell(&played, server);
    Ok(played)
}

/// Prints how the replay `played` on `server` differs from the recording.
fn tell(played: &Played, server: &str) {
    let list = |mut words: Vec<String>| {
        let more = words.len().saturating_sub(5);
        words.truncate(5);
        words.extend((more > 0).then(|| format!("{more} more kinds")));
        words.join(", ")
    };
    let counts = |counts: &std::collections::BTreeMap<String, u64>| {
        let mut all: Vec<_> = counts.iter().collect();
        all.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let words = all.iter().map(|(name, count)| format!("{count} {name}"));
        list(words.collect())
    };
    let differ = played.errors.iter();
    let differ = differ.filter(|(_, (there, here))| there != here);
    let differ = differ.map(|(name, (there, here))| format!("{here} (recorded: {there}) {name}"));
    let differ: Vec<String> = differ.collect();
    let lines = [
        Some(format!(
            "{} of {} in {:.1} s; the player used {:.2} s of CPU time",
            counted(played.requests, "request"),
            counted(played.connections, "client"),
            played.took_ns as f64 / 1e9,
            played.player_cpu_ns as f64 / 1e9
        )),
        (!played.left_out.is_empty())
            .then(|| format!("replaced by NoOperation: {}", counts(&played.left_out))),
        (played.filled_bytes > 0).then(|| {
            format!(
                "replayed as noise: {} bytes of images. `record --keep-images` keeps the pixels",
                played.filled_bytes
            )
        }),
        (played.segments > 0).then(|| {
            format!(
                "replayed as noise: {} of shared memory, which a recording cannot contain. `record --try \
                 no-sharing` avoids it",
                counted(played.segments, "segment")
            )
        }),
        (played.added_round_trips > 0).then(|| {
            let added = counted(played.added_round_trips, &format!("{ADDED} request"));
            format!("{added} added to keep the order of the clients")
        }),
        (played.inputs_for_others > 0).then(|| {
            let inputs = counted(played.inputs_for_others, "input");
            format!("{inputs} left out: a key or click that another program would have got")
        }),
        (played.other_keys > 0 && played.inputs > 0).then(|| {
            let keys = counted(played.other_keys, "keycode");
            format!("{keys} are other keys on this server than in the recording")
        }),
        (!played.missed_events.is_empty())
            .then(|| format!("events that did not arrive: {}", counts(&played.missed_events))),
        (!differ.is_empty()).then(|| format!("requests that failed: {}", list(differ))),
    ];
    for line in lines.into_iter().flatten() {
        say!("{server}: {line}");
    }
}
