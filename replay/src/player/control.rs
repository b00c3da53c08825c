//! The player's own connection to the display. It looks up extensions and atoms, injects input, and takes screenshots.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use x11prof_protocol::{Extension, Extensions, Symbol, parse_reply};
use x11prof_proxy::{ResultPath, ServerLink, SetupConnection, SetupFailure, own_file};
use x11prof_session::Input;
use x11rb_protocol::protocol::randr::{
    GetScreenResourcesCurrentReply, GetScreenResourcesCurrentRequest,
};
use x11rb_protocol::protocol::render::{
    Pictforminfo, QueryPictFormatsReply, QueryPictFormatsRequest,
};
use x11rb_protocol::protocol::xproto::{
    BUTTON_PRESS_EVENT, BUTTON_RELEASE_EVENT, EventMask, GetImageReply, GetImageRequest,
    GetInputFocusReply, GetInputFocusRequest, GetKeyboardMappingReply, GetKeyboardMappingRequest,
    GetPointerMappingReply, GetPointerMappingRequest, GetWindowAttributesReply,
    GetWindowAttributesRequest, ImageFormat, InternAtomReply, InternAtomRequest, KEY_PRESS_EVENT,
    KEY_RELEASE_EVENT, QueryExtensionReply, QueryExtensionRequest, QueryKeymapReply,
    QueryKeymapRequest, QueryPointerReply, QueryPointerRequest, Screen, Setup,
};
use x11rb_protocol::protocol::xtest::FakeInputRequest;
use x11rb_protocol::x11_utils::{Request, TryParse};

use super::patience::PATIENCE;
use crate::ReplayError;
use crate::ids::{Ids, LAST_CONSTANT};
use crate::script::{Outputs, trimmed};

/// Maximum number of requests that are sent before the first reply is read, so that the replies fit into the socket's buffer.
const AT_ONCE: usize = 100;

/// The player's own connection to the display.
pub(super) struct Control {
    x: SetupConnection,
    setup: Setup,
    xtest: u8,
    pointer: Option<(i16, i16)>,
    /// True if other programs use the display, so that no key may stay pressed.
    pub(super) is_shared: bool,
}

fn lost(why: impl Into<String>) -> ReplayError {
    ReplayError::Display {
        what: "the display",
        why: why.into(),
    }
}

impl Control {
    pub(super) fn open(link: &ServerLink) -> Result<Control, ReplayError> {
        let (mut x, cookie) =
            SetupConnection::begin(link, PATIENCE).map_err(|error| lost(error.to_string()))?;
        let setup = x.set_up(cookie.as_ref()).map_err(|failure| match failure {
            SetupFailure::Refused(why) | SetupFailure::Failed(why) => lost(why),
        })?;
        let mut control = Control {
            x,
            setup,
            xtest: 0,
            pointer: None,
            is_shared: false,
        };
        let xtest = control.extension("XTEST")?;
        control.xtest = if xtest.present { xtest.major_opcode } else { 0 };
        Ok(control)
    }

    /// Sends requests, and returns the replies in request order.
    fn ask<Q: Request, A: TryParse>(
        &mut self,
        questions: impl IntoIterator<Item = Q>,
        major: u8,
    ) -> Result<Vec<A>, ReplayError> {
        let mut questions = questions.into_iter().peekable();
        let mut answers = Vec::new();
        while questions.peek().is_some() {
            self.x.set_patience(PATIENCE);
            let asked = questions.by_ref().take(AT_ONCE);
            let asked = asked.map(|question| self.x.send(question, major));
            for request in asked.collect::<Result<Vec<_>, _>>().map_err(lost)? {
                let reply = self.x.reply().map_err(lost)?;
                let parsed = parse_reply::<Q, A>(&request, &reply);
                answers.push(parsed.ok_or_else(|| lost("an answer cannot be read"))?);
            }
        }
        Ok(answers)
    }

    fn one<Q: Request, A: TryParse>(&mut self, question: Q, major: u8) -> Result<A, ReplayError> {
        let mut answers = self.ask([question], major)?;
        answers.pop().ok_or_else(|| lost("it gave no answer"))
    }

    fn extension(&mut self, name: &str) -> Result<QueryExtensionReply, ReplayError> {
        let name = name.as_bytes().into();
        self.one(QueryExtensionRequest { name }, 0)
    }

    pub(super) fn screen(&self) -> Result<&Screen, ReplayError> {
        let first = self.setup.roots.first();
        first.ok_or_else(|| lost("it has no screen"))
    }

    /// The extensions of the display that have the names of recorded extensions. Missing ones are omitted.
    pub(super) fn extensions(&mut self, recorded: &Extensions) -> Result<Extensions, ReplayError> {
        let mut here = Extensions::new();
        for one in recorded.iter() {
            let reply = self.extension(one.name.as_str())?;
            if reply.present {
                here.insert(Extension {
                    name: Symbol::new(one.name.as_str()),
                    major: reply.major_opcode,
                    first_event: reply.first_event,
                    first_error: reply.first_error,
                });
            }
        }
        Ok(here)
    }

    /// Interns the recorded atom names on the display. Returns pairs of recorded atom and display's atom.
    pub(super) fn atoms(
        &mut self,
        recorded: &BTreeMap<u32, Vec<u8>>,
    ) -> Result<Vec<(u32, u32)>, ReplayError> {
        let questions = recorded.values().map(|name| InternAtomRequest {
            only_if_exists: false,
            name: name.as_slice().into(),
        });
        let answers: Vec<InternAtomReply> = self.ask(questions, 0)?;
        let here = answers.into_iter().map(|answer| answer.atom);
        Ok(recorded.keys().copied().zip(here).collect())
    }

    /// The picture formats of the display's RENDER extension; `render` is the extension's major opcode.
    pub(super) fn formats(&mut self, render: u8) -> Result<Vec<Pictforminfo>, ReplayError> {
        let reply: QueryPictFormatsReply = self.one(QueryPictFormatsRequest, render)?;
        Ok(reply.formats)
    }

    /// The display's CRTCs, outputs and modes; `randr` is the major opcode of RANDR.
    pub(super) fn outputs(&mut self, randr: u8) -> Result<Outputs, ReplayError> {
        let window = self.screen()?.root;
        let request = GetScreenResourcesCurrentRequest { window };
        let reply: GetScreenResourcesCurrentReply = self.one(request, randr)?;
        Ok(Outputs {
            crtcs: reply.crtcs,
            outputs: reply.outputs,
            modes: reply.modes,
        })
    }

    /// The number of recorded keycodes that have other symbols on the display; `recorded` contains the symbols by keycode.
    pub(super) fn other_keys(
        &mut self,
        recorded: &BTreeMap<u8, Vec<u32>>,
    ) -> Result<u64, ReplayError> {
        let (Some((first, _)), Some((last, _))) =
            (recorded.first_key_value(), recorded.last_key_value())
        else {
            return Ok(0);
        };
        // The server returns an error for keycodes outside its range.
        let first_keycode = (*first).max(self.setup.min_keycode);
        let last = (*last).min(self.setup.max_keycode);
        let question = GetKeyboardMappingRequest {
            first_keycode,
            count: last.saturating_sub(first_keycode).saturating_add(1),
        };
        let here: GetKeyboardMappingReply = self.one(question, 0)?;
        let per_key = usize::from(here.keysyms_per_keycode).max(1);
        let here = (first_keycode..=last).zip(here.keysyms.chunks(per_key));
        let differ = here.filter(|(keycode, symbols)| {
            let recorded = recorded.get(keycode);
            recorded.is_some_and(|recorded| *recorded != trimmed(symbols.to_vec()))
        });
        Ok(differ.count() as u64)
    }

    /// Checks that the display still replies.
    ///
    /// # Errors
    /// Fails if the display has closed the connection.
    pub(super) fn is_there(&mut self) -> Result<(), ReplayError> {
        self.x.set_patience(PATIENCE);
        self.x.send(GetInputFocusRequest, 0).map_err(lost)?;
        self.x.reply().map(|_| ()).map_err(lost)
    }

    /// Sends a recorded input to the display, preceded by a motion if the pointer is at another position. On a shared
    /// display, leaves out presses that another program would get, and returns false.
    pub(super) fn input(&mut self, input: Input, ids: &Ids) -> Result<bool, ReplayError> {
        const MOTION: u8 = 6;
        if self.pointer != Some(input.at) || input.kind == MOTION {
            self.fake(MOTION, 0, input.at)?;
        }
        self.pointer = Some(input.at);
        if self.is_shared && self.is_for_others(input.kind, ids).unwrap_or(true) {
            return Ok(false);
        }
        if input.kind != MOTION {
            self.fake(input.kind, input.detail, input.at)?;
        }
        Ok(true)
    }

    /// True if a window of another program would get a press: of a key by the focus, of a button by the pointer.
    fn is_for_others(&mut self, kind: u8, ids: &Ids) -> Result<bool, ReplayError> {
        let root_window = self.screen()?.root;
        if kind == KEY_PRESS_EVENT {
            let reply: GetInputFocusReply = self.one(GetInputFocusRequest, 0)?;
            if reply.focus > LAST_CONSTANT && reply.focus != root_window {
                return Ok(!ids.is_of_a_client(reply.focus));
            }
        } else if kind != BUTTON_PRESS_EVENT {
            return Ok(false);
        }
        // A window manager's frame contains the client's window.
        let mut window = root_window;
        loop {
            let pointer: QueryPointerReply = self.one(QueryPointerRequest { window }, 0)?;
            match pointer.child {
                0 => break,
                child if ids.is_of_a_client(child) => return Ok(false),
                child => window = child,
            }
        }
        // A window manager or a desktop may have selected the root window's input.
        let root: GetWindowAttributesReply = self.one(
            GetWindowAttributesRequest {
                window: root_window,
            },
            0,
        )?;
        let input = u32::from(EventMask::KEY_PRESS | EventMask::BUTTON_PRESS);
        Ok(window != root_window || u32::from(root.all_event_masks) & input != 0)
    }

    fn fake(
        &mut self,
        type_: u8,
        detail: u8,
        (root_x, root_y): (i16, i16),
    ) -> Result<(), ReplayError> {
        let request = FakeInputRequest {
            type_,
            detail,
            time: 0,
            root: self.screen()?.root,
            root_x,
            root_y,
            deviceid: 0,
        };
        self.x.set_patience(PATIENCE);
        self.x.send(request, self.xtest).map(drop).map_err(lost)
    }

    /// Releases all keys and buttons that are pressed on XTEST's devices. A user's keyboard and mouse are other devices.
    fn release(&mut self) -> Result<(), ReplayError> {
        let window = self.screen()?.root;
        let keys: QueryKeymapReply = self.one(QueryKeymapRequest, 0)?;
        let pointer: QueryPointerReply = self.one(QueryPointerRequest { window }, 0)?;
        let is_down = |key: &u8| keys.keys[usize::from(key / 8)] >> (key % 8) & 1 != 0;
        let keys = (0..=u8::MAX).filter(is_down);
        let keys = keys.map(|key| (KEY_RELEASE_EVENT, key));
        let mask = u16::from(pointer.mask);
        // The mask has no bits for further buttons. The server ignores the release of a button that is not pressed.
        let mapping: GetPointerMappingReply = self.one(GetPointerMappingRequest, 0)?;
        let most = u8::try_from(mapping.map.len()).unwrap_or(u8::MAX);
        let buttons = (1..=most).filter(|button| *button > 5 || mask >> (7 + button) & 1 != 0);
        let buttons = buttons.map(|button| (BUTTON_RELEASE_EVENT, button));
        for (kind, detail) in keys.chain(buttons) {
            self.fake(kind, detail, (0, 0))?;
        }
        self.is_there()
    }

    /// True if the display has the extension XTEST, through which the player sends input.
    pub(super) fn takes_input(&self) -> bool {
        self.xtest != 0
    }

    /// Writes a screenshot of the display to `file` (PPM; pixels have eight bits each of red, green and blue).
    pub(super) fn picture(&mut self, file: &Path) -> Result<(), ReplayError> {
        let screen = self.screen()?;
        let (width, height) = (screen.width_in_pixels, screen.height_in_pixels);
        let question = GetImageRequest {
            format: ImageFormat::Z_PIXMAP,
            drawable: screen.root,
            x: 0,
            y: 0,
            width,
            height,
            plane_mask: u32::MAX,
        };
        let image: GetImageReply = self.one(question, 0)?;
        let mut formats = self.setup.pixmap_formats.iter();
        let format = formats.find(|format| format.depth == image.depth);
        let (bits, pad) = format.map_or((0, 0), |one| (one.bits_per_pixel, one.scanline_pad));
        let (pixel, pad) = (usize::from(bits / 8).max(1), usize::from(pad / 8).max(1));
        let row = pixel * usize::from(width);
        let padded = row.next_multiple_of(pad);
        if image.data.len() < padded * usize::from(height) {
            return Err(lost("its picture of the screen is incomplete"));
        }
        let mut picture = format!("P6\n{width} {height}\n255\n").into_bytes();
        let rows = image.data.chunks(padded.max(1)).take(height.into());
        for pixel in rows.flat_map(|one| one[..row].chunks(pixel)) {
            picture.extend(match pixel {
                [blue, green, red, _] => [*red, *green, *blue],
                // Screens without 32 bits per pixel: the pixel values are stored as grey, because colours depend on the colormap.
                _ => [pixel[0]; 3],
            });
        }
        // A screenshot may show private data, so only the file's owner may read it.
        let place = ResultPath::of(file).map_err(ReplayError::Picture)?;
        let written = own_file(place.path()).and_then(|mut file| {
            file.set_permissions(Permissions::from_mode(0o600))?;
            file.set_len(0)?;
            file.write_all(&picture)
        });
        written.map_err(ReplayError::Picture)
    }
}

impl Drop for Control {
    /// Releases what the replay has pressed: a trace may end before a release, and a signal may end the replay.
    fn drop(&mut self) {
        if self.is_shared && self.takes_input() {
            // Without a reply nothing can be done.
            let _ = self.release();
        }
    }
}
