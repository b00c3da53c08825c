//! Creates the commands for helper programs that x11prof starts.

use std::env;
use std::path::Path;
use std::process::Command;

/// Creates the command to run the program `name`, which the user did not specify. The program is searched only in the
/// absolute folders of PATH, so that no program in the current folder runs instead.
pub fn program(name: &str) -> Command {
    let path = env::var_os("PATH").unwrap_or_default();
    let absolute = env::split_paths(&path).filter(|folder| Path::is_absolute(folder));
    let path = env::join_paths(absolute).unwrap_or_default();
    let mut command = Command::new(name);
    match path.is_empty() {
        // An empty PATH would mean the current folder.
        true => command.env("PATH", "/usr/local/bin:/usr/bin:/bin"),
        false => command.env("PATH", path),
    };
    command
}
