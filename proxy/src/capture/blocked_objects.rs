//! The objects that blocked threads wait for, from a thread's system call and its arguments (x86-64).

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use x11prof_trace::BlockedOn;

/// Pipes whose other ends are known.
const PIPES: usize = 256;

/// The longest name of a file that is read.
const NAME: usize = 256;

/// A blocked thread's object.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BlockedObject {
    pub(crate) object: BlockedOn,
    pub(crate) name: Option<String>,
    /// The link of a pipe, `pipe:[INODE]`, by which the other end can be found.
    pub(crate) link: Option<String>,
}

impl BlockedObject {
    fn new(object: BlockedOn, name: Option<String>) -> BlockedObject {
        BlockedObject {
            object,
            name,
            link: None,
        }
    }

    /// The object of a call of the process with this memory file. A thread outside of a call (-1) waits for a page of a
    /// file, or of swapped memory.
    pub(crate) fn of(pid: u32, memory: &File, call: i64, arguments: &[u64]) -> BlockedObject {
        let argument = |n: usize| arguments.get(n).copied().unwrap_or(0);
        match call {
            // nanosleep, clock_nanosleep.
            35 | 230 => BlockedObject::new(BlockedOn::Sleep, None),
            // poll, ppoll; select, pselect6.
            7 | 271 if argument(1) == 0 => BlockedObject::new(BlockedOn::Sleep, None),
            23 | 270 if argument(0) == 0 => BlockedObject::new(BlockedOn::Sleep, None),
            7 | 271 if argument(1) == 1 => match number(memory, argument(0)) {
                Some(descriptor) => descriptor_of(pid, u64::from(descriptor)),
                None => BlockedObject::new(BlockedOn::Events, None),
            },
            // epoll_wait, epoll_pwait, epoll_pwait2.
            7 | 271 | 23 | 270 | 232 | 281 | 441 => BlockedObject::new(BlockedOn::Events, None),
            202 => lock(pid, memory, arguments),
            // wait4; waitid(P_PID).
            61 => child(pid, i64::from(argument(0) as i32)),
            247 if argument(0) == 1 => child(pid, i64::from(argument(1) as i32)),
            247 => child(pid, -1),
            // open, stat, lstat, access: the first argument is the name; openat, newfstatat, statx: the second.
            2 | 4 | 6 | 21 => BlockedObject::new(BlockedOn::File, text(memory, argument(0))),
            257 | 262 | 332 => BlockedObject::new(BlockedOn::File, text(memory, argument(1))),
            // read, write, pread64, pwrite64, readv, writev, sendfile, connect, accept, sendto, recvfrom, sendmsg,
            // recvmsg, fsync, fdatasync, flock, getdents64, accept4, recvmmsg.
            0 | 1 | 17..=20 | 40 | 42..=47 | 73..=75 | 217 | 288 | 299 => {
                descriptor_of(pid, argument(0))
            }
            -1 => BlockedObject::new(BlockedOn::File, None),
            _ => BlockedObject::new(BlockedOn::Other, None),
        }
    }
}

/// The object of a descriptor.
fn descriptor_of(pid: u32, descriptor: u64) -> BlockedObject {
    let link = fs::read_link(format!("/proc/{pid}/fd/{descriptor}")).unwrap_or_default();
    let link = link.to_string_lossy().into_owned();
    if link.starts_with("pipe:") {
        return BlockedObject {
            link: Some(link),
            ..BlockedObject::new(BlockedOn::Pipe, None)
        };
    }
    let object = match link.as_str() {
        _ if link.starts_with("socket:") => BlockedOn::Socket,
        _ if link.starts_with('/') => BlockedOn::File,
        _ => BlockedOn::Events,
    };
    BlockedObject::new(object, Some(link).filter(|_| object == BlockedOn::File))
}

/// The object of a futex. glibc's mutex has its holder's number behind its own futex (`struct __pthread_mutex_s`), and a
/// thread that waits for another one's end expects that one's number. A futex without a holder, such as a condition of
/// GLib, is no lock.
fn lock(pid: u32, memory: &File, arguments: &[u64]) -> BlockedObject {
    const WAIT: u64 = 0;
    const WAIT_BITSET: u64 = 9;
    const OWNER: u64 = 8;
    let (Some(&address), Some(&call)) = (arguments.first(), arguments.get(1)) else {
        return BlockedObject::new(BlockedOn::Thread, None);
    };
    let thread = |tid: u32| {
        let name = fs::read_to_string(format!("/proc/{pid}/task/{tid}/comm")).ok()?;
        Some(format!("{} ({tid})", name.trim_end()))
    };
    let holder = || number(memory, address.saturating_add(OWNER)).and_then(thread);
    let ends = || u32::try_from(*arguments.get(2)?).ok().and_then(thread);
    match call & 0x7f {
        WAIT => match holder() {
            Some(holder) => BlockedObject::new(BlockedOn::Lock, Some(holder)),
            None => BlockedObject::new(BlockedOn::Thread, None),
        },
        WAIT_BITSET => BlockedObject::new(BlockedOn::Thread, ends()),
        _ => BlockedObject::new(BlockedOn::Thread, None),
    }
}

/// The child with this number, or one of several.
fn child(pid: u32, number: i64) -> BlockedObject {
    let listed = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let mut children = listed.split_ascii_whitespace();
    let number = match u32::try_from(number) {
        Ok(number @ 1..) => Some(number),
        _ => children.next().and_then(|child| child.parse().ok()),
    };
    BlockedObject::new(BlockedOn::Child, number.and_then(process))
}

/// A process as text.
fn process(pid: u32) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(format!("{} ({pid})", name.trim_end()))
}

fn number(memory: &File, address: u64) -> Option<u32> {
    let mut bytes = [0; 4];
    memory.read_exact_at(&mut bytes, address).ok()?;
    Some(u32::from_ne_bytes(bytes))
}

fn text(memory: &File, address: u64) -> Option<String> {
    let mut bytes = [0; NAME];
    let length = memory.read_at(&mut bytes, address).ok()?;
    let end = bytes[..length].iter().position(|byte| *byte == 0)?;
    Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
}

/// The processes at the other ends of pipes.
#[derive(Debug, Default)]
pub(crate) struct PipePeers(HashMap<String, Option<String>>);

impl PipePeers {
    /// A process other than `pid` that has the pipe open, if one may be looked into.
    pub(crate) fn of_pipe(&mut self, pid: u32, link: &str) -> Option<String> {
        if self.0.len() >= PIPES {
            self.0.clear();
        }
        let known = self.0.entry(link.to_owned());
        known.or_insert_with(|| other_end(pid, link)).clone()
    }
}

fn other_end(pid: u32, link: &str) -> Option<String> {
    let entries = fs::read_dir("/proc").ok()?.flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let has = |of: &u32| {
        let open = fs::read_dir(format!("/proc/{of}/fd")).into_iter().flatten();
        let mut links = open
            .flatten()
            .filter_map(|entry| fs::read_link(entry.path()).ok());
        links.any(|one| one.as_os_str() == link)
    };
    // The latest process is a child rather than a parent that has left its end open.
    let others = numbers.filter(|of| *of != pid && *of != std::process::id());
    others.filter(has).max().and_then(process)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_this(call: i64, arguments: &[u64]) -> BlockedObject {
        let memory = File::open("/proc/self/mem").unwrap();
        BlockedObject::of(std::process::id(), &memory, call, arguments)
    }

    #[test]
    fn calls_are_mapped_to_objects() {
        let sleep = BlockedObject::new(BlockedOn::Sleep, None);
        assert_eq!(of_this(230, &[0, 0, 1, 2]), sleep);
        assert_eq!(of_this(7, &[0x10, 0, 500]), sleep);
        assert_eq!(
            of_this(270, &[5, 1]),
            BlockedObject::new(BlockedOn::Events, None)
        );
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let by_number = of_this(61, &[u64::from(child.id()), 0]);
        child.kill().unwrap();
        child.wait().unwrap();
        let name = by_number.name.unwrap();
        assert!(name.ends_with(&format!(" ({})", child.id())), "{name}");
        assert_eq!(by_number.object, BlockedOn::Child);
    }

    #[test]
    fn descriptors_are_files_pipes_or_sockets() {
        use std::os::fd::AsRawFd;
        let read = |file: &dyn AsRawFd| of_this(0, &[file.as_raw_fd() as u64]);
        let file = File::open("/proc/self/exe").unwrap();
        assert_eq!(read(&file).object, BlockedOn::File);
        assert!(read(&file).name.unwrap().starts_with('/'));
        let (reader, _writer) = std::io::pipe().unwrap();
        assert_eq!(read(&reader).object, BlockedOn::Pipe);
        assert!(read(&reader).link.unwrap().starts_with("pipe:["));
        let (socket, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        assert_eq!(read(&socket).object, BlockedOn::Socket);
    }

    #[test]
    fn mutex_has_its_holder_and_condition_is_no_lock() {
        // A mutex of glibc: the futex, a count, the holder.
        let mutex = [2_u32, 0, std::process::id(), 0];
        let object = of_this(202, &[mutex.as_ptr() as u64, 128, 2, 0]);
        assert_eq!(object.object, BlockedOn::Lock);
        let holder = object.name.unwrap();
        assert!(
            holder.ends_with(&format!(" ({})", std::process::id())),
            "{holder}"
        );
        // A condition of GLib: the futex, and nothing behind it that is a thread.
        let condition = [2_u32, 0, 0, 0];
        let object = of_this(202, &[condition.as_ptr() as u64, 128, 2, 0]);
        assert_eq!(object, BlockedObject::new(BlockedOn::Thread, None));
        let joined = of_this(202, &[0, 0x109, u64::from(std::process::id()), 0]);
        assert_eq!(joined.object, BlockedOn::Thread);
        assert!(joined.name.is_some());
    }
}
