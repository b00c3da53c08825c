//! Runs the programs of a test: checks that they are installed, waits for their exit, and collects their output.

use std::io::Read;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Time limit for any wait in a test.
pub(super) const LIMIT: Duration = Duration::from_secs(600);

/// Panics with the package's name if a required program is missing.
pub(crate) fn needs(program: &str, package: &str) {
    let found = std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join(program).is_file()));
    assert!(
        found,
        "{program} is not installed; install Debian's package {package} (cargo xtask test does)"
    );
}

/// The results of a program.
pub(crate) struct Finished {
    pub(crate) shown: String,
    pub(crate) output: Output,
}

impl Finished {
    /// Runs `command` until it exits, and kills it after the time limit.
    pub(crate) fn of(command: &mut Command) -> Finished {
        let shown = format!("{command:?}");
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot run {shown}: {error}"));
        let read = |pipe: Option<Box<dyn Read + Send>>| {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                pipe.expect("a pipe")
                    .read_to_end(&mut bytes)
                    .expect("reading a pipe");
                bytes
            })
        };
        let stdout = read(child.stdout.take().map(|pipe| Box::new(pipe) as _));
        let stderr = read(child.stderr.take().map(|pipe| Box::new(pipe) as _));
        let status = wait(&mut child, &shown);
        let (stdout, stderr) = (
            stdout.join().expect("stdout"),
            stderr.join().expect("stderr"),
        );
        Finished {
            shown,
            output: Output {
                status,
                stdout,
                stderr,
            },
        }
    }

    pub(crate) fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    /// Returns the standard error output, with the lines as they were before errors were wrapped.
    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).replace("\n  ", " ")
    }

    pub(crate) fn status(&self) -> Option<i32> {
        self.output.status.code()
    }

    /// Returns the standard output; panics if the program failed.
    pub(crate) fn succeeded(&self) -> String {
        assert!(self.output.status.success(), "{self}");
        self.stdout()
    }

    /// Asserts the exit status and a single line on standard error, and returns that line without the program's
    /// name.
    pub(crate) fn failed_with_one_line(&self, status: i32) -> String {
        let stderr = self.stderr();
        assert_eq!(self.status(), Some(status), "{self}");
        assert_eq!(stderr.trim_end().lines().count(), 1, "{self}");
        assert!(stderr.starts_with("x11prof: "), "{self}");
        stderr.trim_end().to_owned()
    }
}

impl std::fmt::Display for Finished {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{} ended with {}", self.shown, self.output.status)?;
        writeln!(f, "-- standard output\n{}", self.stdout())?;
        writeln!(f, "-- standard error\n{}", self.stderr())
    }
}

/// Waits for `child` to exit, within the time limit.
pub(crate) fn wait(child: &mut Child, shown: &str) -> std::process::ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("waiting for a child") {
            return status;
        }
        if start.elapsed() > LIMIT {
            child.kill().expect("ending a child");
            panic!("{shown} took longer than {LIMIT:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
