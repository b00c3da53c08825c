//! The recorded server and its machine, described as in cost tables, for comparison with them.

use x11prof_cost_model::{Host, ServerIdentity};
use x11prof_trace::{Server, Started};

/// The description of the recorded server as in a cost table.
pub fn recorded_server(server: &Server) -> ServerIdentity {
    ServerIdentity {
        name: server.display.clone(),
        executable: server.executable.clone(),
        arguments: server.arguments.clone(),
        vendor: Some(server.vendor.clone()),
        release: Some(server.release),
        depth: Some(server.depth),
        screen: Some(server.screen),
    }
}

/// The description of the recording machine as in a cost table.
pub fn recorded_host(started: &Started) -> Host {
    Host {
        cpu_model: Some(started.cpu_model.clone()).filter(|model| !model.is_empty()),
        cpus: Some(started.cpus),
        kernel: Some(started.kernel.clone()).filter(|kernel| !kernel.is_empty()),
        ..Host::default()
    }
}
