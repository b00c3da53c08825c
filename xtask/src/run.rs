//! Running other programs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The workspace's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map_or_else(PathBuf::new, Path::to_path_buf)
}

/// The folder that cargo builds into.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Prints and runs `command` in the workspace's root. A failure is an error.
pub fn run(command: &mut Command) -> Result<(), String> {
    eprintln!("$ {}", shown(command));
    let status = command
        .current_dir(root())
        .status()
        .map_err(|error| format!("cannot run {}: {error}", shown(command)))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{} failed: {status}", shown(command)))
    }
}

/// The standard output of `command`, without the line feed at its end.
pub fn output(command: &mut Command) -> Result<String, String> {
    let done = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot run {}: {error}", shown(command)))?;
    match done.status.success() {
        true => Ok(String::from_utf8_lossy(&done.stdout).trim_end().to_owned()),
        false => Err(format!("{} failed: {}", shown(command), done.status)),
    }
}

/// The cargo command of the cargo that runs this task.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The command as a user would type it in the workspace's root.
fn shown(command: &Command) -> String {
    let root = format!("{}/", root().display());
    let program = match command.get_program().to_string_lossy() {
        path if Path::new(path.as_ref())
            .file_name()
            .is_some_and(|name| name == "cargo") =>
        {
            "cargo".to_owned()
        }
        path => path.replace(&root, ""),
    };
    let words = command.get_args().map(|word| {
        let word = word.to_string_lossy().replace(&root, "");
        if word.contains(' ') {
            format!("'{word}'")
        } else {
            word
        }
    });
    std::iter::once(program)
        .chain(words)
        .collect::<Vec<_>>()
        .join(" ")
}
