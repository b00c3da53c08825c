//! The recorded command: it is started on the served display, waited for, and ended with the recording.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions, kill_process, setrlimit, waitid,
};
use signal_hook::consts::SIGCONT;
use tokio::signal::unix::{Signal as SignalStream, SignalKind, signal};

/// The command to start, and its environment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommandLine<'a> {
    /// The command's program and its arguments; empty to record any client that connects.
    pub(crate) words: &'a [OsString],
    /// The longest duration of the recording; `None` for no limit.
    pub(crate) time: Option<Duration>,
    /// If true, the recording continues after the command's end until all connections have ended, otherwise only until
    /// all windows have closed.
    pub(crate) until_closed: bool,
    /// Additional environment variables for the command, as names and values.
    pub(crate) environment: &'a [(&'static str, OsString)],
    /// A file that receives the command's terminal output. The command then reads nothing from the terminal. `None`
    /// leaves both unchanged.
    pub(crate) collect: Option<&'a File>,
    /// If true, the command's standard output goes to standard error.
    pub(crate) to_stderr: bool,
}

/// The recorded command while it runs.
#[derive(Debug)]
pub(crate) struct Command {
    child: Child,
    pid: Option<Pid>,
    /// Signals the end of a child process.
    ends: SignalStream,
}

impl Command {
    /// Starts the command with DISPLAY and XAUTHORITY set, and with this limit on open files. The command ignores the
    /// signals `ignored`. Must be called inside the running tokio runtime.
    pub(crate) fn start(
        line: &CommandLine<'_>,
        display: &str,
        authority: &Path,
        open_files: Rlimit,
        ignored: Vec<i32>,
    ) -> io::Result<Command> {
        let (program, arguments) = line
            .words
            .split_first()
            .ok_or_else(|| io::Error::other("no command"))?;
        // The handler is installed before the child starts, so that the child's end is not missed.
        let ends = signal(SignalKind::child())?;
        let mut command = std::process::Command::new(program);
        command
            .args(arguments)
            .env("DISPLAY", display)
            .env("XAUTHORITY", authority)
            .envs(line.environment.iter().map(|(name, value)| (name, value)));
        if line.to_stderr {
            command.stdout(io::stderr());
        }
        if let Some(file) = line.collect {
            if io::stdin().is_terminal() {
                command.stdin(Stdio::null());
            }
            if io::stdout().is_terminal() {
                command.stdout(file.try_clone()?);
            }
            if io::stderr().is_terminal() {
                command.stderr(file.try_clone()?);
            }
        }
        // SAFETY: between fork and exec the closure only makes system calls, and allocates nothing.
        #[expect(unsafe_code, reason = "only the child itself can take these back")]
        unsafe {
            command.pre_exec(move || {
                for number in &ignored {
                    libc::signal(*number, libc::SIG_IGN);
                }
                Ok(setrlimit(Resource::Nofile, open_files)?)
            });
        }
        let child = command.spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        Ok(Command { child, pid, ends })
    }

    /// Waits for the command's end. `before` is called with the process id while the ended process's CPU clock can still
    /// be read.
    pub(crate) async fn ended(&mut self, before: impl Fn(u32)) -> io::Result<ExitStatus> {
        if let Some(pid) = self.pid {
            let ended = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            while waitid(WaitId::Pid(pid), ended)?.is_none() {
                self.ends.recv().await;
            }
            before(self.child.id());
        }
        self.child.wait()
    }

    /// Continues the command if it is stopped, so that it can handle a signal.
    pub(crate) fn wake(&self) {
        let stopped = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let is_stopped = |pid| matches!(waitid(WaitId::Pid(pid), stopped), Ok(Some(_)));
        if self.pid.is_some_and(is_stopped) {
            self.signal(SIGCONT);
        }
    }

    /// Sends the signal of this number to the command. Must not be called after `ended` has returned.
    pub(crate) fn signal(&self, number: i32) {
        if let (Some(pid), Some(signal)) = (self.pid, Signal::from_named_raw(number)) {
            // The command may have ended already.
            let _ = kill_process(pid, signal);
        }
    }
}
