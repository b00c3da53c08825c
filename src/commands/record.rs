//! `x11prof record`: a recording, with what it says while it runs.

use std::io::ErrorKind;
use std::process::ExitCode;

use signal_hook::consts::{SIGUSR1, SIGUSR2};
use x11prof_proxy::{
    DEFAULT_QUEUE_BYTES, MakeFilter, Notice, RecordConfig, RecordError, Recorded, Target, record,
};

use super::scrub;
use crate::args::Record;
use crate::error::{CommandError, Outcome};
use crate::live::Live;

/// Records until the command, or the user, ends it.
pub(crate) fn run(arguments: Record) -> Outcome {
    let serves = arguments.command.is_empty();
    let target = match (arguments.server, arguments.display) {
        (Some(kind), _) => Target::Private(kind),
        (None, Some(display)) => Target::Display(display),
        (None, None) => Target::Environment,
    };
    let (live, watch) = if arguments.live {
        let (live, watch) = Live::start(&arguments.output, arguments.params)?;
        (Some(live), Some(watch))
    } else {
        // They are for a live view. Who sends one to a recorder without it must not end it.
        [SIGUSR1, SIGUSR2].into_iter().for_each(crate::ignore);
        (None, None)
    };
    let mut config = RecordConfig {
        output: arguments.output,
        target,
        listen: arguments.listen.map(u32::from),
        tcp: arguments.tcp,
        any_user: arguments.any_user,
        command: arguments.command,
        full: arguments.full,
        queue_bytes: arguments.queue.map_or(DEFAULT_QUEUE_BYTES, |mebibytes| {
            mebibytes as usize * (1 << 20)
        }),
        link: arguments.link,
        fixes: arguments.fixes,
        recorder: concat!("x11prof ", env!("CARGO_PKG_VERSION")).to_owned(),
        watch,
        filter: arguments
            .scrub
            .then_some(scrub::while_recording as MakeFilter),
        collect: live.as_ref().and_then(Live::collect),
    };
    let recorded = record(&config, |notice| {
        let said = words(&notice, serves);
        match (&live, said) {
            (_, None) => {}
            (Some(live), Some(said)) => live.tell(said),
            (None, Some(said)) => say!("{said}"),
        }
    });
    // The view ends with its watch, and gives the terminal back before anything is said there.
    config.watch = None;
    if let Some(live) = live {
        live.finish();
    }
    let recorded = recorded.map_err(why)?;
    let Recorded {
        exit_status,
        connections,
        bytes_relayed,
        trace_bytes,
        left_alone,
        tried,
        trouble,
        ..
    } = recorded;
    let (relayed, written) = (size(bytes_relayed), size(trace_bytes));
    let path = config.output.display();
    let clients = if connections == 1 {
        "connection"
    } else {
        "connections"
    };
    match left_alone {
        true => say!("{connections} {clients}; nothing to record, {path} is left as it was"),
        false => {
            say!("{connections} {clients}, {relayed} relayed, {written} in {path}");
        }
    }
    if arguments.scrub && !left_alone {
        say!("scrubbed before it was written: keys, text, properties, pictures, paths, hosts");
        scrub::tell_what_stays();
    }
    for (fix, requests) in tried {
        let name = fix.name();
        let changed = if requests == 1 { "request" } else { "requests" };
        say!("tried {name}: {requests} {changed} changed; this is not the program as it is");
    }
    if connections == 0 && !serves {
        say!("the command did not connect to the display; is it an X11 program?");
    }
    match exit_status {
        // Only a command that itself succeeded has its status changed by a failed recording.
        None | Some(0) if !trouble.is_empty() => Err(CommandError::failed(format_args!(
            "{path}: the recording is not whole: {}",
            trouble.join("; ")
        ))),
        None => Ok(ExitCode::SUCCESS),
        Some(status) => Ok(u8::try_from(status).map_or(ExitCode::FAILURE, ExitCode::from)),
    }
}

/// Why there was no recording; a command that cannot be run has the status that shells give it.
fn why(error: RecordError) -> CommandError {
    match &error {
        RecordError::Command { source, .. } => {
            CommandError::not_run(&error, source.kind() != ErrorKind::NotFound)
        }
        _ => CommandError::failed(error),
    }
}

/// What there is to say about a notice; `serves` where no command is recorded.
fn words(notice: &Notice, serves: bool) -> Option<String> {
    match notice {
        Notice::Serving {
            display,
            authority,
            tcp,
        } => serves.then(|| {
            let mut said = format!(
                "recording what connects here, until Ctrl-C:\n  export DISPLAY={display} XAUTHORITY={}",
                authority.display()
            );
            for address in tcp {
                said.push_str(&format!("\n  by TCP at {address}"));
            }
            said
        }),
        Notice::Connected {
            connection,
            pid,
            name,
        } => serves.then(|| {
            let name = name.as_deref().unwrap_or("unknown");
            let pid = pid.map_or_else(String::new, |pid| format!(" ({pid})"));
            format!("client {}: {name}{pid}", connection.0)
        }),
        // A client that ends is nothing to speak of.
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
        Notice::Trouble(what) => Some(what.clone()),
    }
}

/// `12.3 MB`, decimal units.
fn size(bytes: u64) -> String {
    let bytes = bytes as f64;
    for (unit, name) in [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")] {
        if bytes >= unit {
            return format!("{:.1} {name}", bytes / unit);
        }
    }
    format!("{bytes} bytes")
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_short() {
        assert_eq!(size(0), "0 bytes");
        assert_eq!(size(12_345), "12.3 kB");
        assert_eq!(size(5_000_000_000), "5.0 GB");
    }
}
