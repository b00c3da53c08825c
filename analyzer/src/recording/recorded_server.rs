//! The recorded server and its machine as named in cost tables, for comparison.

use x11prof_cost_model::{Host, ServerIdentity};
use x11prof_trace::{Server, Started};

/// The recorded server.
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

/// The machine on which the server was recorded.
pub fn recorded_host(started: &Started) -> Host {
    Host {
        cpu_model: Some(started.cpu_model.clone()).filter(|model| !model.is_empty()),
        cpus: Some(started.cpus),
        kernel: Some(started.kernel.clone()).filter(|kernel| !kernel.is_empty()),
        ..Host::default()
    }
}
