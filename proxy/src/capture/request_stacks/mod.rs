//! The stacks on which a program made its requests (`record --stacks=requests`).
//!
//! The program preloads a library (client_stacks.c), which is embedded in x11prof. The library writes to shared memory
//! that the recorder reads every few milliseconds. Neither side waits for the other.

mod ring;

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use x11prof_trace::{Control, RequestRun, StackFrame, Timestamp};

use crate::capture::preload::preloaded;
use crate::capture::stack_numbers::{OWN_LIBRARY, StackNumbers};
use crate::clock;
use crate::processes::process_info;
use crate::recorder::record_queue::RecordSender;
use ring::{Definition, Request, Ring};

/// The library as compiled at build time; empty if the processor is not supported.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/client_stacks.so"));
/// The interval between two readings, and the interval while requests arrive. An analysis holds some milliseconds of
/// messages until their stacks are recorded.
const BEAT: Duration = Duration::from_millis(5);
const BUSY_BEAT: Duration = Duration::from_millis(1);
/// After this time without requests, the recorder notes that a client sent none.
const QUIET: Duration = Duration::from_millis(50);
/// Maximum number of runs in one record. A run is a sequence of requests of one client with the same stack.
const RUNS: usize = 1 << 14;

/// Maximum length of all file names of a stack, in bytes.
const STACK_TEXTS: usize = 1 << 16;

/// The running thread that reads the stacks which clients write.
pub(crate) struct RequestStacks {
    environment: [(&'static str, OsString); 3],
    over: Arc<AtomicBool>,
    thread: JoinHandle<Result<ReadStacks, String>>,
}

/// The number of requests whose stacks were recorded (`reported`), and of requests whose stacks were lost.
#[derive(Debug, Default)]
pub(crate) struct ReadStacks {
    pub(crate) reported: u64,
    pub(crate) lost: u64,
}

impl RequestStacks {
    /// Writes the library into `dir`, creates the shared memory, and starts the thread that reads it.
    ///
    /// # Errors
    /// Fails with a reason in text form if programs cannot load the library.
    pub(crate) fn start(
        dir: &Path,
        stacks: Arc<StackNumbers>,
        sender: RecordSender,
    ) -> Result<RequestStacks, String> {
        if LIBRARY.is_empty() {
            return Err("the call stacks of requests can be recorded on x86_64 only".to_owned());
        }
        let library = dir.join(OWN_LIBRARY);
        let failed = |error| format!("{}: {error}", dir.display());
        fs::write(&library, LIBRARY).map_err(failed)?;
        let ring = Ring::create().map_err(|error| format!("memory: {error}"))?;
        let memory = ring.path();
        let since = clock::now();
        // An analysis holds requests for their stacks from the first record of stacks on.
        let none = Control::RequestStacks {
            until_ns: since.as_nanos(),
            runs: Vec::new(),
            took_ns: 0,
        };
        sender.control(since, none);
        let mut reader = Reader {
            ring,
            sender,
            since,
            learned: 0,
            processors: u128::from(process_info::cpus()),
            places: HashMap::new(),
            numbers: HashMap::new(),
            stacks,
            read: ReadStacks::default(),
        };
        let over = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&over);
        let thread = std::thread::Builder::new().name("x11prof-stacks".to_owned());
        let thread = thread.spawn(move || {
            let mut reported = 0;
            loop {
                // The flag is read before the last reading, so that the last reading comes after the end.
                let last = is_over.load(Ordering::Acquire);
                reader.read().map_err(|error| error.to_string())?;
                if last {
                    return Ok(reader.read);
                }
                let is_busy = reader.read.reported > reported;
                reported = reader.read.reported;
                std::thread::park_timeout(if is_busy { BUSY_BEAT } else { BEAT });
            }
        });
        Ok(RequestStacks {
            environment: [
                ("LD_PRELOAD", preloaded(&library)),
                ("X11PROF_STACKS", memory.into_os_string()),
                // The sanitizer's library refuses programs that load another library first.
                ("ASAN_OPTIONS", asan_options()),
            ],
            over,
            thread: thread.map_err(failed)?,
        })
    }

    /// The environment variables that make a program load the library and record its stacks.
    pub(crate) fn environment(&self) -> &[(&'static str, OsString)] {
        &self.environment
    }

    /// Ends the thread after it has read the last stacks. Returns the numbers of requests with recorded and with lost stacks.
    pub(crate) fn end(self) -> Result<ReadStacks, String> {
        self.over.store(true, Ordering::Release);
        self.thread.thread().unpark();
        let read = self.thread.join();
        read.unwrap_or_else(|_| Err("the thread that reads them broke off".to_owned()))
    }
}

/// Returns the user's AddressSanitizer options, with the option that permits AddressSanitizer not to be the first
/// library.
fn asan_options() -> OsString {
    let mut options = std::env::var_os("ASAN_OPTIONS").unwrap_or_default();
    if !options.is_empty() {
        options.push(":");
    }
    options.push("verify_asan_link_order=0");
    options
}

/// A sentence about the problem with the stacks of a recording with `connections` connections; `None` if there was
/// none.
pub(crate) fn tell(read: Result<ReadStacks, String>, connections: u32) -> Option<String> {
    match read {
        Err(why) => Some(format!("stacks of requests are missing: {why}")),
        Ok(ReadStacks { reported: 0, .. }) if connections > 0 => Some(
            "no request has a stack: the program loads no library (it is static, or runs as another user), \
             runs in its own namespace of processes, restricts its system calls, or does not send by the C library; \
             --stacks=waits needs none of these"
                .to_owned(),
        ),
        Ok(ReadStacks { lost, .. }) if lost > 0 => Some(format!(
            "{lost} requests have no stack: the recorder could not read them in time"
        )),
        Ok(_) => None,
    }
}

/// The state of the thread that reads the stacks of requests.
struct Reader {
    ring: Ring,
    sender: RecordSender,
    /// The time of the last reading. Later stacks belong to requests that were sent after this time.
    since: Timestamp,
    /// The time that clients used for unwinding, as recorded so far, in nanoseconds.
    learned: u64,
    /// The number of the machine's processors.
    processors: u128,
    /// Code files and Python functions, by the clients' numbers.
    places: HashMap<u32, (String, Option<String>)>,
    /// The trace's numbers of stacks by the clients' numbers.
    numbers: HashMap<u32, u32>,
    stacks: Arc<StackNumbers>,
    read: ReadStacks,
}

impl Reader {
    fn read(&mut self) -> std::io::Result<()> {
        let now = clock::now();
        let mut requests = Vec::new();
        self.read.lost += self.ring.requests(&mut requests)?;
        // Later entries may belong to requests that were sent before `now`, so the records are complete only up to
        // the last reading.
        let now = match self.ring.is_held_up() {
            true => self.since,
            false => now,
        };
        // A stack is defined before its first request.
        for definition in self.ring.definitions()? {
            self.define(definition);
        }
        let made = requests.len() as u64;
        // The relay waits when the queue is full, so stacks must not fill it.
        if self.sender.is_for_headers() {
            requests.clear();
        }
        let runs = runs(requests, &self.numbers);
        let reported: u64 = runs.iter().map(|run| u64::from(run.count)).sum();
        self.read.reported += reported;
        self.read.lost += made - reported;
        if runs.is_empty() && now.since(self.since) < QUIET {
            return Ok(());
        }
        let mut parts = runs.chunks(RUNS).peekable();
        loop {
            let runs = parts.next().unwrap_or_default().to_vec();
            let until = match parts.peek() {
                Some(_) => self.since,
                None => now,
            };
            let until_ns = until.as_nanos();
            let learned = self.ring.learned()?;
            // A client may write any number. All processors together cannot have used more CPU time than this.
            let passed = clock::now().since(self.since).as_nanos() * self.processors;
            let took = u128::from(learned.saturating_sub(self.learned)).min(passed);
            let reported = Control::RequestStacks {
                until_ns,
                runs,
                took_ns: u64::try_from(took).unwrap_or(u64::MAX),
            };
            self.learned = learned;
            self.sender.control(self.since, reported);
            if parts.peek().is_none() {
                break;
            }
        }
        self.since = now;
        Ok(())
    }

    fn define(&mut self, definition: Definition) {
        let (number, frames, is_whole) = match definition {
            Definition::Module { number, file } => {
                self.places.insert(number, (file, None));
                return;
            }
            Definition::Function { number, file, name } => {
                self.places.insert(number, (file, Some(name)));
                return;
            }
            Definition::Stack {
                number,
                frames,
                is_whole,
            } => (number, frames, is_whole),
        };
        let file = |(place, _): &(u32, u64)| self.places.get(place);
        let texts = frames.iter().filter_map(file);
        let texts = texts.map(|(file, name)| file.len() + name.as_ref().map_or(0, String::len));
        if texts.sum::<usize>() > STACK_TEXTS {
            return;
        }
        let frames = frames.into_iter().map(|(place, address)| {
            let (file, function) = self.places.get(&place).cloned().unwrap_or_default();
            StackFrame {
                file,
                address,
                function,
            }
        });
        // Clients assign a new number if the same stack occurs at another depth of the thread's stack memory.
        if let Some(stack) = self
            .stacks
            .of((frames.collect(), is_whole), None, self.since)
        {
            self.numbers.insert(number, stack);
        }
    }
}

/// Groups consecutive requests into runs, with the trace's numbers of stacks.
fn runs(requests: Vec<Request>, numbers: &HashMap<u32, u32>) -> Vec<RequestRun> {
    let mut runs: Vec<RequestRun> = Vec::new();
    // The last run of each connection.
    let mut last: HashMap<u32, usize> = HashMap::new();
    // The previous request and the index of its run. A client that draws on one stack then needs no look-ups.
    let mut before: Option<(Request, usize)> = None;
    for request in requests {
        if let Some((of, at)) = &mut before
            && (of.ids, of.stack) == (request.ids, request.stack)
            && of.sequence.wrapping_add(1) == request.sequence
        {
            runs[*at].count += 1;
            of.sequence = request.sequence;
            continue;
        }
        let Some(stack) = numbers.get(&request.stack).copied() else {
            continue;
        };
        let at = last.entry(request.ids).or_insert(usize::MAX);
        match runs.get_mut(*at) {
            Some(run)
                if run.stack == stack
                    && run.sequence.wrapping_add(run.count) == request.sequence =>
            {
                run.count += 1;
            }
            _ => {
                *at = runs.len();
                runs.push(RequestRun {
                    ids: request.ids,
                    sequence: request.sequence,
                    count: 1,
                    stack,
                });
            }
        }
        before = Some((request, *at));
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_requests_on_one_stack_form_a_run() {
        let request = |ids, sequence, stack| Request {
            ids,
            sequence,
            stack,
        };
        let numbers = HashMap::from([(5, 0), (6, 1), (8, 0)]);
        let requests = vec![
            request(1, u32::MAX, 5),
            request(2, 1, 6),
            request(1, 0, 8),
            request(1, 1, 6),
            // The stack of this request is not defined.
            request(1, 2, 9),
            request(1, 3, 6),
        ];
        let runs: Vec<[u32; 4]> = runs(requests, &numbers)
            .into_iter()
            .map(Into::into)
            .collect();
        assert_eq!(
            runs,
            [
                [1, u32::MAX, 2, 0],
                [2, 1, 1, 1],
                [1, 1, 1, 1],
                [1, 3, 1, 1]
            ]
        );
    }
}
