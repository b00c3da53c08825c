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
const READING: [i64; 48] = [
    libc::SYS_access,
    libc::SYS_brk,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_clone,
    libc::SYS_clone3,
    libc::SYS_close,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_faccessat,
    libc::SYS_fadvise64,
    libc::SYS_fcntl,
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
    libc::SYS_mmap,
    libc::SYS_mprotect,
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
/// program, signal no other process and use no network. Has no effect on other processors than x86-64.
///
/// # Errors
/// Fails if the kernel has no system call filters.
pub fn allow_only_reading() -> io::Result<()> {
    #[cfg(target_arch = "x86_64")]
    apply_filter(&filter().map_err(io::Error::other)?).map_err(io::Error::other)?;
    Ok(())
}

#[cfg(target_arch = "x86_64")]
fn filter() -> Result<BpfProgram, seccompiler::BackendError> {
    let (arch, writing) = (
        TargetArch::x86_64,
        libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC,
    );
    // The call is allowed if the bits `mask` of the argument `at` have this value.
    let with = |at, mask: i32, value: u32| {
        let masked = SeccompCmpOp::MaskedEq(u64::from(mask.cast_unsigned()));
        let length = SeccompCmpArgLen::Dword;
        let condition = SeccompCondition::new(at, length, masked, u64::from(value))?;
        Ok::<_, seccompiler::BackendError>(vec![SeccompRule::new(vec![condition])?])
    };
    let mut allowed: BTreeMap<i64, Vec<SeccompRule>> =
        READING.into_iter().map(|call| (call, Vec::new())).collect();
    allowed.insert(libc::SYS_open, with(1, writing, 0)?);
    allowed.insert(libc::SYS_openat, with(2, writing, 0)?);
    // Limits of this process only, and signals to it (abort(3)).
    allowed.insert(libc::SYS_prlimit64, with(0, -1, 0)?);
    allowed.insert(libc::SYS_tgkill, with(0, -1, std::process::id())?);
    let refused = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    SeccompFilter::new(allowed, refused, SeccompAction::Allow, arch)?.try_into()
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use std::fs::{File, OpenOptions};
    use std::io::ErrorKind::PermissionDenied;
    use std::net::TcpListener;
    use std::process::Command;

    use super::*;

    /// Tests if a signal can be sent to the main thread of another process.
    fn signal_thread(process: i32) -> io::Result<()> {
        // SAFETY: signal 0 is not delivered.
        #[expect(unsafe_code, reason = "no library sends signals to threads of others")]
        let sent = unsafe { libc::syscall(libc::SYS_tgkill, process, process, 0) };
        match sent {
            0 => Ok(()),
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
                signal_thread(to).err(),
            ]
        });
        for error in refused.join().expect("a thread") {
            assert_eq!(error.map(|error| error.kind()), Some(PermissionDenied));
        }
    }
}
