//! The limit on open files: each client takes two, and many systems allow 1024 by default.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The limit as it was. It comes back on drop.
#[derive(Debug)]
pub(crate) struct OpenFiles(Rlimit);

impl OpenFiles {
    /// Raises our limit to what the system lets us have.
    pub(crate) fn raise() -> OpenFiles {
        let before = getrlimit(Resource::Nofile);
        let raised = Rlimit {
            current: before.maximum,
            maximum: before.maximum,
        };
        // Where it fails, fewer clients can be served, which each of them would be told.
        let _ = setrlimit(Resource::Nofile, raised);
        OpenFiles(before)
    }

    /// The limit that a child is to have: programs that use select() count on it.
    pub(crate) fn before(&self) -> Rlimit {
        self.0
    }
}

impl Drop for OpenFiles {
    fn drop(&mut self) {
        let _ = setrlimit(Resource::Nofile, self.before());
    }
}
