//! The limit on open files. Each client needs two files, and many systems allow only 1024 by default.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The limit on open files before the change. Dropping the value restores the limit.
#[derive(Debug)]
pub(crate) struct OpenFiles(Rlimit);

impl OpenFiles {
    /// Raises this process's limit on open files to the maximum that the system allows.
    pub(crate) fn raise() -> OpenFiles {
        let before = getrlimit(Resource::Nofile);
        let raised = Rlimit {
            current: before.maximum,
            maximum: before.maximum,
        };
        // If the call fails, fewer clients can be served. Each refused client receives a reason.
        let _ = setrlimit(Resource::Nofile, raised);
        OpenFiles(before)
    }

    /// The original limit on open files, for child processes: programs that use select() depend on it.
    pub(crate) fn before(&self) -> Rlimit {
        self.0
    }
}

impl Drop for OpenFiles {
    fn drop(&mut self) {
        let _ = setrlimit(Resource::Nofile, self.before());
    }
}
