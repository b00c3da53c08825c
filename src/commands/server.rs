//! `x11prof server`: starts the user's display server so that it reports the time of each request to recorders.

use std::process::Command;

use x11prof_proxy::become_timed;

use crate::args::ServerCommand;
use crate::error::{CommandError, Outcome};

/// Replaces this process with the server.
pub(crate) fn run(arguments: &ServerCommand) -> Outcome {
    let [program, words @ ..] = arguments.command.as_slice() else {
        return Err(CommandError::usage("the server command is missing"));
    };
    let mut command = Command::new(program);
    let error = become_timed(command.args(words), |why| {
        say!("warning: the server does not time requests: {why}");
    });
    let program = program.to_string_lossy();
    Err(CommandError::failed(format_args!("{program}: {error}")))
}
