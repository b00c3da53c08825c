//! Scheduling capture: the intervals in which threads of the server and of the clients ran and waited, and the system
//! calls in which they waited. A thread reads the kernel's rings at a fixed interval.
//!
//! The kernel's record does not contain the system call in which a thread waits, and after the wait the call can no
//! longer be read. So the interval determines the shortest wait whose call is recorded.

use std::collections::HashMap;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use x11prof_stacks::StackCopy;
use x11prof_trace::{Control, Record, Switch, SwitchKind, Timestamp, WaitPeer, Waiting};

use crate::capture::blocked_objects::{BlockedObject, awaited_link};
use crate::capture::handler_times::HandlerTimes;
use crate::capture::peers::Peers;
use crate::capture::perf::{Drained, Outputs, Rings, Sample, Sampled, Wanted, may_sample_kernel};
use crate::capture::stack_unwinding::{Copied, Reason, StackQueue};
use crate::clock;
use crate::processes::{cpu_clock, process_info};
use crate::recorder::record_queue::RecordSender;

/// The interval between two reads of the rings while clients are watched.
const BEAT: Duration = Duration::from_millis(2);
/// The minimum time for which a thread must be blocked before its system call is read. With the interval `BEAT`, the
/// call of every wait of 3 ms or more is read. Waits for replies are usually shorter, so that most reads of their
/// calls would be too late.
const LONG_WAIT: Duration = Duration::from_millis(1);
/// The number of recorded system call arguments. Calls that wait have their object and their timeout among the first
/// arguments.
const ARGUMENTS: usize = 4;
/// The interval between two looks at a server that sleeps.
const ASLEEP_EVERY: Duration = Duration::from_millis(50);
/// The interval between two records of CPU clocks.
const CPU_TIME_EVERY: Duration = Duration::from_secs(1);

/// The running capture of context switches and stacks. It sends all its records before it ends.
#[derive(Debug)]
pub(crate) struct Scheduling {
    /// The rings for context switches, or the reason why there is no capture.
    outputs: Result<Outputs, String>,
    /// The rings for stack samples of clients, or the reason why there are none; `None` if samples were not requested.
    samples: Option<Result<Outputs, String>>,
    shared: Arc<WatchedProcesses>,
    thread: Mutex<Option<JoinHandle<()>>>,
    sender: RecordSender,
}

#[derive(Debug, Default)]
struct WatchedProcesses {
    processes: Mutex<HashMap<u32, Process>>,
    stop: AtomicBool,
}

#[derive(Debug, Default)]
struct Process {
    /// The number of connections and other reasons to watch the process.
    users: usize,
    /// True for the display server, whose stacks are not copied.
    is_server: bool,
    /// The perf events of a watched process. Closing them ends the watching.
    events: Vec<OwnedFd>,
}

impl WatchedProcesses {
    fn processes(&self) -> MutexGuard<'_, HashMap<u32, Process>> {
        // Every change is one step, so the data is consistent even after a panic.
        self.processes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Scheduling {
    /// Starts the capture, which watches no process yet. With a `timer`, it also records the times of the server's
    /// handlers. `run_stacks` receives the stacks of running clients, `blocked_stacks` the stacks of blocked clients.
    pub(crate) fn start(
        sender: RecordSender,
        timer: Option<HandlerTimes>,
        run_stacks: Option<StackQueue>,
        blocked_stacks: Option<StackQueue>,
    ) -> Scheduling {
        let (outputs, rings) = open(Wanted::Switches);
        let kernel = run_stacks.is_some() && may_sample_kernel();
        let sampled = run_stacks
            .as_ref()
            .map(|_| open(Wanted::Samples { kernel }));
        let (samples, sample_rings) = sampled.unzip();
        let shared = Arc::new(WatchedProcesses::default());
        let watcher = Watcher {
            rings,
            sample_rings: sample_rings.flatten().zip(run_stacks),
            blocked_stacks,
            memories: Memories::default(),
            peers: Peers::default(),
            kernel,
            shared: Arc::clone(&shared),
            sender: sender.clone(),
            timer,
            threads: HashMap::new(),
            last: 0,
            lost: 0,
            lost_samples: 0,
            left_out: 0,
            untimed: 0,
            full: false,
        };
        let spawned = thread::Builder::new()
            .name("x11prof-sched".to_owned())
            .spawn(move || watcher.run());
        let (outputs, thread) = match spawned {
            Ok(thread) => (outputs, Some(thread)),
            Err(error) => (Err(format!("no thread for it: {error}")), None),
        };
        Scheduling {
            outputs,
            samples,
            shared,
            thread: Mutex::new(thread),
            sender,
        }
    }

    /// Watches a client's process. Each call must be matched by one call of `leave`. Records the kind of capture and
    /// the process's CPU time.
    pub(crate) fn watch(&self, pid: u32) {
        self.watch_process(pid, self.samples.as_ref());
    }

    /// Watches the server's process.
    pub(crate) fn watch_server(&self, pid: u32) {
        self.watch_process(pid, None);
        let mut processes = self.shared.processes();
        if let Some(server) = processes.get_mut(&pid) {
            server.is_server = true;
        }
    }

    fn watch_process(&self, pid: u32, samples: Option<&Result<Outputs, String>>) {
        let mut processes = self.shared.processes();
        let process = processes.entry(pid).or_default();
        process.users += 1;
        if process.users == 1 && process.events.is_empty() {
            if let Some(samples) = samples {
                match attach(samples, pid) {
                    Ok(events) => process.events.extend(events),
                    // A process that has already ended has nothing to sample.
                    Err(_) if !Path::new(&format!("/proc/{pid}")).exists() => {}
                    Err(why) => {
                        let what = format!("no stacks of where process {pid} runs: {why}");
                        self.sender.control(clock::now(), Control::Trouble { what });
                    }
                }
            }
            let (capture, why) = match attach(&self.outputs, pid) {
                Ok(events) => {
                    process.events.extend(events);
                    ("switches", None)
                }
                Err(why) => ("none", Some(why)),
            };
            let capture = capture.to_owned();
            self.sender
                .control(clock::now(), Control::Capture { pid, capture, why });
        }
        drop(processes);
        self.note_cpu_time(pid);
        // A process that waits already does not switch until that ends.
        let now = clock::now();
        if let Ok(Some((waiting, _))) = waiting(pid, pid, now) {
            self.sender.control(now, Control::Waiting(waiting));
        }
    }

    /// Ends the effect of one call of `watch` for a process.
    pub(crate) fn leave(&self, pid: u32) {
        if let Some(process) = self.shared.processes().get_mut(&pid) {
            process.users = process.users.saturating_sub(1);
        }
    }

    /// Records a process's CPU time, if it can be read.
    pub(crate) fn note_cpu_time(&self, pid: u32) {
        note_cpu_time(&self.sender, pid);
    }

    /// Ends the capture after it has sent all its records.
    pub(crate) fn end(&self) {
        self.shared.stop.store(true, Ordering::Release);
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = thread.take() {
            thread.thread().unpark();
            // If the thread has panicked, only scheduling records are missing.
            let _ = thread.join();
        }
    }
}

impl Drop for Scheduling {
    fn drop(&mut self) {
        self.end();
    }
}

/// Opens the rings. Returns the handle for watching processes, or the reason why the kernel provides no rings; and the rings.
fn open(wanted: Wanted) -> (Result<Outputs, String>, Option<Rings>) {
    let opened = Rings::open(&process_info::online_cpus(), wanted)
        .and_then(|rings| Ok((rings.outputs()?, rings)));
    match opened {
        Ok((outputs, rings)) => (Ok(outputs), Some(rings)),
        Err(error) => (Err(why_not(&error)), None),
    }
}

fn attach(outputs: &Result<Outputs, String>, pid: u32) -> Result<Vec<OwnedFd>, String> {
    match outputs {
        Ok(outputs) => outputs.attach(pid).map_err(|error| why_not(&error)),
        Err(why) => Err(why.clone()),
    }
}

fn note_cpu_time(sender: &RecordSender, pid: u32) {
    let time = clock::now();
    if let Some(figures) = cpu_clock::read(pid) {
        sender.control(time, Control::CpuTime(figures));
    }
}

/// The kernel's refusal as text.
fn why_not(error: &std::io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => {
            let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
            format!(
                "perf_event_open is forbidden (kernel.perf_event_paranoid is {}, 2 or less is needed; \
                 containers often forbid it altogether)",
                paranoid.as_deref().map_or("unknown", str::trim)
            )
        }
        Some(libc::EMFILE) => "too few open files allowed (ulimit -n)".to_owned(),
        _ => format!("perf_event_open: {error}"),
    }
}

/// The state of the thread that watches the scheduling of clients.
struct Watcher {
    rings: Option<Rings>,
    sample_rings: Option<(Rings, StackQueue)>,
    blocked_stacks: Option<StackQueue>,
    /// The memory files of clients with blocked threads.
    memories: Memories,
    peers: Peers,
    /// True if threads are also sampled inside the kernel.
    kernel: bool,
    shared: Arc<WatchedProcesses>,
    sender: RecordSender,
    timer: Option<HandlerTimes>,
    threads: HashMap<u32, Thread>,
    /// The number of switches in the last read of the rings, as an estimate for the next one.
    last: usize,
    lost: u64,
    /// The number of stack samples that the kernel lost.
    lost_samples: u64,
    /// The number of switches that were dropped because the queue was full.
    left_out: u64,
    /// The number of requests without times, because the ring of handler times was full.
    untimed: u64,
    full: bool,
}

/// The state of a thread since its last context switch.
struct Thread {
    pid: u32,
    since: Timestamp,
    /// True if the thread's system call has been read since the thread was blocked; `None` while the thread runs or is runnable.
    blocked: Option<bool>,
}

impl Watcher {
    fn run(mut self) {
        let (mut cpu_times, mut looked) = (Instant::now(), Instant::now());
        loop {
            // The flag is read before the rings, so that the last read of the rings comes after the end.
            let stop = self.shared.stop.load(Ordering::Acquire);
            let gone: Vec<u32> = self
                .shared
                .processes()
                .iter()
                .filter(|(_, process)| process.users == 0)
                .map(|(&pid, _)| pid)
                .collect();
            // Read the rings first, so that a thread that has run since is not treated as blocked. Reading a system
            // call takes longer than everything else here.
            self.drain();
            self.drain_samples();
            self.drain_timer();
            let seen = if self.full { Vec::new() } else { self.ask() };
            if !seen.is_empty() {
                self.drain();
                self.tell(seen);
            }
            self.forget(&gone);
            if stop {
                break;
            }
            if cpu_times.elapsed() >= CPU_TIME_EVERY && !self.full {
                cpu_times = Instant::now();
                let pids: Vec<u32> = self.shared.processes().keys().copied().collect();
                pids.iter()
                    .for_each(|&pid| note_cpu_time(&self.sender, pid));
            }
            if looked.elapsed() >= ASLEEP_EVERY && !self.full {
                looked = Instant::now();
                self.look_at_servers();
            }
            thread::park_timeout(BEAT);
        }
        for (count, what) in [
            (self.lost, "context switches were lost by the kernel"),
            (
                self.lost_samples,
                "stacks of running clients were lost by the kernel",
            ),
            (
                self.left_out,
                "context switches were dropped because the queue was full",
            ),
            (
                self.untimed,
                "requests were handled untimed because the recorder came late",
            ),
        ] {
            if count > 0 {
                let what = format!("{count} {what}");
                self.sender.control(clock::now(), Control::Trouble { what });
            }
        }
    }

    fn drain(&mut self) {
        let Some(rings) = &mut self.rings else { return };
        let mut drained = Drained::default();
        drained.switches.reserve(self.last);
        rings.drain(&mut drained);
        let mut switches = drained.switches;
        self.lost += drained.lost;
        self.last = switches.len();
        {
            // On old kernels child processes are included.
            let processes = self.shared.processes();
            switches.retain(|switch: &Switch| processes.contains_key(&switch.pid));
        }
        for switch in &switches {
            let thread = Thread {
                pid: switch.pid,
                since: switch.time,
                blocked: (switch.kind == SwitchKind::Blocked).then_some(false),
            };
            self.threads.insert(switch.tid, thread);
        }
        // The kernel's rings must always be emptied, and this thread must not wait. Switches also must not use queue
        // space that headers need, because the relay waits for that space.
        let full = self.sender.is_for_headers();
        if full {
            self.left_out += switches.len() as u64;
        }
        if full && !self.full {
            let what = "context switches are dropped from now on: the queue is filling".to_owned();
            self.sender.control(clock::now(), Control::Trouble { what });
        }
        self.full = full;
        if !full && !switches.is_empty() {
            self.sender.push(Record::Schedule(switches));
        }
    }

    /// Queues the stacks on which clients ran for unwinding.
    fn drain_samples(&mut self) {
        let Some((rings, queue)) = &mut self.sample_rings else {
            return;
        };
        let mut drained = Drained::default();
        rings.drain(&mut drained);
        self.lost_samples += drained.lost;
        let processes = self.shared.processes();
        for sampled in drained.samples {
            match sampled {
                Sampled::Stack(Sample { at, copy }) if processes.contains_key(&copy.pid) => {
                    let kernel = self.kernel;
                    let reason = Reason::Run { kernel };
                    queue.put(Copied { at, copy, reason });
                }
                Sampled::Stack(_) => {}
                Sampled::Mapped(pid) => queue.has_mapped(pid),
            }
        }
    }

    /// Records the times of the server's handlers.
    fn drain_timer(&mut self) {
        let Some(timer) = &mut self.timer else { return };
        let mut times = Vec::new();
        match timer.drain(&mut times) {
            Ok(lost) => self.untimed += lost,
            Err(error) => {
                let what = format!("the times of the server's handlers cannot be read: {error}");
                self.sender.control(clock::now(), Control::Trouble { what });
                self.timer = None;
            }
        }
        if self.full {
            self.untimed += times.iter().map(|time| u64::from(time.count)).sum::<u64>();
        } else if !times.is_empty() {
            self.sender.push(Record::HandlerTimes(times));
        }
    }

    /// The processes of servers. The lock is not held while files are read, because the relay takes it as well.
    fn servers(&self) -> Vec<u32> {
        let processes = self.shared.processes();
        let servers = processes.iter().filter(|(_, of)| of.is_server);
        servers.map(|(pid, _)| *pid).collect()
    }

    /// Reads the system calls of threads that have been blocked for longer than `LONG_WAIT`.
    fn ask(&mut self) -> Vec<(Timestamp, Waiting, Option<Copied>)> {
        let now = clock::now();
        let mut seen = Vec::new();
        let has_stacks = self.blocked_stacks.is_some();
        let servers = self.servers();
        let (memories, peers) = (&mut self.memories, &mut self.peers);
        self.threads.retain(|&tid, thread| {
            if thread.blocked != Some(false) || now.since(thread.since) < LONG_WAIT {
                return true;
            }
            thread.blocked = Some(true);
            match waiting(thread.pid, tid, thread.since) {
                Ok(waiting) => {
                    seen.extend(waiting.map(|(mut waiting, position)| {
                        let position = position.filter(|_| !servers.contains(&thread.pid));
                        let memory = position.and_then(|_| memories.of(thread.pid));
                        let peer = memory.and_then(|memory| peer(peers, memory, &waiting));
                        waiting.peer = peer.filter(|peer| !servers.contains(&peer.pid));
                        let copy = position.zip(memory).filter(|_| has_stacks);
                        let copy = copy.and_then(|(at, memory)| blocked(memory, &waiting, at));
                        (clock::now(), waiting, copy)
                    }));
                    true
                }
                // The thread has ended.
                Err(_) => false,
            }
        });
        seen
    }

    /// Records which servers sleep, of those that have not run for a while. The context switches of a server that is ready
    /// but has no processor are the same.
    fn look_at_servers(&mut self) {
        for pid in self.servers() {
            let now = clock::now();
            let thread = self.threads.get(&pid);
            let rests = thread
                .is_some_and(|one| one.blocked.is_some() && now.since(one.since) >= ASLEEP_EVERY);
            if rests && process_info::sleeps(pid) {
                self.sender.control(now, Control::Asleep { pid });
            }
        }
    }

    /// Records the waits in `seen`, unless a context switch shows that the system call belongs to a later wait.
    fn tell(&mut self, seen: Vec<(Timestamp, Waiting, Option<Copied>)>) {
        for (time, waiting, copy) in seen {
            let same = self
                .threads
                .get(&waiting.tid)
                .is_some_and(|thread| thread.since.as_nanos() == waiting.since_ns);
            if same {
                self.sender.control(time, Control::Waiting(waiting));
                if let Some((queue, copy)) = self.blocked_stacks.as_ref().zip(copy) {
                    queue.put(copy);
                }
            }
        }
    }

    /// Removes processes that had no users before this reading of the rings.
    fn forget(&mut self, gone: &[u32]) {
        if gone.is_empty() {
            return;
        }
        let mut processes = self.shared.processes();
        processes.retain(|pid, process| process.users > 0 || !gone.contains(pid));
        self.threads
            .retain(|_, thread| processes.contains_key(&thread.pid));
        self.memories.0.retain(|pid, _| processes.contains_key(pid));
    }
}

/// The memory files of processes (proc_pid_mem(5)); `None` for a file that may not be read.
#[derive(Debug, Default)]
struct Memories(HashMap<u32, Option<fs::File>>);

impl Memories {
    fn of(&mut self, pid: u32) -> Option<&fs::File> {
        let memory = self.0.entry(pid);
        let memory = memory.or_insert_with(|| fs::File::open(format!("/proc/{pid}/mem")).ok());
        memory.as_ref()
    }
}

/// The process at the other end of the socket or pipe that a blocked thread waits for; `None` if unknown.
fn peer(peers: &mut Peers, memory: &fs::File, waiting: &Waiting) -> Option<WaitPeer> {
    let pid = waiting.pid;
    let link = awaited_link(pid, memory, waiting.syscall, &waiting.arguments)?;
    peers.of(pid, &link)
}

/// Copies the stack of a blocked thread whose registers are `at`.
fn blocked(memory: &fs::File, waiting: &Waiting, at: Position) -> Option<Copied> {
    let pid = waiting.pid;
    let copy = StackCopy::of_blocked(pid, memory, at.pc, at.sp)?;
    let on = BlockedObject::of(pid, memory, waiting.syscall, &waiting.arguments);
    Some(Copied {
        at: Timestamp::from_nanos(waiting.since_ns),
        copy,
        reason: Reason::Blocked {
            tid: waiting.tid,
            on,
        },
    })
}

/// The registers of a blocked thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Position {
    pc: u64,
    sp: u64,
}

/// The system call or the kernel function that a blocked thread waits in, and its position in the program. `None` if the
/// kernel reports neither, an error if there is no such thread.
fn waiting(
    pid: u32,
    tid: u32,
    since: Timestamp,
) -> std::io::Result<Option<(Waiting, Option<Position>)>> {
    let wait_channel = fs::read_to_string(format!("/proc/{pid}/task/{tid}/wchan"))?;
    let wait_channel = Some(wait_channel).filter(|name| !name.is_empty() && name != "0");
    // Reading the file needs a debugger's rights, which the kernel may refuse.
    let line = fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")).unwrap_or_default();
    let (syscall, arguments, position) = system_call(&line);
    if wait_channel.is_none() && syscall.is_none() {
        return Ok(None);
    }
    let waiting = Waiting {
        pid,
        tid,
        since_ns: since.as_nanos(),
        syscall: syscall.unwrap_or(-1),
        wait_channel,
        arguments,
        peer: None,
    };
    Ok(Some((waiting, position)))
}

/// The number of a system call, its first arguments and the thread's position, from the kernel's line
/// (proc_pid_syscall(5)): `202 0x7f… 0x189 0x0 0x0 …` with six arguments, stack pointer and instruction, `-1 …` with the
/// last two outside of a call, or `running`.
fn system_call(line: &str) -> (Option<i64>, Vec<u64>, Option<Position>) {
    // The numbers in a trace are the x86-64 numbers (docs/FORMAT.md).
    if cfg!(not(target_arch = "x86_64")) {
        return (None, Vec::new(), None);
    }
    let mut words = line.split_ascii_whitespace();
    let number = words.next().and_then(|word| word.parse().ok());
    let hexadecimal = |word: &str| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok();
    let mut arguments: Vec<u64> = words.map_while(hexadecimal).collect();
    let position = match (number, &arguments[..]) {
        (Some(0..), &[.., sp, pc]) if arguments.len() == 8 => Some(Position { pc, sp }),
        (Some(_), &[sp, pc]) => Some(Position { pc, sp }),
        _ => None,
    };
    // A stack in the first 4 GiB is one of a 32-bit program, whose system calls have other numbers.
    if position.is_some_and(|at| u32::try_from(at.sp).is_ok()) {
        return (None, Vec::new(), None);
    }
    arguments.truncate(match number {
        Some(0..) => ARGUMENTS,
        _ => 0,
    });
    (number, arguments, position)
}

#[cfg(test)]
mod tests {
    use super::{Position, system_call};

    #[test]
    fn kernel_system_call_lines_are_parsed() {
        let futex = "202 0x7f00a0 0x189 0x0 0x7ffe10 0x0 0xffffffff 0x7fff00007ffe00 0x7f0010\n";
        let position = Some(Position {
            pc: 0x7f_0010,
            sp: 0x7f_ff00_007f_fe00,
        });
        assert_eq!(
            system_call(futex),
            (Some(202), vec![0x7f_00a0, 0x189, 0, 0x7f_fe10], position)
        );
        assert_eq!(
            system_call("-1 0x7fff00007ffe00 0x7f0010\n"),
            (Some(-1), vec![], position)
        );
        // A 32-bit program.
        let poll = "168 0x5655 0x1 0x0 0x0 0x0 0x0 0xffffd000 0xf7f0010\n";
        assert_eq!(system_call(poll), (None, vec![], None));
        assert_eq!(system_call("running\n"), (None, vec![], None));
        assert_eq!(system_call(""), (None, vec![], None));
    }
}
