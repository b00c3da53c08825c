//! The key that sets marks. A connection of the recorder grabs the key on the root windows, so that no other client
//! receives it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use x11prof_protocol::Chord;
use x11prof_trace::Control;
use x11rb_protocol::protocol::xproto::{
    GetInputFocusRequest, GetKeyboardMappingReply, GetKeyboardMappingRequest, GrabKeyRequest,
    GrabMode, Setup,
};
use x11rb_protocol::x11_utils::{Request, TryParse};

use crate::clock;
use crate::display::server_link::ServerLink;
use crate::display::setup_connection::{SetupConnection, SetupFailure};
use crate::recorder::record_queue::RecordSender;

/// The server must reply within this time.
const PATIENCE: Duration = Duration::from_secs(10);
/// The interval between two checks for the end of the recording.
const BEAT: Duration = Duration::from_millis(200);
/// The code of the core event KeyPress (X11 protocol, "Encoding").
const KEY_PRESS: u8 = 2;
/// All combinations of Caps Lock and Num Lock, with the servers' default modifiers. A grab applies only to its exact modifiers.
const LOCKS: [u16; 4] = [0, 2, 16, 18];

/// A key that the recorder has grabbed, until dropped.
#[derive(Debug)]
pub(super) struct Grabbed {
    connection: u32,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Grabbed {
    /// Grabs `key` on the server of `link`, and sends a mark to `sender` at each press. Fails with a reason if the key
    /// cannot be grabbed.
    pub(super) fn grab(
        key: &Chord,
        link: &ServerLink,
        sender: RecordSender,
    ) -> Result<Grabbed, String> {
        let talk = SetupConnection::begin(link, PATIENCE);
        let (mut talk, cookie) = talk.map_err(|error| error.to_string())?;
        let setup = talk.set_up(cookie.as_ref()).map_err(|no| match no {
            SetupFailure::Refused(why) | SetupFailure::Failed(why) => why,
        })?;
        let code = key_code(&mut talk, &setup, key.keysym)?
            .ok_or_else(|| format!("its keyboard has no key {key}"))?;
        for screen in &setup.roots {
            for lock in LOCKS {
                let grab = GrabKeyRequest {
                    owner_events: false,
                    grab_window: screen.root,
                    modifiers: (key.modifiers | lock).into(),
                    key: code,
                    pointer_mode: GrabMode::ASYNC,
                    keyboard_mode: GrabMode::ASYNC,
                };
                talk.say(&Request::serialize(grab, 0).0)?;
            }
        }
        talk.say(&Request::serialize(GetInputFocusRequest, 0).0)?;
        // An error arrives before this reply.
        talk.reply()
            .map_err(|_| format!("another program has grabbed {key}; choose another key"))?;
        let over = Arc::new(AtomicBool::new(false));
        let reported = Arc::clone(&over);
        let text = key.to_string();
        let thread = std::thread::Builder::new()
            .name("x11prof-mark-key".to_owned())
            .spawn(move || {
                while !reported.load(Ordering::Acquire) {
                    match talk.next_within(BEAT) {
                        Ok(Some(event))
                            if event.first().map(|kind| kind & 0x7f) == Some(KEY_PRESS) =>
                        {
                            let text = text.clone();
                            sender.control(clock::now(), Control::Mark { text });
                        }
                        Ok(_) => {}
                        // The server has closed the connection.
                        Err(_) => return,
                    }
                }
            })
            .map_err(|error| error.to_string())?;
        Ok(Grabbed {
            connection: setup.resource_id_base,
            over,
            thread: Some(thread),
        })
    }

    pub(super) fn connection(&self) -> u32 {
        self.connection
    }
}

impl Drop for Grabbed {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The keycode of a key that produces `keysym` without Shift; `None` if there is no such key. Grabbing a key takes it away
/// from all programs.
fn key_code(talk: &mut SetupConnection, setup: &Setup, keysym: u32) -> Result<Option<u8>, String> {
    let (first, last) = (setup.min_keycode, setup.max_keycode);
    let ask = GetKeyboardMappingRequest {
        first_keycode: first,
        count: last.saturating_sub(first).saturating_add(1),
    };
    talk.say(&Request::serialize(ask, 0).0)?;
    let reply = talk.reply()?;
    let (map, _) = GetKeyboardMappingReply::try_parse(&reply)
        .map_err(|_| "it sent a reply that cannot be read".to_owned())?;
    let width = usize::from(map.keysyms_per_keycode).max(1);
    let mut keys = map.keysyms.chunks(width);
    let at = keys.position(|of| of.first() == Some(&keysym));
    Ok(at.and_then(|at| u8::try_from(usize::from(first) + at).ok()))
}
