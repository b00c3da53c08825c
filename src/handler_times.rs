//! Reads the CPU times of a server's request handlers, for a calibration.

use std::io;

use x11prof_proxy::{HandlerTimes, PrivateServer};
use x11prof_trace::HandlerTime;
use x11prof_xmeasure::{HandlerClock, Target};

/// The source of the handler times that a calibration reads; `None` if the server does not time its handlers.
type Clock = Option<Box<dyn HandlerClock>>;

/// The handler times of a private server. Call this after a client has sent requests, because the timer finds the
/// sequence numbers of requests in the server's record of its first client.
pub(crate) fn of_private(server: &mut PrivateServer) -> Clock {
    server.time_handlers().and_then(clock)
}

/// The handler times of a running server, if `x11prof server` started it.
pub(crate) fn of_running(target: &Target) -> Clock {
    target
        .pid()
        .and_then(HandlerTimes::of_server)
        .and_then(clock)
}

fn clock(timer: Result<HandlerTimes, String>) -> Clock {
    match timer {
        Ok(timer) => Some(Box::new(Timer(timer))),
        Err(why) => {
            say!("the server does not time its requests ({why}), so loops of requests are timed");
            None
        }
    }
}

/// Adapts a server's handler times to the calibration's interface.
struct Timer(HandlerTimes);

impl HandlerClock for Timer {
    fn drain(&mut self, times: &mut Vec<HandlerTime>) -> io::Result<()> {
        // If a time is lost, the calibration repeats the request.
        self.0.drain(times).map(drop)
    }

    fn pause(&mut self, paused: bool) -> io::Result<()> {
        self.0.pause(paused)
    }
}
