//! `x11prof record`: makes a recording, and prints notices during the recording.

mod consumer;

use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitCode, ExitStatus};
use std::time::Duration;

use signal_hook::consts::SIGTERM;
use x11prof_proxy::{
    AttachOptions, DEFAULT_QUEUE_BYTES, MakeFilter, Notice, RecordConfig, RecordError, Recorded,
    Rewrite, Stacks, Target, received_signal, record, takes_interrupts,
};
use x11prof_views::units::{bytes, counted};

use super::scrub;
use crate::args::{DEFAULT_TRACE, Record, StacksOf};
use crate::error::{CommandError, Outcome, end_by_signal, shown};
use crate::live::Live;
use crate::say::say_all;
use consumer::Consumer;

/// The name and version of this program, for the header of the trace.
pub(super) const RECORDER: &str = concat!("x11prof ", env!("CARGO_PKG_VERSION"));

/// The default name of the folder for `--tables-only`.
const TABLES: &str = "x11prof-tables";

/// Records until the command or the user ends the recording.
pub(crate) fn run(mut arguments: Record) -> Outcome {
    if arguments.tables_only && arguments.output == Path::new(DEFAULT_TRACE) {
        arguments.output = TABLES.into();
    }
    let serves = arguments.command.is_empty();
    let target = match (arguments.server, &arguments.display) {
        (Some(kind), _) => Target::Private(kind),
        (None, Some(display)) => Target::Display(display.clone()),
        (None, None) => Target::Environment,
    };
    let (consumer, watch) = Consumer::start(&arguments)?;
    let path = arguments.output;
    let output = consumer.trace(&path);
    let queue_bytes = queue_bytes(arguments.queue);
    let filter = arguments
        .scrub
        .then_some(scrub::while_recording as MakeFilter);
    if arguments.attach && arguments.stacks.iter().any(|of| *of != StacksOf::Cpu) {
        return Err(CommandError::usage(
            "--attach supports only --stacks=cpu: stacks of waits and requests need a program that \
             `record` starts",
        ));
    }
    let attach = arguments.attach.then(|| AttachOptions {
        takes_marks: true,
        ..AttachOptions::default()
    });
    let network = arguments.net.clone();
    let wanted = arguments.rewrites.clone();
    let mut rewrites = arguments.rewrites;
    // MIT-SHM cannot cross a network.
    if network.is_some() && !rewrites.contains(&Rewrite::NoSharing) {
        rewrites.push(Rewrite::NoSharing);
    }
    let mut config = RecordConfig {
        output,
        target,
        listen: arguments.listen.map(u32::from),
        tcp: arguments.tcp,
        any_user: arguments.all_users,
        command: arguments.command,
        driven: Vec::new(),
        until_closed: arguments.until_closed,
        attach,
        time: arguments.seconds.map(Duration::from_secs),
        full: arguments.keep_images,
        queue_bytes,
        link: arguments.link,
        labels: arguments.labels.into_iter().collect(),
        network,
        rewrites,
        recorder: RECORDER.to_owned(),
        watch,
        filter,
        mark_key: arguments.mark_key,
        collect: consumer.view().and_then(Live::collect),
        prints_result: false,
        stacks: arguments.stacks.iter().map(stacks).collect(),
        keep_symbols: arguments.keep_symbols,
    };
    let is_attached = config.attach.is_some();
    let recorded = record(&config, |notice| tell(consumer.view(), &notice, serves));
    config.watch = None;
    // End the view first, because it restores the terminal. Then print messages.
    let wrote = consumer.finish(&path);
    let recorded = recorded.map_err(why)?;
    let wrote = wrote?;
    let Recorded {
        exit_status,
        connections,
        bytes_relayed,
        trace_bytes,
        left_alone,
        tried,
        mut trouble,
        ..
    } = recorded;
    let (passed, written) = (bytes(bytes_relayed), bytes(trace_bytes));
    let path = shown(&path);
    let (noun, verb) = match is_attached {
        true => ("client", "received"),
        false => ("connection", "relayed"),
    };
    let clients = counted(u64::from(connections), noun);
    trouble.extend(wrote.trouble);
    match wrote.words {
        Some(words) => say!("{clients}, {passed} {verb}; {words}"),
        None if left_alone => {
            say!("{clients}; nothing to record, {path} is unchanged");
        }
        None => say!("{clients}, {passed} {verb}, {written} in {path}"),
    }
    if arguments.scrub && !left_alone {
        tell_scrubbed();
    }
    let is_wanted = |(rewrite, _): &(Rewrite, u64)| wanted.contains(rewrite);
    for (rewrite, requests) in tried.into_iter().filter(is_wanted) {
        let name = rewrite.name();
        let changed = counted(requests, "request");
        say!("--try {name}: {changed} changed. Results include these changes");
    }
    if connections == 0 && !serves {
        say!(
            "the command did not connect to the display. Is it an X11 program? Native Wayland windows are not \
         visible"
        );
    }
    let incomplete = || {
        format!(
            "{path}: the recording is incomplete: {}",
            trouble.join("; ")
        )
    };
    match exit_status {
        // A failed recording changes the exit status only if the command itself succeeded.
        status if status.is_none_or(|status| status.success()) && !trouble.is_empty() => {
            Err(CommandError::failed(incomplete()))
        }
        None if received_signal() == Some(SIGTERM) && !config.command.is_empty() => {
            Err(CommandError::interrupted("the command still runs"))
        }
        None => Ok(ExitCode::SUCCESS),
        Some(status) => {
            if !trouble.is_empty() {
                say!("{}", incomplete());
            }
            Ok(as_the_command(status))
        }
    }
}

/// Ends this process by the signal that ended the command, if there was one, so that a parent process sees the end that
/// it would see without x11prof. Otherwise returns the command's exit code.
fn as_the_command(status: ExitStatus) -> ExitCode {
    if let Some(signal) = status.signal() {
        return end_by_signal(signal);
    }
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Converts the value of `--stacks` to the recorder's value.
fn stacks(of: &StacksOf) -> Stacks {
    match of {
        StacksOf::Waits => Stacks::Waits,
        StacksOf::Requests => Stacks::Requests,
        StacksOf::Cpu => Stacks::Cpu,
    }
}

fn tell_scrubbed() {
    say!("removed before writing: keys, text, properties, images, paths, host names");
    scrub::tell_what_stays();
}

/// Prints a notice of the recorder: in the live view if there is one, otherwise on standard error. `serves` is true if
/// no command is recorded.
pub(super) fn tell(live: Option<&Live>, notice: &Notice, serves: bool) {
    match (live, words(notice, serves)) {
        (_, None) => {}
        (Some(live), Some(said)) => live.tell(said),
        // The only message of several lines. Its names come from x11prof.
        (None, Some(said)) if matches!(notice, Notice::Serving { .. }) => {
            say_all(&format!("x11prof: {said}\n"));
        }
        (None, Some(said)) => say!("{said}"),
    }
}

/// Prints a server's silence; other notices do not matter.
pub(super) fn tell_silence(notice: Notice) {
    if matches!(notice, Notice::Silent(_)) {
        tell(None, &notice, false);
    }
}

/// Converts the maximum size of the memory queue from MiB to bytes. `None` is the default size.
fn queue_bytes(mebibytes: Option<u32>) -> usize {
    mebibytes.map_or(DEFAULT_QUEUE_BYTES, |mebibytes| {
        mebibytes as usize * (1 << 20)
    })
}

/// Converts the recorder's error, after which there is no recording, to a command error. If the command cannot be
/// run, the exit status is the one that a shell would return.
pub(super) fn why(error: RecordError) -> CommandError {
    match &error {
        RecordError::Command { source, .. } => {
            CommandError::not_run(&error, source.kind() != ErrorKind::NotFound)
        }
        RecordError::Server(_) => CommandError::server_not_started(error),
        _ => CommandError::failed(error),
    }
}

/// Returns the text of a notice; `None` if the notice is not printed. `serves` is true if no command is recorded.
fn words(notice: &Notice, serves: bool) -> Option<String> {
    match notice {
        Notice::Serving {
            display,
            authority,
            tcp,
        } => serves.then(|| {
            let mut said = format!(
                "recording what connects here, until Ctrl-C:\n  export DISPLAY={display} XAUTHORITY={}",
                shown(authority)
            );
            for address in tcp {
                said.push_str(&format!("\n  by TCP at {address}"));
            }
            said
        }),
        Notice::Attached { display, clients } => Some(format!(
            "recording the {} of display {display}; {} ends it",
            counted(u64::from(*clients), "client"),
            // A shell's script starts programs in the background with SIGINT ignored.
            ["Ctrl-C", "SIGTERM"][usize::from(!takes_interrupts())]
        )),
        Notice::StillConnected { clients, over } => {
            let client = |(pid, name): &(u32, String)| format!("{name} ({pid})");
            let clients: Vec<String> = clients.iter().map(client).collect();
            let clients = clients.join(", ");
            Some(match over {
                true => format!(
                    "the command has ended and no window is open; the recording ended without {clients} \
                     (--until-closed waits for them)"
                ),
                false => format!(
                    "the command has ended, other clients are still recorded: {clients}; Ctrl-C ends the recording"
                ),
            })
        }
        Notice::Connected {
            connection,
            pid,
            name,
        } => serves.then(|| {
            let name = name.as_deref().unwrap_or("unknown");
            let pid = pid.map_or_else(String::new, |pid| format!(" ({pid})"));
            format!("client {}: {name}{pid}", connection.0)
        }),
        // A client that disconnects is normal.
        Notice::Disconnected { by, .. } if by == "client" => None,
        Notice::Disconnected {
            connection,
            by,
            why,
        } => {
            let why = why
                .as_deref()
                .map_or_else(String::new, |why| format!(": {why}"));
            Some(format!("client {} ended by {by}{why}", connection.0))
        }
        Notice::DebugFiles => Some(
            "requesting source lines from the servers in DEBUGINFOD_URLS; the first time may take minutes"
                .to_owned(),
        ),
        Notice::Silent(display) => Some(format!(
            "display {display} does not reply; still waiting, Ctrl-C ends"
        )),
        Notice::Trouble(what) => Some(what.clone()),
    }
}
