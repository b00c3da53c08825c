//! An independent stopwatch: a client of the server that receives each key (XInput 2, raw events) and each change of
//! the screen (DAMAGE), with its own clock.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use x11prof_proxy::PrivateServer;
use x11rb::connection::Connection as _;
use x11rb::protocol::Event;
use x11rb::protocol::damage::{ConnectionExt as _, ReportLevel};
use x11rb::protocol::xinput::{ConnectionExt as _, Device, EventMask, XIEventMask};

use crate::validate::guest::connect;
use crate::validate::reported;

/// The interval between two checks for events.
const LOOK: Duration = Duration::from_micros(200);
/// A change after a pause of this length is not caused by the key, but for example by a blinking cursor.
const REST: Duration = Duration::from_millis(34);

/// Watches until `over` is true. Returns the milliseconds from each key press to its last change of the screen before
/// the key's release; `None` for a key without a change.
pub(super) fn watch(server: &PrivateServer, over: &AtomicBool) -> Result<Vec<Option<f64>>, String> {
    let x = connect(server)?;
    let root = x.setup().roots[0].root;
    x.damage_query_version(1, 1)
        .map_err(reported)?
        .reply()
        .map_err(reported)?;
    x.xinput_xi_query_version(2, 2)
        .map_err(reported)?
        .reply()
        .map_err(reported)?;
    let damage = x.generate_id().map_err(reported)?;
    x.damage_create(damage, root, ReportLevel::RAW_RECTANGLES)
        .map_err(reported)?;
    let mask = EventMask {
        deviceid: Device::ALL_MASTER.into(),
        mask: vec![XIEventMask::RAW_KEY_PRESS | XIEventMask::RAW_KEY_RELEASE],
    };
    x.xinput_xi_select_events(root, &[mask]).map_err(reported)?;
    x.flush().map_err(reported)?;
    let mut keys: Vec<Option<f64>> = Vec::new();
    let mut pressed: Option<Instant> = None;
    let mut last = Instant::now();
    loop {
        let Some(event) = x.poll_for_event().map_err(reported)? else {
            if over.load(Ordering::Relaxed) {
                return Ok(keys);
            }
            std::thread::sleep(LOOK);
            continue;
        };
        let now = Instant::now();
        match event {
            Event::XinputRawKeyPress(_) => {
                keys.push(None);
                pressed = Some(now);
                last = now;
            }
            Event::XinputRawKeyRelease(_) => pressed = None,
            Event::DamageNotify(_) => {
                if let (Some(begin), Some(key)) = (pressed, keys.last_mut())
                    && now.duration_since(last) < REST
                {
                    *key = Some(now.duration_since(begin).as_secs_f64() * 1e3);
                    last = now;
                }
            }
            _ => {}
        }
    }
}
