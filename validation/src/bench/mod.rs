//! `cargo xtask bench …`: measurements that take too long for a test.

mod analyze;
mod growth;
mod made_trace;
mod plain_relay;
mod proxy;
mod round_trip;
mod stacks;
mod start_up;
mod timed;
mod trace_size;
mod way;
pub(crate) mod x11perf;
pub(crate) mod x_server;

/// Runs the benchmark that `arguments` name.
pub(crate) fn bench(arguments: &[String]) -> Result<(), String> {
    match arguments.first().map(String::as_str) {
        Some("analyze") => analyze::bench(),
        Some("growth") => growth::bench(&arguments[1..]),
        Some("proxy") => proxy::bench(&arguments[1..]),
        Some("stacks") => stacks::bench(&arguments[1..]),
        Some("timed") => timed::bench(&arguments[1..]),
        // Internal: the client whose round trips `bench proxy` measures, as a separate process.
        Some(round_trip::CLIENT) => round_trip::client(&arguments[1..]),
        // Internal: the relay with which `bench proxy` compares, as a separate process.
        Some("plain-relay") => plain_relay::serve(&arguments[1..]),
        _ => Err(
            "usage: cargo xtask bench analyze | growth [LARGEST] | proxy [ROUNDS [TEST…]] | stacks [PROGRAM…] | timed [PROGRAM…]"
                .to_owned(),
        ),
    }
}
