//! The object that a system call of Linux on x86-64 waits for, by the number of the call
//! (arch/x86/entry/syscalls/syscall_64.tbl). Traces contain only these numbers (docs/FORMAT.md).

/// The object that a system call waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemCall {
    /// The call waits until a time.
    Sleep,
    /// The call waits for one of several descriptors.
    Poll {
        /// The number of descriptors; `None` for epoll, and if the arguments are not known.
        count: Option<u64>,
        /// The address of poll's list; `None` for select and epoll.
        array: Option<u64>,
    },
    /// The call waits for a futex, which the arguments describe (futex(2)).
    Futex,
    /// The call waits for one of several futexes.
    Futexes,
    /// The call waits for the child process with this id; `None` if it waits for any child.
    Child(Option<u32>),
    /// The call waits for the file whose name is at this address; `None` if the address is unknown.
    Path(Option<u64>),
    /// The call waits for one descriptor.
    Descriptor {
        /// The number of the descriptor; `None` if unknown.
        number: Option<u64>,
        /// True if the descriptor is a file, because the call accepts only files.
        is_file: bool,
    },
    /// The call waits for another object, or the thread is in no system call.
    Other,
}

impl SystemCall {
    /// The time limit in milliseconds of poll, epoll_wait or epoll_pwait; negative if the call has none. `None` for other
    /// calls, whose limit is in memory, and if the arguments are not known.
    #[must_use]
    pub fn limit_ms(number: i64, arguments: &[u64]) -> Option<i32> {
        let known = [(7, 2), (232, 3), (281, 3)];
        let (_, at) = known.into_iter().find(|(call, _)| *call == number)?;
        arguments.get::<usize>(at).map(|limit| *limit as i32)
    }

    /// Classifies the system call with this number. `arguments` are the first arguments of the call; some or all may be
    /// missing.
    #[must_use]
    pub fn of(number: i64, arguments: &[u64]) -> SystemCall {
        let argument = |n: usize| arguments.get(n).copied();
        let child = |number: Option<u64>| {
            let number = number.and_then(|number| u32::try_from(number).ok());
            SystemCall::Child(number.filter(|number| *number > 0))
        };
        let poll = |count: Option<u64>, array: Option<u64>| match count {
            // Without a descriptor the call waits for its time limit.
            Some(0) => SystemCall::Sleep,
            count => SystemCall::Poll { count, array },
        };
        match number {
            // nanosleep, clock_nanosleep.
            35 | 230 => SystemCall::Sleep,
            // poll, ppoll.
            7 | 271 => poll(argument(1), argument(0)),
            // select, pselect6.
            23 | 270 => poll(argument(0), None),
            // epoll_wait, epoll_pwait, epoll_pwait2.
            232 | 281 | 441 => poll(None, None),
            202 => SystemCall::Futex,
            // futex_waitv.
            449 => SystemCall::Futexes,
            // wait4.
            61 => child(argument(0)),
            // waitid, by a process's number (P_PID) or otherwise.
            247 => child(argument(1).filter(|_| argument(0) == Some(1))),
            // open, stat, lstat, access.
            2 | 4 | 6 | 21 => SystemCall::Path(argument(0)),
            // openat, newfstatat, statx.
            257 | 262 | 332 => SystemCall::Path(argument(1)),
            // pread64, pwrite64, fsync, fdatasync, getdents64.
            17 | 18 | 74 | 75 | 217 => SystemCall::Descriptor {
                number: argument(0),
                is_file: true,
            },
            // read, write, readv, writev, sendfile, connect, accept, sendto, recvfrom, sendmsg, recvmsg, flock, accept4,
            // recvmmsg.
            0 | 1 | 19 | 20 | 40 | 42..=47 | 73 | 288 | 299 => SystemCall::Descriptor {
                number: argument(0),
                is_file: false,
            },
            _ => SystemCall::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SystemCall;

    #[test]
    fn calls_have_their_objects() {
        let call = SystemCall::of;
        assert_eq!(call(230, &[]), SystemCall::Sleep);
        assert_eq!(call(7, &[0x10, 0, 500]), SystemCall::Sleep);
        let poll = SystemCall::Poll {
            count: Some(1),
            array: Some(0x10),
        };
        assert_eq!(call(271, &[0x10, 1]), poll);
        let unknown = SystemCall::Poll {
            count: None,
            array: None,
        };
        assert_eq!(call(7, &[]), unknown);
        assert_eq!(call(61, &[0xffff_ffff_ffff_ffff]), SystemCall::Child(None));
        assert_eq!(call(61, &[71]), SystemCall::Child(Some(71)));
        assert_eq!(call(247, &[0, 71]), SystemCall::Child(None));
        assert_eq!(call(257, &[5, 0x20]), SystemCall::Path(Some(0x20)));
        assert_eq!(call(-1, &[]), SystemCall::Other);
    }
}
