//! Has the kernel refuse the system calls that reading a file does not need (seccomp(2)).

use std::io;

#[cfg(target_arch = "x86_64")]
use {
    seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule, TargetArch, apply_filter,
    },
    std::collections::BTreeMap,
};

/// The system calls for reading open files, memory, time, threads of the process, and its end.
#[cfg(target_arch = "x86_64")]
const READING: [i64; 44] = [
    libc::SYS_access,
    libc::SYS_brk,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_clone3,
    libc::SYS_close,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_faccessat,
    libc::SYS_fadvise64,
    libc::SYS_fstat,
    libc::SYS_futex,
    libc::SYS_getcwd,
    libc::SYS_getdents64,
    libc::SYS_getpid,
    libc::SYS_getrandom,
    libc::SYS_gettid,
    libc::SYS_lseek,
    libc::SYS_lstat,
    libc::SYS_madvise,
    libc::SYS_membarrier,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_newfstatat,
    libc::SYS_poll,
    libc::SYS_ppoll,
    libc::SYS_pread64,
    libc::SYS_read,
    libc::SYS_readlink,
    libc::SYS_readlinkat,
    libc::SYS_readv,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_set_robust_list,
    libc::SYS_sigaltstack,
    libc::SYS_stat,
    libc::SYS_statx,
    libc::SYS_write,
    libc::SYS_writev,
];

/// From now on, this thread and the threads that it starts can open files only for reading, change none, start no
/// process, signal no other process and use no network. Has no effect on other processors than x86-64.
///
/// # Errors
/// Fails if the kernel has no system call filters.
pub fn allow_only_reading() -> io::Result<()> {
    #[cfg(target_arch = "x86_64")]
    for filter in [without_clone3(), filter()] {
        apply_filter(&filter.map_err(io::Error::other)?).map_err(io::Error::other)?;
    }
    Ok(())
}

/// The C library starts threads with clone(2) if the kernel has no clone3(2), whose flags a filter cannot read.
#[cfg(target_arch = "x86_64")]
fn without_clone3() -> Result<BpfProgram, seccompiler::BackendError> {
    let calls = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    let missing = SeccompAction::Errno(libc::ENOSYS.cast_unsigned());
    SeccompFilter::new(calls, SeccompAction::Allow, missing, TargetArch::x86_64)?.try_into()
}

#[cfg(target_arch = "x86_64")]
fn filter() -> Result<BpfProgram, seccompiler::BackendError> {
    // The call is allowed if the bits `mask` of the argument `at` have this value.
    let with = |at, mask: i32, value: i32| {
        let masked = SeccompCmpOp::MaskedEq(u64::from(mask.cast_unsigned()));
        let (length, value) = (SeccompCmpArgLen::Dword, u64::from(value.cast_unsigned()));
        let condition = SeccompCondition::new(at, length, masked, value)?;
        SeccompRule::new(vec![condition])
    };
    let writing = libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC;
    let own = std::process::id().cast_signed();
    let mut allowed: BTreeMap<i64, Vec<SeccompRule>> =
        READING.into_iter().map(|call| (call, Vec::new())).collect();
    // Limits of this process only, and signals to it (abort(3)); threads, but no processes; no code from files.
    for (call, at, mask, value) in [
        (libc::SYS_open, 1, writing, 0),
        (libc::SYS_openat, 2, writing, 0),
        (libc::SYS_prlimit64, 0, -1, 0),
        (libc::SYS_tgkill, 0, -1, own),
        (libc::SYS_clone, 0, libc::CLONE_THREAD, libc::CLONE_THREAD),
        (libc::SYS_mmap, 2, libc::PROT_EXEC, 0),
        (libc::SYS_mprotect, 2, libc::PROT_EXEC, 0),
        (libc::SYS_fcntl, 1, -1, libc::F_GETFD),
        (libc::SYS_fcntl, 1, -1, libc::F_GETFL),
        (libc::SYS_fcntl, 1, -1, libc::F_DUPFD_CLOEXEC),
    ] {
        allowed
            .entry(call)
            .or_default()
            .push(with(at, mask, value)?);
    }
    let refused = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    SeccompFilter::new(allowed, refused, SeccompAction::Allow, TargetArch::x86_64)?.try_into()
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use std::fs::{File, OpenOptions};
    use std::io::ErrorKind::PermissionDenied;
    use std::net::TcpListener;
    use std::process::Command;

    use super::*;

    /// Makes a system call without effects on this process.
    fn call(number: i64, arguments: [i32; 3]) -> io::Result<()> {
        let [first, second, third] = arguments;
        // SAFETY: the tests only send signal 0, which is not delivered, and set the owner of standard input.
        #[expect(unsafe_code, reason = "no library sends signals to threads of others")]
        let done = unsafe { libc::syscall(number, first, second, third) };
        match done {
            0.. => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    #[test]
    fn sandboxed_thread_can_only_read() {
        let own = std::env::current_exe().expect("the program");
        let parent = rustix::process::getppid().expect("a parent");
        let refused = std::thread::spawn(move || {
            allow_only_reading().expect("a filter");
            let mut bytes = Vec::new();
            let read = File::open(&own)
                .and_then(|file| io::copy(&mut io::Read::take(file, 99), &mut bytes));
            assert_eq!(read.expect("the program's bytes"), 99);
            let thread = std::thread::spawn(|| File::create("/tmp/x11prof-refused").err());
            let signal = rustix::process::test_kill_process(parent).expect_err("no signal");
            let to = parent.as_raw_nonzero().get();
            [
                thread.join().expect("a thread"),
                OpenOptions::new().write(true).open("/dev/null").err(),
                TcpListener::bind("127.0.0.1:0").err(),
                Command::new("true").status().err(),
                std::fs::remove_file("/tmp/x11prof-none").err(),
                Some(signal.into()),
                call(libc::SYS_tgkill, [to, to, 0]).err(),
                // With O_ASYNC, the kernel would send signals to the owner of a pipe.
                call(libc::SYS_fcntl, [0, libc::F_SETOWN, to]).err(),
            ]
        });
        for error in refused.join().expect("a thread") {
            assert_eq!(error.map(|error| error.kind()), Some(PermissionDenied));
        }
    }
}
