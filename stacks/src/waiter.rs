//! Copies the stack of the thread that waits for bytes of an X11 connection, such as a client library's thread that
//! waits for a reply.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use crate::memory;

/// The number of descriptors in a descriptor set of select(2) (FD_SETSIZE).
const SET: u64 = 1024;
/// The maximum number of bytes to read from a stack. Reading stops earlier at the base of the stack.
const STACK_BYTES: usize = 64 << 10;
/// Maximum number of threads that are checked.
const THREADS: usize = 16;
/// The interval between two checks for new threads.
const NEW_THREADS: Duration = Duration::from_millis(100);
/// The interval between two checks if no known thread waits.
const SOON: Duration = Duration::from_millis(2);

/// A copy of the stack of a thread that sleeps, or that ran at a known instruction.
#[derive(Debug, PartialEq, Eq)]
pub struct StackCopy {
    /// The id of the thread's process.
    pub pid: u32,
    pub(crate) pc: u64,
    pub(crate) sp: u64,
    /// The frame pointer (RBP), if it is known.
    pub(crate) bp: Option<u64>,
    /// The bytes of the stack, from the address `sp` upwards.
    pub(crate) bytes: Vec<u8>,
}

impl StackCopy {
    /// Copies the stack of a blocked thread of a process from the process's `memory` file (proc(5), `mem`). `pc` and
    /// `sp` are the instruction pointer and the stack pointer of the thread. `None` if the process has ended.
    pub fn of_blocked(pid: u32, memory: &File, pc: u64, sp: u64) -> Option<StackCopy> {
        let bytes = memory::read(memory, sp, STACK_BYTES).ok()?;
        Some(StackCopy {
            pid,
            pc,
            sp,
            bp: None,
            bytes,
        })
    }

    /// Creates a copy from the `bytes` of a running thread's stack and its registers: instruction pointer, stack
    /// pointer and frame pointer.
    pub fn of_running(pid: u32, pc: u64, sp: u64, bp: u64, bytes: Vec<u8>) -> StackCopy {
        StackCopy {
            pid,
            pc,
            sp,
            bp: Some(bp),
            bytes,
        }
    }
}

/// Observes the threads of a process, and copies the stack of the thread that waits for a connection. The process's
/// files stay open, because opening them takes longer than reading them.
#[derive(Debug)]
pub struct Waiter {
    pid: u32,
    memory: File,
    /// The `syscall` file of each thread, with the first thread first.
    threads: Vec<(u32, File)>,
    looked: Instant,
    /// The descriptor of the connection; `None` until a thread was seen waiting for it.
    connection: Option<u32>,
}

/// A thread that is blocked in a system call that waits for one descriptor or another thread.
#[derive(Debug, PartialEq, Eq)]
struct BlockedThread {
    sp: u64,
    pc: u64,
    descriptor: Descriptor,
}

/// The descriptor that a thread waits for.
#[derive(Debug, PartialEq, Eq)]
enum Descriptor {
    Number(u64),
    /// The number of the descriptor is stored at this address (poll(2), `struct pollfd`).
    At(u64),
    /// The thread waits in select(2) for one descriptor: the first value minus 1. The second value is the address of the
    /// descriptor set, which must contain only this descriptor.
    Last(u64, u64),
    /// The thread waits for another thread instead of a descriptor (futex(2)).
    OfAnother,
}

impl Waiter {
    /// Opens the files of the process with the id `pid`. Call this while the process waits for bytes of its connection,
    /// so that the first [`Waiter::copy`] can determine the connection's descriptor.
    ///
    /// # Errors
    /// Fails if the process has ended, or if this user may not inspect it (ptrace(2), "access mode checking").
    pub fn open(pid: u32) -> io::Result<Waiter> {
        let memory = File::open(format!("/proc/{pid}/mem"))?;
        let mut waiter = Waiter {
            pid,
            memory,
            threads: Vec::new(),
            looked: Instant::now(),
            connection: None,
        };
        waiter.find_threads()?;
        Ok(waiter)
    }

    /// Copies the stack of the thread that waits for bytes of the process's connection; `None` if no thread does.
    pub fn copy(&mut self) -> Option<StackCopy> {
        if self.looked.elapsed() > NEW_THREADS {
            self.find_threads().ok()?;
        }
        let (sp, pc) = match self.stand() {
            Some(stand) => stand,
            // The reading thread may be new.
            None if self.looked.elapsed() > SOON => {
                self.find_threads().ok()?;
                self.stand()?
            }
            None => return None,
        };
        StackCopy::of_blocked(self.pid, &self.memory, pc, sp)
    }

    /// The stack pointer and the instruction pointer of the thread that waits for the connection's bytes; `None` if no
    /// thread does.
    fn stand(&mut self) -> Option<(u64, u64)> {
        let mut waits = self.threads.iter().map(|(_, file)| waits(file));
        let first = waits.next()?;
        // If another thread reads all events, the first thread waits until that thread has read its reply (libxcb).
        let handed = match &first {
            Some(stand) if stand.descriptor == Descriptor::OfAnother => Some((stand.sp, stand.pc)),
            _ => None,
        };
        let mut waits = first.into_iter().chain(waits.flatten());
        let (stand, connection) = waits.find_map(|stand| {
            let descriptor = self.descriptor(&stand.descriptor)?;
            let is_it = match self.connection {
                Some(connection) => connection == descriptor,
                // Other threads wait for pipes and events, not for sockets.
                None => self.is_socket(descriptor),
            };
            is_it.then_some((stand, descriptor))
        })?;
        self.connection = Some(connection);
        Some(handed.unwrap_or((stand.sp, stand.pc)))
    }

    fn descriptor(&self, of: &Descriptor) -> Option<u32> {
        match of {
            Descriptor::Number(number) => u32::try_from(*number).ok(),
            Descriptor::At(address) => {
                let bytes = memory::read(&self.memory, *address, 4).ok()?;
                Some(u32::from_ne_bytes(bytes.try_into().ok()?))
            }
            Descriptor::Last(count, set) => {
                let last = count.checked_sub(1).filter(|last| *last < SET)?;
                let bytes = memory::read(&self.memory, *set, SET as usize / 8).ok()?;
                let bits = bytes.iter().map(|byte| byte.count_ones());
                (bits.sum::<u32>() == 1).then_some(last as u32)
            }
            Descriptor::OfAnother => None,
        }
    }

    fn is_socket(&self, descriptor: u32) -> bool {
        let link = std::fs::read_link(format!("/proc/{}/fd/{descriptor}", self.pid));
        link.is_ok_and(|link| link.to_string_lossy().starts_with("socket:"))
    }

    fn find_threads(&mut self) -> io::Result<()> {
        self.looked = Instant::now();
        let entries = std::fs::read_dir(format!("/proc/{}/task", self.pid))?.flatten();
        let names = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let mut now: Vec<u32> = names.collect();
        // The first thread has the smallest id, and waits most often.
        now.sort_unstable();
        now.truncate(THREADS);
        self.threads.retain(|(tid, _)| now.contains(tid));
        for tid in now {
            if self.threads.iter().all(|(known, _)| *known != tid)
                && let Ok(file) = File::open(format!("/proc/{}/task/{tid}/syscall", self.pid))
            {
                self.threads.push((tid, file));
            }
        }
        Ok(())
    }
}

/// The wait of the thread whose `syscall` file is `file`; `None` if the thread does not wait for a single descriptor or
/// another thread.
fn waits(file: &File) -> Option<BlockedThread> {
    let mut buffer = [0; 256];
    let length = file.read_at(&mut buffer, 0).ok()?;
    let text = std::str::from_utf8(buffer.get(..length)?).ok()?;
    stands(text)
}

/// Parses a line of `syscall` (proc(5)): the number of the call, six arguments, the stack pointer and the instruction
/// pointer. `None` if the thread waits in another way.
fn stands(line: &str) -> Option<BlockedThread> {
    /// The system calls read, recvfrom, recvmsg and readv (x86-64).
    const READS: [u64; 4] = [0, 45, 47, 19];
    /// The system calls poll and ppoll. The second argument is the number of descriptors.
    const POLLS: [u64; 2] = [7, 271];
    /// The system calls select and pselect6. The first argument is the number after the last descriptor, and the second
    /// argument is the set of descriptors to read.
    const SELECTS: [u64; 2] = [23, 270];
    const FUTEX: u64 = 202;
    let hex = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
    let mut words = line.split_ascii_whitespace();
    let number: u64 = words.next()?.parse().ok()?;
    let (first, second) = (hex(words.next()?)?, hex(words.next()?)?);
    let descriptor = match (READS.contains(&number), POLLS.contains(&number)) {
        (true, _) => Descriptor::Number(first),
        (_, true) if second == 1 => Descriptor::At(first),
        _ if SELECTS.contains(&number) && second != 0 => Descriptor::Last(first, second),
        _ if number == FUTEX => Descriptor::OfAnother,
        _ => return None,
    };
    let sp = words.nth(4).and_then(hex)?;
    let pc = words.next().and_then(hex)?;
    Some(BlockedThread { sp, pc, descriptor })
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::{BlockedThread, Descriptor, Waiter, stands};

    #[test]
    fn single_descriptor_waits_are_distinguished() {
        let stand = |descriptor| {
            Some(BlockedThread {
                sp: 0x7ffd00,
                pc: 0x7f42,
                descriptor,
            })
        };
        let poll = |count: u32| {
            stands(&format!(
                "7 0x7ffd10 {count:#x} 0xffffffff 0x0 0x0 0x0 0x7ffd00 0x7f42"
            ))
        };
        assert_eq!(poll(1), stand(Descriptor::At(0x7ffd10)));
        assert_eq!(poll(3), None, "an event loop");
        let receives = "47 0x5 0x7ffd10 0x0 0x0 0x0 0x0 0x7ffd00 0x7f42";
        assert_eq!(stands(receives), stand(Descriptor::Number(5)));
        let selects = "270 0x6 0x7ffd80 0x0 0x0 0x0 0x0 0x7ffd00 0x7f42";
        assert_eq!(stands(selects), stand(Descriptor::Last(6, 0x7ffd80)));
        let sleeps = "230 0x0 0x0 0x7ffd10 0x0 0x0 0x0 0x7ffd00 0x7f42";
        assert_eq!(stands(sleeps), None);
        assert_eq!(stands("running"), None);
        assert_eq!(stands("-1 0x7ffd00 0x7f42"), None);
    }

    #[test]
    fn process_blocked_on_a_pipe_is_not_waiting_for_a_connection() {
        let waiting = |input: Stdio| {
            let mut cat = Command::new("cat").stdin(input).spawn().unwrap();
            let mut waiter = Waiter::open(cat.id()).unwrap();
            let until = Instant::now() + Duration::from_millis(500);
            let mut copy = None;
            while copy.is_none() && Instant::now() < until {
                copy = waiter.copy();
                std::thread::sleep(Duration::from_millis(1));
            }
            cat.kill().unwrap();
            cat.wait().unwrap();
            copy.is_some()
        };
        let (_ours, theirs) = UnixStream::pair().unwrap();
        assert!(waiting(OwnedFd::from(theirs).into()));
        assert!(!waiting(Stdio::piped()));
    }
}
