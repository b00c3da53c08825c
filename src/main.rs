//! The command line of x11prof. This crate converts arguments to plain values; libraries do the work; results go to
//! standard output. Errors are printed only here.

#[macro_use]
mod say;

mod args;
mod callers;
mod commands;
mod error;
mod handler_times;
mod input;
mod live;
mod machine;
mod names;
mod output;
mod pass;
mod progress;
mod read_ahead;
mod ring;
mod saved_parameters;
mod sessions;
mod span;
mod text_file;

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use args::{Arguments, Command};
use error::Outcome;

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // A parent process may have left SIGCHLD ignored. x11prof could then not wait for its child processes.
    ignore(signal_hook::consts::SIGCHLD);
    let mut words = std::env::args_os().skip(1);
    let word = words.next().unwrap_or_default();
    if word == x11prof_proxy::WATCHDOG {
        // Internal: the recorder starts itself as a watchdog.
        let pid = words.next().and_then(|pid| pid.to_str()?.parse().ok());
        x11prof_proxy::attach_watchdog(pid);
        return ExitCode::SUCCESS;
    }
    if word == x11prof_stacks::SYMBOL_READER {
        // Internal: x11prof starts itself to read symbols.
        let served = x11prof_stacks::serve_symbols();
        return ExitCode::from(u8::from(served.is_err()));
    }
    if word == sessions::TABLE_READER {
        return ExitCode::from(u8::from(sessions::serve_tables().is_err()));
    }
    // Internal: `replay` and `drive` start x11prof as the command that they record.
    if word == commands::replay::player::WORD {
        return ended(commands::replay::player::run(words));
    }
    if word == commands::play::driver::WORD {
        return ended(commands::play::driver::run(words));
    }
    // Exceeding a file size limit (`ulimit -f`) is handled like a full disk: as a write error.
    ignore(signal_hook::consts::SIGXFSZ);
    let outcome = match std::env::args_os().len() {
        // `x11prof` without a command in a script is an error, for which clap prints the usage.
        ..2 if io::stdout().is_terminal() => commands::first_steps::run(),
        _ => Arguments::read().and_then(|read| read.map_or(Ok(ExitCode::SUCCESS), done)),
    };
    ended(outcome)
}

/// Prints the error of `outcome`, if there is one, and returns the exit status. No other function prints errors.
fn ended(outcome: Outcome) -> ExitCode {
    outcome.unwrap_or_else(|error| {
        say::say_error(&say::message(error.message()));
        error.exit_code()
    })
}

/// Runs the command.
fn done(arguments: Arguments) -> Outcome {
    match arguments.command {
        Command::Record(arguments) => commands::record::run(arguments),
        Command::Report(arguments) => commands::report::run(&arguments),
        Command::Compare(arguments) => commands::compare::run(&arguments),
        Command::Diff(arguments) => commands::diff::run(&arguments),
        Command::Diverge(arguments) => commands::diverge::run(&arguments),
        Command::Stats(arguments) => commands::stats::run(&arguments),
        Command::Episodes(arguments) => commands::episodes::run(&arguments),
        Command::Network(arguments) => commands::roundtrips::run(&arguments),
        Command::Issues(arguments) => commands::issues::run(&arguments),
        Command::Sql(arguments) => commands::sql::run(&arguments),
        Command::Top(arguments) => commands::top::run(&arguments),
        Command::Check(arguments) => commands::check::run(&arguments),
        Command::Replay(arguments) => commands::replay::run(&arguments),
        Command::Drive(arguments) => commands::play::play(&arguments),
        Command::Type(arguments) => commands::play::type_keys(&arguments),
        Command::Mark(arguments) => commands::mark::run(arguments),
        Command::Server(arguments) => commands::server::run(&arguments),
        Command::Ping(arguments) => commands::link::run(&arguments),
        Command::Dump(arguments) => commands::dump::run(&arguments),
        Command::Export(arguments) => commands::export::run(&arguments),
        Command::Calibrate(arguments) => commands::measure::run(&arguments),
        Command::Params(arguments) => commands::params::run(&arguments),
        Command::Completions { shell } => commands::manual::completions(shell),
        Command::Man => commands::manual::man(),
        Command::Scrub(arguments) => commands::scrub::run(&arguments),
        Command::Recover(arguments) => commands::recover::run(&arguments),
    }
}

/// Installs a handler without effect for a signal. In contrast to SIG_IGN, child processes do not inherit the handler.
pub(crate) fn ignore(signal: i32) {
    // If this fails, the signal has its default effect.
    let _ = signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)));
}
