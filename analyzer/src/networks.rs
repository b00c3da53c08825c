//! Networks as users name them, and as the recorder emulates them.

use x11prof_cost_model::{Micros, Network};
use x11prof_trace::EmulatedNetwork;

/// Converts a network to the form that the recorder emulates. Values that are too large become the maximum.
pub fn emulated(network: &Network) -> EmulatedNetwork {
    EmulatedNetwork {
        bytes_per_second: network.effective_speed(),
        round_trip_ns: (network.rtt.as_ms() * 1e6) as u64,
        jitter_ns: (network.jitter.as_ms() * 1e6) as u64,
        loss: network.loss,
        reply_window: network.ssh.then_some(EmulatedNetwork::SSH_WINDOW),
        opportunities_ms: Vec::new(),
    }
}

/// Returns the network that was emulated. A link of varying speed has its mean speed.
pub(crate) fn network(emulated: &EmulatedNetwork) -> Network {
    Network {
        bytes_per_second: emulated.bytes_per_second,
        rtt: Micros(emulated.round_trip_ns as f64 / 1e3),
        jitter: Micros(emulated.jitter_ns as f64 / 1e3),
        loss: emulated.loss,
        ssh: emulated.reply_window.is_some(),
        compression: None,
    }
}
