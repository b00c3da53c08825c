//! Accepts clients, and waits for the end of a recording: the end of the command, or a signal.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use signal_hook::consts::SIGTERM;
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinHandle;
use tokio::time::{Instant, interval, sleep, sleep_until};

use x11prof_trace::Control;

use crate::clock;
use crate::display::listener::Claimed;
use crate::notice::Notice;
use crate::processes::command::{Command, CommandLine};
use crate::processes::open_files::OpenFiles;
use crate::processes::process_info::ProcessInfo;
use crate::processes::signals::{Received, Signals};
use crate::recorder::HANG_PATIENCE;
use crate::recording::record_error::RecordError;
use crate::relay::client::{Display, Transport};
use crate::serving::open_windows::OpenWindows;

/// After a signal that ends a recording without a running command, its connections may stay open for this long.
const INTERRUPT_PATIENCE: Duration = Duration::from_secs(1);
/// A command that received SIGTERM may take this long before the recording ends without it.
const STOP_PATIENCE: Duration = Duration::from_secs(10);
/// A timed-out command may take this long before the recording ends without it.
const TERMINATE_PATIENCE: Duration = Duration::from_secs(2);
/// After a timed-out command has ended, its connections may stay open for this long.
const LAST_PATIENCE: Duration = Duration::from_millis(250);
/// Clients that are still connected this long after the command's end are reported.
const LEFT_PATIENCE: Duration = Duration::from_secs(2);
/// The time in which the last bytes of clients that have ended reach the server, for example over an emulated network.
const LAST_BYTES_PATIENCE: Duration = Duration::from_secs(60);
/// The interval between two checks of the disk and of the clients' processes.
const BEAT: Duration = Duration::from_secs(1);
/// A write to the trace that takes this long is reported to the user.
const HANG: Duration = Duration::from_secs(2);
/// The pause after a failed accept, which most often means too many open files.
const ACCEPT_REST: Duration = Duration::from_millis(100);

/// The pause while too many clients wait for their setups.
const FULL_REST: Duration = Duration::from_millis(10);

/// The steps to the end of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    NotYet,
    /// A signal or the time limit ended the recording. The command and the connections may still end before this time.
    By(Instant),
    /// All windows have closed. Until this time, the last bytes of clients that have ended are still relayed.
    WithLastBytes(Instant),
    Now,
}

/// Serves `display` until the recording ends: with its command, which receives the signals of the recorder, or at a
/// signal if no command is running. Must run in a `LocalSet`. Returns the command's exit status; `None` without a
/// command, or if it is still running. The notices of other threads are passed to `on`.
pub(crate) async fn serve(
    display: &Arc<Display>,
    claimed: &Claimed,
    command_line: &CommandLine<'_>,
    name: &str,
    authority: &Path,
    (mut heard, mut signals): (UnboundedReceiver<Notice>, Signals),
    on: &mut impl FnMut(Notice),
) -> Result<Option<ExitStatus>, RecordError> {
    let system = |what| move |source| RecordError::System { what, source };
    let words = command_line.words;
    let open_files = OpenFiles::raise();
    let mut tcp = Vec::new();
    for listener in listeners(claimed).map_err(system("to listen"))? {
        if let Listener::Tcp(listener) = &listener {
            tcp.extend(listener.local_addr());
        }
        tokio::task::spawn_local(accept(Arc::clone(display), listener));
    }
    on(Notice::Serving {
        display: name.to_owned(),
        authority: authority.to_owned(),
        tcp,
    });
    let mut command = match words.first() {
        None => None,
        Some(program) => Some(
            Command::start(
                command_line,
                name,
                authority,
                open_files.before(),
                signals.ignored.clone(),
            )
            .map_err(|source| RecordError::Command {
                command: program.to_string_lossy().into_owned(),
                source,
            })?,
        ),
    };

    let mut exit_status = None;
    let mut until = command_line.time.map(|time| Instant::now() + time);
    let mut timed_out = false;
    let mut ending = Ending::NotYet;
    let mut beat = interval(BEAT);
    let mut hangs = false;
    let mut tell_left: Option<Instant> = None;
    let mut windows: Option<JoinHandle<()>> = None;
    loop {
        let over = match (ending, &command) {
            (Ending::Now, _) => true,
            (_, Some(_)) => false,
            // The command has ended. The last bytes of its connections are still relayed.
            (Ending::NotYet, None) => exit_status.is_some() && display.connections.none_open(),
            (Ending::WithLastBytes(_), None) => !display.connections.has_last_bytes(),
            (_, None) => words.is_empty() || display.connections.none_open(),
        };
        if over {
            break;
        }
        tokio::select! {
            Some(notice) = heard.recv() => on(notice),
            status = end_of(&mut command, display) => {
                command = None;
                exit_status = Some(status.map_err(system("to wait for the command"))?);
                tell_left = Some(Instant::now() + LEFT_PATIENCE);
                if !command_line.until_closed {
                    let open = OpenWindows::new(display.link.clone(), Arc::clone(&display.processes));
                    windows = Some(tokio::task::spawn_local(open.closed()));
                }
                // The time limit has passed. The last bytes of its connections arrive at once, and daemons are not
                // waited for.
                if timed_out {
                    ending = Ending::By(Instant::now() + LAST_PATIENCE);
                }
            }
            Some(signal) = signals.next() => match &command {
                Some(command) => {
                    pass_on(signal, command, display);
                    if signal.number == SIGTERM {
                        ending = Ending::By(Instant::now() + STOP_PATIENCE);
                    }
                }
                None if ending == Ending::NotYet => {
                    ending = Ending::By(Instant::now() + INTERRUPT_PATIENCE);
                }
                None => ending = Ending::Now,
            },
            () = reached(until) => {
                until = None;
                timed_out = command.is_some();
                ending = match &command {
                    Some(command) => {
                        display.sender.control(clock::now(), Control::Ending {});
                        command.signal(SIGTERM);
                        Ending::By(Instant::now() + TERMINATE_PATIENCE)
                    }
                    None => Ending::Now,
                };
            }
            () = patience(ending) => {
                if matches!(ending, Ending::WithLastBytes(_)) {
                    let seconds = LAST_BYTES_PATIENCE.as_secs();
                    display.trouble(format!(
                        "the last requests of clients that have ended did not reach the server within {seconds} s"
                    ));
                }
                ending = Ending::Now;
            }
            () = reached(tell_left) => {
                tell_left = None;
                tell_connected(display, false, on);
            }
            () = ended(&mut windows) => {
                windows = None;
                tell_connected(display, true, on);
                if ending == Ending::NotYet {
                    ending = Ending::WithLastBytes(Instant::now() + LAST_BYTES_PATIENCE);
                }
            }
            () = display.connections.ended.notified() => {}
            _ = beat.tick() => {
                display.follow_processes();
                let hung = display.disk.hangs_for();
                if hung < HANG {
                    hangs = false;
                } else if !std::mem::replace(&mut hangs, true) {
                    on(Notice::Trouble(hanging(hung)));
                }
                // The command's connections may be waiting for the disk.
                if hung >= HANG_PATIENCE && exit_status.is_some() {
                    ending = Ending::Now;
                }
            }
        }
    }
    while let Ok(notice) = heard.try_recv() {
        on(notice);
    }
    // A command that timed out was still running at the end, so it has no exit status.
    Ok(exit_status.filter(|_| !timed_out))
}

/// Reports the clients that are still connected after the command's end.
fn tell_connected(display: &Display, over: bool, on: &mut impl FnMut(Notice)) {
    let left = display.connections.open_processes().into_iter();
    // A process that has ended may have left its connection to a child process.
    let named = left.filter_map(|pid| Some((pid, ProcessInfo::of(pid).name?)));
    let clients: Vec<_> = named.collect();
    if !clients.is_empty() {
        on(Notice::StillConnected { clients, over });
    }
}

/// Sends a signal that the recorder received to the command, unless the terminal has sent it to both.
fn pass_on(signal: Received, command: &Command, display: &Display) {
    if signal.number == SIGTERM {
        display.sender.control(clock::now(), Control::Ending {});
    }
    if !signal.by_all {
        command.signal(signal.number);
    }
    command.wake();
}

fn hanging(since: Duration) -> String {
    let since = since.as_secs();
    format!(
        "the disk hangs: the trace could not be written for {since} s; what comes is kept in memory \
         up to the size of --queue, then the program waits"
    )
}

/// A listening socket.
enum Listener {
    Path(UnixListener),
    Abstract(UnixListener),
    Tcp(TcpListener),
}

fn listeners(claimed: &Claimed) -> io::Result<Vec<Listener>> {
    let unix = |listener: &std::os::unix::net::UnixListener| {
        let listener = listener.try_clone()?;
        listener.set_nonblocking(true)?;
        UnixListener::from_std(listener)
    };
    let mut all = vec![
        Listener::Path(unix(&claimed.path_listener)?),
        Listener::Abstract(unix(&claimed.abstract_listener)?),
    ];
    for listener in &claimed.tcp_listeners {
        let listener = listener.try_clone()?;
        listener.set_nonblocking(true)?;
        all.push(Listener::Tcp(TcpListener::from_std(listener)?));
    }
    Ok(all)
}

impl Listener {
    fn transport(&self) -> Transport {
        match self {
            Listener::Path(_) => Transport::Unix,
            Listener::Abstract(_) => Transport::Abstract,
            Listener::Tcp(_) => Transport::Tcp,
        }
    }

    async fn accept(&self) -> io::Result<OwnedFd> {
        match self {
            Listener::Path(listener) | Listener::Abstract(listener) => {
                Ok(listener.accept().await?.0.into_std()?.into())
            }
            Listener::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                // X servers and libxcb also set this option: small messages are often replies for which a client waits.
                stream.set_nodelay(true)?;
                Ok(stream.into_std()?.into())
            }
        }
    }
}

/// Accepts clients forever. After a failure is recorded, further failures are not recorded until a client was accepted.
async fn accept(display: Arc<Display>, listener: Listener) {
    let transport = listener.transport();
    let mut noted = false;
    loop {
        // Meanwhile, new clients wait in the listening socket's queue.
        while !display.connections.has_room(transport.is_local()) {
            sleep(FULL_REST).await;
        }
        let accepted = listener.accept().await;
        match accepted.and_then(|stream| display.take(stream, transport)) {
            Ok(()) => noted = false,
            Err(error) => {
                if !std::mem::replace(&mut noted, true) {
                    display.trouble(format!("a client could not be accepted: {error}"));
                }
                sleep(ACCEPT_REST).await;
            }
        }
    }
}

/// Waits for the command's end; forever if there is no command.
async fn end_of(command: &mut Option<Command>, display: &Display) -> io::Result<ExitStatus> {
    match command {
        Some(command) => {
            command
                .ended(|pid| display.scheduling.note_cpu_time(pid))
                .await
        }
        None => std::future::pending().await,
    }
}

/// Waits for a task's end; forever if there is no task.
async fn ended(task: &mut Option<JoinHandle<()>>) {
    match task {
        // A task that panicked has ended too.
        Some(task) => _ = task.await,
        None => std::future::pending().await,
    }
}

/// Waits until the time limit of the current step; forever if there is none.
async fn patience(ending: Ending) {
    match ending {
        Ending::By(until) | Ending::WithLastBytes(until) => reached(Some(until)).await,
        Ending::NotYet | Ending::Now => reached(None).await,
    }
}

/// Waits until this time; forever if there is none.
async fn reached(until: Option<Instant>) {
    match until {
        Some(until) => sleep_until(until).await,
        None => std::future::pending().await,
    }
}
