//! The threads of the server and of the clients, updated by each context switch and each end of a process. The pipeline
//! has the only instance.

use rustc_hash::FxHashSet;
use x11prof_trace::{ConnectionId, Control, Switch, Timestamp};

use crate::clients::PerClient;
use crate::threads::thread_states::{Step, Threads};

/// Maximum number of kept processes without a connection.
const GONE_LIMIT: usize = 1 << 14;

/// The threads of the server and of the clients.
#[derive(Debug, Default)]
pub(crate) struct WatchedThreads {
    threads: Threads,
    /// The process of each connection.
    clients: PerClient<u32>,
    server: Option<u32>,
    /// Processes without a connection, which may connect again.
    gone: FxHashSet<u32>,
    /// A buffer that is reused between batches.
    steps: Vec<Step>,
}

impl WatchedThreads {
    /// Processes context switches in time order, and passes the changes of state to `on`.
    pub(crate) fn switches(&mut self, switches: &[Switch], on: impl FnMut(&[Step])) {
        self.steps.clear();
        for switch in switches {
            self.steps.extend(self.threads.switch(switch));
        }
        if !self.gone.is_empty() {
            self.steps.retain(|step| !self.gone.contains(&step.pid));
        }
        tell(&self.steps, on);
    }

    /// Processes a control record, and passes the changes of state to `on`. A process is no longer a client after its
    /// last connection has ended. Most such processes have exited: the kernel reports no switch of a thread that exits.
    pub(crate) fn control(&mut self, time: Timestamp, control: &Control, on: impl FnMut(&[Step])) {
        match control {
            Control::Server(server) => self.server = server.pid,
            Control::Opened(opened) => {
                if let Some(pid) = opened.pid {
                    self.clients.insert(opened.connection, pid);
                    if self.gone.remove(&pid) {
                        tell(&self.threads.resume_process(pid, time.as_nanos()), on);
                    }
                }
            }
            Control::Moved { connection, pid } => {
                self.closed(time, *connection, on);
                self.clients.insert(*connection, *pid);
            }
            Control::Closed { connection, .. } => self.closed(time, *connection, on),
            _ => {}
        }
    }
}

impl WatchedThreads {
    /// Notes that a process no longer has a connection.
    fn closed(&mut self, time: Timestamp, connection: ConnectionId, on: impl FnMut(&[Step])) {
        if let Some(pid) = self.clients.remove(connection)
            && Some(pid) != self.server
            && !self.clients.values().any(|other| *other == pid)
        {
            tell(&self.threads.leave_process(pid, time.as_nanos()), on);
            if self.gone.len() < GONE_LIMIT {
                self.gone.insert(pid);
            }
        }
    }
}

fn tell(steps: &[Step], mut on: impl FnMut(&[Step])) {
    if !steps.is_empty() {
        on(steps);
    }
}
