//! The arguments of `diverge`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgGroup, Args};
use x11prof_proxy::ServerKind;

use super::values::{DivergeFormat, SERVER};

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("servers").multiple(true).args(["server", "server_command"])))]
#[command(
    after_help = "Either give two recordings of one program, made on two servers, or name two servers and the program. \
                  With two servers the program runs three times on the first one; differences among these runs are left \
                  out. If any are left, it runs again on the second one, and differences that do not occur again are left \
                  out too.\n\nExit status: 0 without a difference, 1 with one, 2 on an error, 125 if a server of \
                  --server-command does not start (`git bisect run` skips that commit)."
)]
pub(crate) struct Diverge {
    /// The recording on the reference server
    #[arg(value_name = "REFERENCE", required_unless_present_any = ["server", "server_command"])]
    pub(crate) reference: Option<PathBuf>,
    /// The recording on the other server
    #[arg(value_name = "OTHER", required_unless_present_any = ["server", "server_command"])]
    pub(crate) other: Option<PathBuf>,
    /// Another recording on the reference server (repeatable)
    ///
    /// Differences that also occur between recordings of the reference are left out.
    #[arg(long, value_name = "FILE", conflicts_with = "servers")]
    pub(crate) again: Vec<PathBuf>,
    /// Another recording on the other server (repeatable)
    ///
    /// Differences that it does not have are left out.
    #[arg(long, value_name = "FILE", conflicts_with = "servers")]
    pub(crate) other_again: Vec<PathBuf>,
    /// A private headless server; the first server is the reference
    #[arg(long, value_name = "KIND", value_parser = SERVER, hide_possible_values = true, conflicts_with_all = ["reference", "other"])]
    pub(crate) server: Vec<ServerKind>,
    /// A private server: a shell command, such as 'build/Xvfb -screen 0 …'
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["reference", "other"])]
    pub(crate) server_command: Vec<String>,
    /// End each run after S seconds
    #[arg(long, value_name = "S", requires = "servers", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub(crate) seconds: Option<u64>,
    /// Print all clients, and all differing messages before the first differing request of each
    #[arg(long)]
    pub(crate) all: bool,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: DivergeFormat,
    /// Write the result to FILE instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The program to run, with its arguments
    #[arg(value_name = "COMMAND", last = true, requires = "servers")]
    pub(crate) command: Vec<OsString>,
}
