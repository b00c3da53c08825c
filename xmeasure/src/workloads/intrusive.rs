//! Requests that a user of the display would notice: grabs, the focus, the pointer, the bell's and the screen saver's
//! settings. All are undone: by the second request of a cycle, or because they set the present value.

use x11rb_protocol::protocol::xproto::{
    Allow, AllowEventsRequest, EventMask, ForceScreenSaverRequest, GetScreenSaverRequest,
    GrabKeyboardRequest, GrabMode, GrabPointerRequest, GrabServerRequest, InputFocus, ScreenSaver,
    SetInputFocusRequest, SetScreenSaverRequest, UngrabKeyboardRequest, UngrabPointerRequest,
    UngrabServerRequest, WarpPointerRequest,
};

use crate::error::MeasureError;
use crate::server::client::Client;
use crate::server::wire::core;
use crate::workloads::loads::Loads;

/// Adds the loads.
pub(super) fn add(client: &mut Client, loads: &mut Loads) -> Result<(), MeasureError> {
    let (grab_window, time) = (client.window, 0);
    loads.pair(core(GrabServerRequest), core(UngrabServerRequest));
    let pointer = GrabPointerRequest {
        owner_events: true,
        grab_window,
        event_mask: EventMask::BUTTON_PRESS,
        pointer_mode: GrabMode::ASYNC,
        keyboard_mode: GrabMode::ASYNC,
        confine_to: 0,
        cursor: 0,
        time,
    };
    loads.pair(core(pointer), core(UngrabPointerRequest { time }));
    let keyboard = GrabKeyboardRequest {
        owner_events: true,
        grab_window,
        time,
        pointer_mode: GrabMode::ASYNC,
        keyboard_mode: GrabMode::ASYNC,
    };
    loads.pair(core(keyboard), core(UngrabKeyboardRequest { time }));
    let mode = Allow::ASYNC_BOTH;
    loads.plain(core(AllowEventsRequest { mode, time }));
    let focus = |focus| {
        core(SetInputFocusRequest {
            revert_to: InputFocus::POINTER_ROOT,
            focus,
            time,
        })
    };
    // To our window, and back to the pointer's.
    let root = u32::from(InputFocus::POINTER_ROOT);
    loads.pair(focus(client.window), focus(root));
    let warp = |x| core(warp(client.window, (x, 5)));
    loads.pair(warp(5), warp(9));
    let mode = ScreenSaver::RESET;
    loads.plain(core(ForceScreenSaverRequest { mode }));
    if let Some(now) = client.ask(GetScreenSaverRequest)? {
        loads.plain(core(SetScreenSaverRequest {
            timeout: now.timeout.cast_signed(),
            interval: now.interval.cast_signed(),
            prefer_blanking: now.prefer_blanking,
            allow_exposures: now.allow_exposures,
        }));
    }
    Ok(())
}

/// The pointer goes to a place in the window.
fn warp(dst_window: u32, (dst_x, dst_y): (i16, i16)) -> WarpPointerRequest {
    WarpPointerRequest {
        src_window: 0,
        dst_window,
        src_x: 0,
        src_y: 0,
        src_width: 0,
        src_height: 0,
        dst_x,
        dst_y,
    }
}
