//! The parts of replies and events that are replaced. Offsets are from the message's first byte.

use x11prof_protocol::{Event, Reply, ServerSetup, SetupStatus};
use x11prof_trace::ConnectionId;

use super::bytes::{from, split};
use super::events::{
    LAST_CORE_EVENT, core_event, key_event, modifiers, without_contents, without_modifiers,
};
use super::keys::KeySource;
use super::replacements::Replacements;
use super::well_known::{is_atom, is_font, is_known};

pub(super) const GENERIC_EVENT: u8 = 35;
/// The number of bytes at the beginning of a generic event that identify its kind.
pub(super) const GENERIC_HEADER: usize = 10;
/// The length of the fixed part of a reply, in bytes.
const FIXED: usize = 32;
/// The number of bytes of a reply up to and including its length field.
const HEADER: usize = 8;

impl Replacements {
    /// Replaces text in the server's reply to a setup: the reason for a refusal may name the host.
    pub(super) fn setup(setup: &ServerSetup<'_>, bytes: &mut [u8]) {
        if setup.status != SetupStatus::Success {
            from(bytes, HEADER).fill(0);
        }
    }

    /// Replaces the text and ids in a reply.
    pub(super) fn reply(&mut self, reply: &Reply<'_>, bytes: &mut [u8]) {
        let order = reply.order;
        let short = |bytes: &[u8], at| order.u16(bytes, at).map_or(0, usize::from);
        let Some(name) = reply.request.map(|name| name.as_str()) else {
            return self.secrets.blank(from(bytes, HEADER));
        };
        match name {
            "GetProperty" => {
                let (format, kind) = (bytes.get(1).copied(), order.u32(bytes, 8));
                let count = order.u32(bytes, 16).unwrap_or(0) as usize;
                self.property(kind, format, count, from(bytes, FIXED));
            }
            "GetAtomName" => {
                let len = short(bytes, 8);
                self.name(from(bytes, FIXED), len, is_atom);
            }
            "ListFonts" => self.strings(from(bytes, FIXED), is_font),
            "ListFontsWithInfo" => {
                let len = bytes.get(1).copied().map_or(0, usize::from);
                let properties = short(bytes, 46);
                self.name(from(bytes, 60 + 8 * properties), len, is_font);
            }
            "GetFontPath" => self.strings(from(bytes, FIXED), |_| false),
            // The modes' names, after the numbers of controllers, outputs and modes.
            "RANDR:GetScreenResources" | "RANDR:GetScreenResourcesCurrent" => {
                let ids = short(bytes, 16) + short(bytes, 18);
                self.secrets
                    .word(from(bytes, FIXED + 4 * ids + 32 * short(bytes, 20)));
            }
            // Which keys are down.
            "QueryKeymap" => from(bytes, HEADER).fill(0),
            // The state of Caps Lock and Num Lock.
            "GetKeyboardControl" => split(from(bytes, HEADER), 4).0.fill(0),
            "QueryPointer" => modifiers(order, from(bytes, 24)),
            "XKEYBOARD:GetState"
            | "XKEYBOARD:GetIndicatorState"
            | "XKEYBOARD:GetNamedIndicator" => {
                from(bytes, HEADER).fill(0);
            }
            // The measured text's own ascent, descent and widths.
            "QueryTextExtents" => from(bytes, 12).fill(0),
            "GetKeyboardMapping"
            | "GetModifierMapping"
            | "ListHosts"
            | "GetImage"
            | "RANDR:GetOutputProperty"
            | "RANDR:GetProviderProperty"
            | "XFIXES:GetCursorImage"
            | "XFIXES:GetCursorName"
            | "XFIXES:GetCursorImageAndName" => self.secrets.blank(from(bytes, FIXED)),
            // Atoms and key names of keyboards are kept, because other requests use them.
            "XKEYBOARD:GetNames" => {}
            _ if is_known(name) => {
                if let Some((extension, _)) = name.split_once(':')
                    && matches!(
                        extension,
                        "XKEYBOARD" | "XInputExtension" | "GLX" | "DRI2" | "XVideo"
                    )
                {
                    self.secrets.blank(from(bytes, FIXED));
                }
            }
            _ => self.secrets.blank(from(bytes, HEADER)),
        }
    }

    /// Replaces the text, key codes and ids in an event to `client`. The modifiers of generic events are cleared already.
    pub(super) fn event(
        &mut self,
        client: ConnectionId,
        event: &Event<'_>,
        is_decoded: bool,
        bytes: &mut [u8],
    ) {
        let order = event.order;
        if event.code <= LAST_CORE_EVENT {
            return core_event(&mut self.keys, client, KeySource::Core, order, bytes);
        }
        let name = event.name.as_str();
        if !is_known(name) || !is_decoded {
            return match event.code {
                GENERIC_EVENT => from(bytes, GENERIC_HEADER).fill(0),
                _ => without_contents(bytes),
            };
        }
        match name.split_once(':') {
            // The time and device; then modifiers and keys.
            Some(("XKEYBOARD", _)) => from(bytes, 9).fill(0),
            Some(("XInputExtension", name)) => match name {
                "KeyPress" | "KeyRelease" | "RawKeyPress" | "RawKeyRelease" => {
                    let is_press = name.ends_with("Press");
                    if let Some(key) = order.u32(bytes, 16) {
                        let source = KeySource::Xi2 {
                            device: order.u16(bytes, 10).unwrap_or_default(),
                            is_raw: name.starts_with("Raw"),
                        };
                        let code = self.keys.code(client, source, key, is_press);
                        order.put_u32(bytes, 16, u32::from(code));
                    }
                }
                "DeviceButtonPress"
                | "DeviceButtonRelease"
                | "DeviceMotionNotify"
                | "ProximityIn"
                | "ProximityOut" => without_modifiers(order, bytes),
                "DeviceValuator" => modifiers(order, from(bytes, 4)),
                // Laid out as the core's.
                "DeviceKeyPress" | "DeviceKeyRelease" => {
                    let is_press = name == "DeviceKeyPress";
                    key_event(
                        &mut self.keys,
                        client,
                        KeySource::Device,
                        order,
                        is_press,
                        bytes,
                    );
                }
                "DeviceStateNotify" | "DeviceKeyStateNotify" | "DeviceButtonStateNotify" => {
                    from(bytes, 4).fill(0);
                }
                "DeviceChanged" => from(bytes, FIXED).fill(0),
                _ => {}
            },
            _ => {}
        }
    }
}
