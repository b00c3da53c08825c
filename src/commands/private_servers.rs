//! The servers that `--server` and `--server-command` start.

use x11prof_proxy::{ServerKind, Target};

/// Returns the private servers to start, with their names in the result: the servers of the `kinds`, then the servers
/// of the shell `commands`.
pub(super) fn private_servers(kinds: &[ServerKind], commands: &[String]) -> Vec<(String, Target)> {
    let kinds = kinds.iter();
    let kinds = kinds.map(|kind| (kind.name().to_owned(), Target::Private(*kind)));
    let commands = commands.iter().enumerate();
    let commands = commands.map(|(at, line)| {
        let name = format!("command-{}", at + 1);
        (name, Target::Command(line.clone()))
    });
    kinds.chain(commands).collect()
}
