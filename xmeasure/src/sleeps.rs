//! What a server costs after it slept, by itself: the one part of a calibration that goes with the
//! machine's minute, measured again without the rest.

use std::time::Duration;

use x11prof_cost_model::AfterSleep;

use crate::error::MeasureError;
use crate::executor::LiveServer;
use crate::plan::Pin;
use crate::process::Pinned;
use crate::raw_connection::RawConnection;
use crate::rest::Rest;
use crate::stage::Stage;
use crate::target::Target;
use crate::watched::{DRAWINGS, drawing};

/// The points of `after_sleep` of a file's transport, but for the shortest, as they are in this
/// minute: by `passes` over the loads that they are made from, of somewhat more than a second each.
/// Empty where the server's processor time cannot be read.
///
/// # Errors
///
/// Where the display cannot be reached or refuses, and where the server goes away.
pub fn after_sleep(
    target: &Target,
    pin: Option<Pin>,
    passes: usize,
) -> Result<Vec<AfterSleep>, MeasureError> {
    let raw = RawConnection::open(target)?;
    // Where pinning is not permitted it is measured as it is.
    let pinned = match (raw.pid, pin) {
        (Some(pid), Some(pin)) => Pinned::new(pid, pin).ok(),
        _ => None,
    };
    let mut stage = Stage::new(raw)?;
    let mut rest = Rest::new(&mut stage)?;
    let drawing = drawing(&mut stage)?;
    stage.synchronise()?;
    let Stage {
        raw, window, kept, ..
    } = stage;
    let mut server = LiveServer::new(raw, window, pin.filter(|_| pinned.is_some()));
    let measured = server
        .watch(&drawing, DRAWINGS)
        .and_then(|_| rest.sleeps_of_now(&mut server, target, (passes, Duration::MAX)));
    drop((pinned, kept));
    Ok(measured?)
}
