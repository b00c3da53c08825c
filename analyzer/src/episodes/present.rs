//! Pictures that clients show with Present, and when they appeared on the screen (Present protocol, PresentPixmap and
//! PresentCompleteNotify).

use x11prof_protocol::{Body, Event, Request};

use super::timeline_event::{SentRequests, Shown};

/// PresentCompleteNotifyMask.
const COMPLETE: u32 = 2;
/// PresentCompleteKindPixmap.
const PIXMAP: u8 = 0;

/// Stores in `sent` the picture that a Present request shows, or the fact that the client has requested completion
/// events.
pub(crate) fn request(request: &Request<'_>, sent: &mut SentRequests) {
    let body = Body::of(request);
    match request.name.as_str() {
        // Window, pixmap, serial.
        "Present:Pixmap" => sent.shown = body.u32(0).zip(body.u32(8)).or(sent.shown),
        // Event, window, mask.
        "Present:SelectInput" => {
            sent.is_reported |= body.u32(8).is_some_and(|mask| mask & COMPLETE != 0);
        }
        _ => {}
    }
}

/// Returns the picture whose appearance on the screen a Present event reports; `None` for other events.
pub(crate) fn landed(event: &Event<'_>) -> Option<Shown> {
    let of_pixmap = event.name.as_str() == "Present:CompleteNotify"
        && event.bytes.get(10).copied() == Some(PIXMAP);
    let word = |at: usize| event.order.u32(event.bytes, at);
    of_pixmap.then(|| word(16).zip(word(20))).flatten()
}
