//! The part of a recording that does not depend on the source of its messages: the trace, its first and last records,
//! marks, context switches and call stacks.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use x11prof_trace::{Control, ExtensionOpcodes, Server, Started};

use crate::capture::handler_times::HandlerTimes;
use crate::capture::scheduling::Scheduling;
use crate::capture::stack_numbers::StackNumbers;
use crate::capture::stack_unwinding::{StackQueue, StackUnwinding};
use crate::clock;
use crate::display::display_name::DisplayName;
use crate::display::server_link::ServerLink;
use crate::marks::Marks;
use crate::notice::Notice;
use crate::private_dir::PrivateDir;
use crate::processes::{process_info, signals};
use crate::recorder::client_processes::ClientProcesses;
use crate::recorder::record_queue::{RecordSender, record_queue};
use crate::recorder::trace_file::TraceFile;
use crate::recorder::{Disk, Recorder};
use crate::recording::config::{RecordConfig, Recorded, Stacks};
use crate::recording::record_error::RecordError;
use crate::relay::rewrites::Rewrite;

/// The recorded server, as described at the beginning of the trace.
pub(crate) struct RecordedServer<'a> {
    pub(crate) link: &'a ServerLink,
    pub(crate) about: Server,
    pub(crate) extensions: Vec<ExtensionOpcodes>,
    /// The source of the server's handler times, or the reason why handlers are not timed; `None` if x11prof did not
    /// start the server for timing.
    pub(crate) timer: Option<Result<HandlerTimes, String>>,
}

/// A recording while it runs. Dropping it ends the trace.
pub(crate) struct RecordingSession {
    pub(crate) sender: RecordSender,
    /// The private directory for the recording's sockets and libraries.
    pub(crate) dir: PrivateDir,
    pub(crate) scheduling: Arc<Scheduling>,
    pub(crate) numbers: Arc<StackNumbers>,
    /// The processes of the clients that the recorder relays.
    pub(crate) clients: Arc<ClientProcesses>,
    /// The id of the server's process; `None` if it does not run on this machine.
    pub(crate) server: Option<u32>,
    stacks: Vec<Stacks>,
    unwinding: Option<StackUnwinding>,
    marks: Option<Marks>,
    recorder: OpenTrace,
    keep_symbols: bool,
    has_command: bool,
}

/// The outcome of a message source at the end of a recording.
#[derive(Debug, Default)]
pub(crate) struct SourceOutcome {
    /// The command's exit status, as in [`Recorded`].
    pub(crate) exit_status: Option<ExitStatus>,
    pub(crate) bytes: u64,
    pub(crate) connections: u32,
    pub(crate) tried: Vec<(Rewrite, u64)>,
    /// Sentences about the data that is missing from the trace, with the reasons.
    pub(crate) trouble: Vec<String>,
}

/// The recorder's thread, and the queue to it. The thread ends when the queue is closed, so dropping this closes the
/// queue.
struct OpenTrace(RecordSender, Option<Recorder>);

impl Drop for OpenTrace {
    fn drop(&mut self) {
        self.0.close();
        if let Some(recorder) = self.1.take() {
            recorder.join(|| false, drop);
        }
    }
}

impl RecordingSession {
    /// Opens the trace and writes its first records, including the records `source` that describe the message source.
    /// Accepts marks for the displays `names`. `tell` is called with failures of the trace file as they happen, `on`
    /// with notices.
    pub(crate) fn start(
        config: &RecordConfig,
        server: RecordedServer<'_>,
        names: &[&DisplayName],
        source: Vec<Control>,
        tell: impl Fn(String) + Send + 'static,
        on: &mut impl FnMut(Notice),
    ) -> Result<RecordingSession, RecordError> {
        let system = |what| move |source| RecordError::System { what, source };
        let dir = PrivateDir::new().map_err(system("a private directory"))?;
        let (sender, recorder) = open_trace(config, tell)?;
        let key = config.mark_key.as_ref().map(|key| (key, server.link));
        let clients = Arc::new(ClientProcesses::default());
        let marks = Marks::start(dir.path(), names, key, &sender, &clients);
        let marks = marks.map_err(|reason| {
            let display = server.link.name().to_string();
            RecordError::MarkKey { display, reason }
        })?;
        if let Some(what) = &marks.trouble {
            on(Notice::Trouble(what.clone()));
        }
        let pid = server.about.pid;
        let control = |control| sender.control(clock::now(), control);
        control(Control::Server(server.about));
        source.into_iter().for_each(control);
        if !config.labels.is_empty() {
            let labels = config.labels.clone();
            control(Control::Labels { labels });
        }
        let extensions = server.extensions;
        control(Control::Extensions { extensions });
        let timer = server.timer.zip(pid).and_then(|(timer, pid)| {
            let why = timer.as_ref().err().cloned();
            control(Control::Timing { pid, why });
            timer.ok()
        });
        let numbers = Arc::new(StackNumbers::new(sender.clone()));
        let samples = config.stacks.contains(&Stacks::Cpu);
        let waits = config.stacks.contains(&Stacks::Waits);
        let unwinding =
            (samples || waits).then(|| StackUnwinding::start(Arc::clone(&numbers), sender.clone()));
        let unwinding = unwinding.transpose().map_err(system("a thread"))?;
        let copies = |wanted| {
            let unwinding = unwinding.as_ref().filter(|_| wanted);
            unwinding.map(|one| one.queue.clone())
        };
        let scheduling = Scheduling::start(sender.clone(), timer, copies(samples), copies(waits));
        if let Some(pid) = pid {
            scheduling.watch_server(pid);
        }
        Ok(RecordingSession {
            sender,
            dir,
            scheduling: Arc::new(scheduling),
            numbers,
            clients,
            server: pid,
            stacks: config.stacks.clone(),
            unwinding,
            marks: Some(marks),
            recorder,
            keep_symbols: config.keep_symbols,
            has_command: !config.command.is_empty(),
        })
    }

    /// The queue for the stacks on which clients wait; `None` if they are not recorded.
    pub(crate) fn wait_stacks(&self) -> Option<StackQueue> {
        let unwinding = self.unwinding.as_ref();
        let unwinding = unwinding.filter(|_| self.stacks.contains(&Stacks::Waits));
        unwinding.map(|one| one.queue.clone())
    }

    /// The first resource id of the connection that grabs the key for marks; `None` without a key. This connection must
    /// not be recorded.
    pub(crate) fn mark_connection(&self) -> Option<u32> {
        self.marks.as_ref().and_then(Marks::connection)
    }

    /// The progress of the trace's writes to the disk.
    pub(crate) fn disk(&self) -> Disk {
        self.recorder
            .1
            .as_ref()
            .map(Recorder::disk)
            .unwrap_or_default()
    }

    /// Ends the capture of marks, context switches and call stacks, and writes their last records to the trace.
    pub(crate) fn end_capture(&mut self, on: &mut impl FnMut(Notice)) {
        self.marks = None;
        if let Some(pid) = self.server {
            self.scheduling.note_cpu_time(pid);
        }
        self.scheduling.end();
        let unwinding = self.unwinding.take();
        if let Some(what) = unwinding.and_then(StackUnwinding::end) {
            on(Notice::Trouble(what));
        }
    }

    /// Writes the last records and closes the trace. A signal meanwhile ends the reading of symbols and the wait for a
    /// hanging disk, a second one also a long writing. Returns the outcome of the recording.
    pub(crate) fn finish(mut self, source: SourceOutcome, on: &mut impl FnMut(Notice)) -> Recorded {
        let impatient = Arc::new(AtomicBool::new(false));
        for signal in signals::not_ignored() {
            // If this fails, a second signal cannot end the reading of symbols and the wait for a hanging disk.
            let _ = signal_hook::flag::register(signal, Arc::clone(&impatient));
        }
        // Reading the symbols does not make the recording longer.
        let at = clock::now();
        if self.keep_symbols {
            // A signal is the usual end of a recording without a command.
            let downloads = !self.has_command || signals::received_signal().is_none();
            self.numbers
                .keep_symbols(at, Arc::clone(&impatient), downloads, &mut *on);
            impatient.store(false, Ordering::Relaxed);
        }
        let mut trouble = source.trouble;
        if let Some(what) = self.sender.loss_summary() {
            on(Notice::Trouble(what.clone()));
            trouble.push(what);
        }
        for what in trouble.iter().cloned() {
            self.sender.control(at, Control::Trouble { what });
        }
        let exit_status = source.exit_status;
        let shell =
            |status: ExitStatus| status.code().or(status.signal().map(|signal| 128 + signal));
        let ended = Control::Ended {
            exit_status: exit_status.and_then(shell),
        };
        self.sender.control(at, ended);
        self.sender.close();
        let recorder = self.recorder.1.take();
        let signalled = || impatient.swap(false, Ordering::Relaxed);
        let written = recorder.map(|one| one.join(signalled, |what| on(Notice::Trouble(what))));
        let written = written.unwrap_or_default();
        let of_trace = [written.trouble, written.file.trouble];
        Recorded {
            exit_status,
            records: written.records,
            bytes_relayed: source.bytes,
            connections: source.connections,
            trace_bytes: written.file.len,
            left_alone: written.file.left_alone,
            tried: source.tried,
            trouble: of_trace.into_iter().flatten().chain(trouble).collect(),
        }
    }
}

/// Opens the trace and starts its thread.
fn open_trace(
    config: &RecordConfig,
    tell: impl Fn(String) + Send + 'static,
) -> Result<(RecordSender, OpenTrace), RecordError> {
    let path = config.output.clone().unwrap_or_default();
    let file = config.output.as_deref().map(TraceFile::open).transpose();
    let file = file.map_err(|source| RecordError::Output {
        path: path.clone(),
        source,
    })?;
    let words = match config.driven.is_empty() {
        true => config.command.iter(),
        false => config.driven.iter(),
    };
    let started = Started {
        format: x11prof_trace::FORMAT,
        recorder: config.recorder.clone(),
        wall_clock_ns: clock::wall_clock_ns(),
        command: process_info::shortened(words),
        cpu_model: process_info::cpu_model(),
        cpus: process_info::cpus(),
        kernel: process_info::kernel(),
        full: config.full,
    };
    let (sender, receiver) = record_queue(config.queue_bytes, config.full);
    let (watch, filter) = (config.watch.clone(), config.filter.map(|make| make()));
    let recorder = Recorder::start(file, path.clone(), started, receiver, watch, filter, tell);
    let recorder = recorder.map_err(|source| RecordError::Trace { path, source })?;
    Ok((sender.clone(), OpenTrace(sender, Some(recorder))))
}
