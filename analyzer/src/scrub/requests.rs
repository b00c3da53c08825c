//! The parts of requests that are replaced. Offsets follow the protocol's encodings, from the first byte after the
//! header.

use x11prof_protocol::{ByteOrder, Request};
use x11prof_trace::ConnectionId;

use super::bytes::{from, split};
use super::events::{self, KEY_PRESS, KEY_RELEASE};
use super::keys::KeySource;
use super::replacements::Replacements;
use super::well_known::{is_atom, is_font, is_known};

impl Replacements {
    /// Replaces the text and ids in a request of `client`; `body` is the bytes after the header.
    pub(super) fn request(&mut self, client: ConnectionId, request: &Request<'_>, body: &mut [u8]) {
        let name = request.name.as_str();
        let order = request.order;
        let short = |body: &[u8], at| order.u16(body, at).map_or(0, usize::from);
        match name {
            "ChangeProperty" => {
                let (kind, format) = (order.u32(body, 8), body.get(12).copied());
                let count = order.u32(body, 16).unwrap_or(0) as usize;
                self.property(kind, format, count, from(body, 20));
            }
            "InternAtom" => {
                let len = short(body, 0);
                self.name(from(body, 4), len, is_atom);
            }
            "OpenFont" => {
                let len = short(body, 4);
                self.name(from(body, 8), len, is_font);
            }
            "ListFonts" | "ListFontsWithInfo" => {
                let len = short(body, 2);
                self.name(from(body, 4), len, is_font);
            }
            "SetFontPath" => self.strings(from(body, 4), |_| false),
            "SendEvent" => {
                if let Some(event) = body.get_mut(8..40) {
                    events::core_event(&mut self.keys, client, KeySource::Sent, order, event);
                }
            }
            "QueryTextExtents" => self.secrets.drawn_wide(from(body, 4)),
            "PolyText8" => self.text_items(from(body, 12), 1),
            "PolyText16" => self.text_items(from(body, 12), 2),
            "ImageText8" | "ImageText16" => {
                let is_wide = name == "ImageText16";
                let len = usize::from(request.minor) * if is_wide { 2 } else { 1 };
                let (text, padding) = split(from(body, 12), len);
                match is_wide {
                    true => self.secrets.drawn_wide(text),
                    false => self.secrets.drawn(text),
                }
                padding.fill(0);
            }
            "PutImage" => self.secrets.blank(from(body, 20)),
            "ChangeKeyboardMapping" | "ChangeHosts" => self.secrets.blank(from(body, 4)),
            "SetModifierMapping" | "NoOperation" => self.secrets.blank(body),
            _ if request.major < 128 && is_known(name) => {}
            _ => self.extension(client, name, order, body),
        }
    }

    fn extension(&mut self, client: ConnectionId, name: &str, order: ByteOrder, body: &mut [u8]) {
        match name {
            "RENDER:CreateGlyphSet" => self.glyphs.created(order, body),
            "RENDER:ReferenceGlyphSet" => self.glyphs.referenced(order, body),
            "RENDER:AddGlyphs" => self.glyphs.added(&mut self.secrets, order, body),
            "RENDER:FreeGlyphs" => self.glyphs.freed(&self.secrets, order, body),
            "RENDER:CompositeGlyphs8" => self.glyphs.drawn(&self.secrets, order, body, 1),
            "RENDER:CompositeGlyphs16" => self.glyphs.drawn(&self.secrets, order, body, 2),
            "RENDER:CompositeGlyphs32" => self.glyphs.drawn(&self.secrets, order, body, 4),
            "XTEST:FakeInput" => {
                // Unused bytes, and for keys and buttons the fields of a motion.
                let is_motion = body.first() == Some(&6);
                let (motion, rest) = split(from(body, 8), 16);
                if !is_motion {
                    motion.fill(0);
                }
                split(rest, 7).0.fill(0);
                let [kind, detail, ..] = body else { return };
                match *kind {
                    KEY_PRESS | KEY_RELEASE => {
                        let is_press = *kind == KEY_PRESS;
                        let key = u32::from(*detail);
                        *detail = self.keys.code(client, KeySource::Fake, key, is_press);
                    }
                    // Buttons and motion.
                    4..=6 => {}
                    _ => *detail = 0,
                }
            }
            _ => {
                if let Some(keep) = kept(name) {
                    self.secrets.blank(from(body, keep));
                }
            }
        }
    }
}

/// The offset from which on the body of an extension's request is replaced; `None` if the whole body is kept.
fn kept(name: &str) -> Option<usize> {
    Some(match name {
        "RENDER:AddGlyphsFromPicture" => 4,
        "RANDR:ChangeOutputProperty" | "RANDR:ChangeProviderProperty" => 20,
        // The window and the mode, before the mode's name.
        "RANDR:CreateMode" => 36,
        "XFIXES:SetCursorName" | "XFIXES:ChangeCursorByName" => 8,
        "XInputExtension:XIChangeProperty" | "XInputExtension:ChangeDeviceProperty" => 16,
        "XInputExtension:ChangeDeviceKeyMapping"
        | "XInputExtension:SetDeviceModifierMapping"
        | "XInputExtension:SendExtensionEvent" => 4,
        "XKEYBOARD:LatchLockState" => 2,
        "XKEYBOARD:SetMap"
        | "XKEYBOARD:SetNames"
        | "XKEYBOARD:SetGeometry"
        | "XKEYBOARD:SetCompatMap"
        | "XKEYBOARD:GetKbdByName"
        | "XKEYBOARD:SetDeviceInfo"
        | "XKEYBOARD:ListComponents"
        | "XKEYBOARD:SetDebuggingFlags" => 4,
        // The port, the drawable, the GC, the picture's ID, and the source and destination areas.
        "XVideo:PutImage" => 36,
        // The context tag; the client's ID of the display.
        _ if is_known(name) => match name.split_once(':') {
            Some(("GLX", request)) if !is_of_contexts(request) => 4,
            _ => return None,
        },
        _ => 0,
    })
}

/// True for a request of GLX on contexts and drawables, false for commands of OpenGL with their data.
fn is_of_contexts(request: &str) -> bool {
    request.starts_with("Create")
        || request.starts_with("Destroy")
        || request.starts_with("Delete")
        || request.starts_with("Query")
        || (request.starts_with("Get") && request.ends_with("Configs"))
        || request.starts_with("Make")
        || matches!(
            request,
            "SwapBuffers"
                | "WaitGL"
                | "WaitX"
                | "CopyContext"
                | "UseXFont"
                | "IsDirect"
                | "GetDrawableAttributes"
                | "ChangeDrawableAttributes"
        )
}
