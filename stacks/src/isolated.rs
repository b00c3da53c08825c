//! Processes an untrusted file in a separate process, because the file may crash the libraries that read it, or make
//! them use all memory. Only the separate process ends then.

use std::io::{self, BufRead, BufWriter, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::program;

/// The maximum memory of the separate process, in bytes. Mapped files do not count.
const MEMORY: u64 = 2 << 30;
/// The CPU time that a separate process may use for one request.
const CPU_TIME: Duration = Duration::from_secs(60);
/// The maximum wait for a reply if the process only reads files. The limit is larger than `CPU_TIME`, because a file
/// may block the process when it is opened.
pub const READING: Duration = Duration::from_secs(90);
/// How often a wait looks for a request to stop.
pub(crate) const BEAT: Duration = Duration::from_millis(50);

/// A separate process that runs [`serve`] on untrusted files. The process ends when this value is dropped.
#[derive(Debug)]
pub struct IsolatedProcess {
    child: Child,
    requests: ChildStdin,
    replies: ChildStdout,
    stop: Arc<AtomicBool>,
}

impl IsolatedProcess {
    /// Starts this program again, with `words` as its arguments.
    ///
    /// # Errors
    /// Fails if the process cannot be started.
    pub fn start<'a>(words: impl IntoIterator<Item = &'a str>) -> io::Result<IsolatedProcess> {
        let mut command = program("/proc/self/exe");
        IsolatedProcess::of(command.args(words).current_dir("/"))
    }

    fn of(command: &mut Command) -> io::Result<IsolatedProcess> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(requests), Some(replies)) => Ok(IsolatedProcess {
                child,
                requests,
                replies,
                stop: Arc::default(),
            }),
            _ => Err(io::Error::other("no pipes")),
        }
    }

    /// Ends waits for replies when `stop` is true.
    pub(crate) fn stopped_by(mut self, stop: &Arc<AtomicBool>) -> IsolatedProcess {
        self.stop = Arc::clone(stop);
        self
    }

    /// Sends a request to the process, and returns its reply, which must arrive within `patience` and have at most
    /// `longest` bytes.
    ///
    /// # Errors
    /// Fails if the process ended (because its work crashed, or took too much memory or time), or if the reply is later
    /// or longer. Then the process serves no further request.
    pub fn reply<T: DeserializeOwned>(
        &mut self,
        request: &impl Serialize,
        longest: u64,
        patience: Duration,
    ) -> io::Result<T> {
        let mut request = serde_json::to_vec(request)?;
        request.push(b'\n');
        self.requests.write_all(&request)?;
        let until = Instant::now() + patience;
        let (mut reply, mut chunk) = (Vec::new(), vec![0; 1 << 16]);
        let beat = Timespec::try_from(BEAT).ok();
        while reply.last() != Some(&b'\n') {
            if Instant::now() >= until || self.stop.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::TimedOut.into());
            }
            let mut ready = [PollFd::new(&self.replies, PollFlags::IN)];
            if retry_on_intr(|| poll(&mut ready, beat.as_ref()))? > 0 {
                let read = self.replies.read(&mut chunk)?;
                reply.extend_from_slice(&chunk[..read]);
                if read == 0 || reply.len() as u64 > longest {
                    return Err(io::ErrorKind::InvalidData.into());
                }
            }
        }
        Ok(serde_json::from_slice(&reply)?)
    }
}

impl Drop for IsolatedProcess {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads requests from standard input, calls `work` for each, and writes the replies to standard output, each as a line
/// of JSON, until the input ends. The process limits its own memory, and the CPU time of each request.
///
/// # Errors
/// Fails if standard input or output fails, if a request is malformed, or if the limits cannot be set.
pub fn serve<Q: DeserializeOwned, A: Serialize>(mut work: impl FnMut(Q) -> A) -> io::Result<()> {
    thread::Builder::new().spawn(end_with_input)?;
    for (resource, most) in [(Resource::Data, MEMORY), (Resource::Core, 0)] {
        limit(resource, most)?;
        let current = getrlimit(resource).current;
        let maximum = current;
        setrlimit(resource, Rlimit { current, maximum })?;
    }
    let mut out = BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        let request = serde_json::from_str(&line?)?;
        limit_time(CPU_TIME)?;
        serde_json::to_writer(&mut out, &work(request))?;
        out.write_all(b"\n")?;
        out.flush()?;
    }
    Ok(())
}

/// Ends this process when the other process has closed standard input, also while a request is being served. A killed
/// process leaves no reader. (A parent death signal would arrive when the thread that started the reader ends.)
fn end_with_input() {
    let stdin = io::stdin();
    let mut closed = [PollFd::new(&stdin, PollFlags::empty())];
    if retry_on_intr(|| poll(&mut closed, None)).is_ok() {
        #[expect(
            clippy::exit,
            reason = "the main thread may be in a library's endless loop"
        )]
        std::process::exit(1);
    }
}

/// Limits the memory of this process to `most` bytes, but at most to the limit that [`serve`] sets.
///
/// # Errors
/// Fails if the limit cannot be set.
pub fn limit_memory(most: u64) -> io::Result<()> {
    limit(Resource::Data, most.min(MEMORY))
}

/// Makes the kernel end this process after it has used the CPU time `left` from now on, rounded up to whole seconds.
pub(crate) fn limit_time(left: Duration) -> io::Result<()> {
    limit(Resource::Cpu, (cpu_time() + left).as_secs() + 1)
}

/// Sets a soft limit, but does not raise it above the limit that the user has set.
fn limit(resource: Resource, most: u64) -> io::Result<()> {
    let old = getrlimit(resource);
    let current = Some(old.maximum.map_or(most, |own| own.min(most)));
    Ok(setrlimit(resource, Rlimit { current, ..old })?)
}

/// The CPU time that this process has used so far.
pub(crate) fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_that_does_not_reply_is_ended() {
        let mut silent = IsolatedProcess::of(program("sleep").arg("600")).unwrap();
        let patience = Duration::from_millis(10);
        let reply: io::Result<()> = silent.reply(&"", 10, patience);
        assert_eq!(reply.unwrap_err().kind(), io::ErrorKind::TimedOut);
        let pid = rustix::process::Pid::from_child(&silent.child);
        drop(silent);
        assert!(rustix::process::test_kill_process(pid).is_err());
    }
}
