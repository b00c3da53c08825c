//! Reads the CPU times of a server's request handlers, for a calibration.

use x11prof_proxy::{HandlerTimes, PrivateServer};
use x11prof_xmeasure::Target;

/// The handler times of a private server. Call this after a client has sent requests, because the timer finds the
/// sequence numbers of requests in the server's record of its first client.
pub(crate) fn of_private(server: &mut PrivateServer) -> Option<HandlerTimes> {
    server.time_handlers().and_then(or_report)
}

/// The handler times of a running server, if `x11prof server` started it.
pub(crate) fn of_running(target: &Target) -> Option<HandlerTimes> {
    let timer = target.pid().and_then(HandlerTimes::of_server);
    timer.and_then(or_report)
}

/// The timer; `None` after the reason was printed.
fn or_report(timer: Result<HandlerTimes, String>) -> Option<HandlerTimes> {
    let report = |why: &String| {
        say!("the server does not time its requests ({why}), so loops of requests are timed");
    };
    timer.inspect_err(report).ok()
}
