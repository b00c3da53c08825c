//! The limit on open files: each client takes two, and many systems allow 1024 by default.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The limit before the change. Dropping the value restores it.
#[derive(Debug)]
pub(crate) struct OpenFiles(Rlimit);

impl OpenFiles {
    /// Raises our limit to the most that the system allows.
    pub(crate) fn raise() -> OpenFiles {
        let before = getrlimit(Resource::Nofile);
        let raised = Rlimit {
            current: before.maximum,
            maximum: before.maximum,
        };
        // If the call fails, fewer clients can be served, and each refused client gets a reason.
        let _ = setrlimit(Resource::Nofile, raised);
        OpenFiles(before)
    }

    /// The limit for a child: programs that use select() depend on it.
    pub(crate) fn before(&self) -> Rlimit {
        self.0
    }
}

impl Drop for OpenFiles {
    fn drop(&mut self) {
        let _ = setrlimit(Resource::Nofile, self.before());
    }
}
