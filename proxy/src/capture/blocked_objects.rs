//! The objects that blocked threads wait for, from a thread's system call and its arguments.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use x11prof_stacks::read_proc;
use x11prof_trace::{BlockedOn, SystemCall};

/// The number of bytes to read for the name of a file.
const NAME: usize = 256;

/// The object that a blocked thread waits for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BlockedObject {
    pub(crate) object: BlockedOn,
    pub(crate) name: Option<String>,
    /// The link of a pipe or a socket, `pipe:[INODE]`, by which the other end can be found.
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

    /// The object that a thread of process `pid` waits for in the system call `call`. `memory` is the process's memory
    /// file. A thread outside of a system call (-1) waits for a page of a file, or of swapped memory.
    pub(crate) fn of(pid: u32, memory: &File, call: i64, arguments: &[u64]) -> BlockedObject {
        let named = |object, name| BlockedObject::new(object, name);
        let events = || named(BlockedOn::Events, None);
        if call < 0 {
            return named(BlockedOn::File, None);
        }
        let call = SystemCall::of(call, arguments);
        match call {
            SystemCall::Sleep => named(BlockedOn::Sleep, None),
            SystemCall::Poll { .. } | SystemCall::Descriptor { .. } => {
                sole_descriptor(call, memory).map_or_else(events, |one| descriptor_of(pid, one))
            }
            SystemCall::Futex => lock(pid, memory, arguments),
            SystemCall::Futexes => named(BlockedOn::Thread, None),
            SystemCall::Child(number) => child(pid, number),
            SystemCall::Path(at) => named(BlockedOn::File, at.and_then(|at| text(memory, at))),
            SystemCall::Other => named(BlockedOn::Other, None),
        }
    }
}

/// The descriptor that a call waits for, if it waits for only one.
fn sole_descriptor(call: SystemCall, memory: &File) -> Option<u64> {
    match call {
        SystemCall::Descriptor { number, .. } => number,
        SystemCall::Poll {
            count: Some(1),
            array: Some(array),
        } => number(memory, array).map(u64::from),
        _ => None,
    }
}

/// The link of the socket or pipe that a call waits for; `None` if the call waits for several or other objects.
pub(crate) fn awaited_link(
    pid: u32,
    memory: &File,
    call: i64,
    arguments: &[u64],
) -> Option<String> {
    let descriptor = sole_descriptor(SystemCall::of(call, arguments), memory)?;
    descriptor_of(pid, descriptor).link
}

/// Returns the object (file, pipe, socket) of an open file descriptor of a process.
fn descriptor_of(pid: u32, descriptor: u64) -> BlockedObject {
    let link = fs::read_link(format!("/proc/{pid}/fd/{descriptor}")).unwrap_or_default();
    let link = link.to_string_lossy().into_owned();
    let object = match link.as_str() {
        _ if link.starts_with("pipe:") => BlockedOn::Pipe,
        _ if link.starts_with("socket:") => BlockedOn::Socket,
        _ if link.starts_with('/') => BlockedOn::File,
        _ => BlockedOn::Events,
    };
    let (name, link) = match object {
        BlockedOn::File => (Some(link), None),
        BlockedOn::Events => (None, None),
        _ => (None, Some(link)),
    };
    BlockedObject { object, name, link }
}

/// Returns the object of a futex. glibc's mutex stores its holder's thread id behind the futex (`struct
/// __pthread_mutex_s`), and a thread that waits for the end of another thread expects that thread's id in the futex. A
/// futex without a holder, such as a condition of GLib, is no lock.
fn lock(pid: u32, memory: &File, arguments: &[u64]) -> BlockedObject {
    const WAIT: u64 = 0;
    const WAIT_BITSET: u64 = 9;
    const OWNER: u64 = 8;
    let (Some(&address), Some(&call)) = (arguments.first(), arguments.get(1)) else {
        return BlockedObject::new(BlockedOn::Thread, None);
    };
    let thread = |tid: u32| {
        let name = read_proc(format!("/proc/{pid}/task/{tid}/comm")).ok()?;
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

/// The child process with the id `number` that process `pid` waits for, or one of its children if `number` is `None`.
fn child(pid: u32, number: Option<u32>) -> BlockedObject {
    let listed = read_proc(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let mut children = listed.split_ascii_whitespace();
    let number = number.or_else(|| children.next()?.parse().ok());
    let process = number.and_then(|number| {
        let name = read_proc(format!("/proc/{number}/comm")).ok()?;
        Some(format!("{} ({number})", name.trim_end()))
    });
    BlockedObject::new(BlockedOn::Child, process)
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
        let polled = [socket.as_raw_fd() as u64];
        let object = of_this(7, &[polled.as_ptr() as u64, 1]);
        assert!(object.link.unwrap().starts_with("socket:["));
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
