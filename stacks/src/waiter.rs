//! A copy of the stack of the thread that waits for one descriptor: a library that waits for a reply does.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use crate::memory;

/// The most that is read of a stack; where its base is nearer, a read stops there.
const STACK_BYTES: usize = 64 << 10;
/// Threads that are looked at.
const THREADS: usize = 16;
/// The time between two looks for new threads.
const NEW_THREADS: Duration = Duration::from_millis(100);

/// The stack of a sleeping thread.
#[derive(Debug)]
pub struct StackCopy {
    /// The process.
    pub pid: u32,
    pub(crate) pc: u64,
    pub(crate) sp: u64,
    /// The bytes from `sp` on.
    pub(crate) bytes: Vec<u8>,
}

/// A process whose threads may wait. Its files stay open: opening them takes longer than reading them.
#[derive(Debug)]
pub struct Waiter {
    pid: u32,
    memory: File,
    /// The `syscall` file of each thread, the first thread's first.
    threads: Vec<(u32, File)>,
    looked: Instant,
}

impl Waiter {
    /// Opens the process's files.
    ///
    /// # Errors
    /// The process is gone, or this user may not look into it (ptrace(2), "access mode checking").
    pub fn open(pid: u32) -> io::Result<Waiter> {
        let memory = File::open(format!("/proc/{pid}/mem"))?;
        let mut waiter = Waiter {
            pid,
            memory,
            threads: Vec::new(),
            looked: Instant::now(),
        };
        waiter.find_threads()?;
        Ok(waiter)
    }

    /// Copies the stack of the thread that waits for one descriptor; `None` where none does.
    pub fn copy(&mut self) -> Option<StackCopy> {
        if self.looked.elapsed() > NEW_THREADS {
            self.find_threads().ok()?;
        }
        let mut waits = self.threads.iter().filter_map(|(_, file)| waits(file));
        let (sp, pc) = waits.next()?;
        let bytes = memory::read(&self.memory, sp, STACK_BYTES).ok()?;
        Some(StackCopy {
            pid: self.pid,
            pc,
            sp,
            bytes,
        })
    }

    fn find_threads(&mut self) -> io::Result<()> {
        self.looked = Instant::now();
        let entries = std::fs::read_dir(format!("/proc/{}/task", self.pid))?.flatten();
        let names = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let mut now: Vec<u32> = names.collect();
        // The first thread has the least number: it waits most often.
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

/// Stack pointer and instruction of a thread that waits for one descriptor.
fn waits(file: &File) -> Option<(u64, u64)> {
    let mut buffer = [0; 256];
    let length = file.read_at(&mut buffer, 0).ok()?;
    let text = std::str::from_utf8(buffer.get(..length)?).ok()?;
    stands(text)
}

/// Reads the line (proc(5), `syscall`): the call's number, six arguments, stack pointer and instruction.
fn stands(line: &str) -> Option<(u64, u64)> {
    /// read, recvfrom, recvmsg, readv (x86-64).
    const READS: [u64; 4] = [0, 45, 47, 19];
    /// poll, ppoll: the second argument is the number of descriptors.
    const POLLS: [u64; 2] = [7, 271];
    let hex = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
    let mut words = line.split_ascii_whitespace();
    let number: u64 = words.next()?.parse().ok()?;
    let count = words.nth(1).and_then(hex)?;
    let is_wait = READS.contains(&number) || POLLS.contains(&number) && count == 1;
    let sp = words.nth(4).and_then(hex)?;
    let pc = words.next().and_then(hex)?;
    is_wait.then_some((sp, pc))
}

#[cfg(test)]
mod tests {
    use super::stands;

    #[test]
    fn waits_for_one_descriptor_are_told_from_others() {
        let poll = |count: u32| {
            stands(&format!(
                "7 0x7ffd10 {count:#x} 0xffffffff 0x0 0x0 0x0 0x7ffd00 0x7f42"
            ))
        };
        assert_eq!(poll(1), Some((0x7ffd00, 0x7f42)));
        assert_eq!(poll(3), None, "an event loop");
        let receives = "47 0x5 0x7ffd10 0x0 0x0 0x0 0x0 0x7ffd00 0x7f42";
        assert_eq!(stands(receives), Some((0x7ffd00, 0x7f42)));
        let sleeps = "230 0x0 0x0 0x7ffd10 0x0 0x0 0x0 0x7ffd00 0x7f42";
        assert_eq!(stands(sleeps), None);
        assert_eq!(stands("running"), None);
        assert_eq!(stands("-1 0x7ffd00 0x7f42"), None);
    }
}
