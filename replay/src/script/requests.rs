//! Decides which recorded requests can be replayed, and finds the values in them that the player must replace.

use x11prof_protocol::{Extensions, IdKind, Request};

use super::Patch;
use crate::ids::LAST_CONSTANT;

/// Core opcodes (X11 protocol, appendix B).
const CHANGE_PROPERTY: u8 = 18;
const SEND_EVENT: u8 = 25;
const PUT_IMAGE: u8 = 72;
/// The mask bit of event-mask, the only window attribute that each client has separately ("ChangeWindowAttributes").
const EVENT_MASK: u32 = 1 << 11;
pub(super) const NO_OPERATION: u8 = 127;
pub(super) const FIRST_EXTENSION: u8 = 128;
/// The mask bits of SubstructureNotify and SubstructureRedirect, the events of a window manager.
const SUBSTRUCTURE: u32 = 3 << 19;
/// Requests that change settings of the display or of other clients, or that stop other clients.
const SETTINGS: &str = "GrabServer ChangeKeyboardMapping ChangeKeyboardControl ChangePointerControl SetScreenSaver \
    SetCloseDownMode SetSelectionOwner KillClient ForceScreenSaver SetPointerMapping SetModifierMapping \
    SetPortAttribute SetPriority ChangeCursorByName GetKbdByName";
/// Requests that delete the property that they read if the byte at this offset is not zero.
const DELETING: [(&str, usize); 5] = [
    ("GetProperty", 1),
    ("XInputExtension:GetDeviceProperty", 21),
    ("XInputExtension:XIGetProperty", 6),
    ("RANDR:GetOutputProperty", 24),
    ("RANDR:GetProviderProperty", 24),
];
/// The first words of requests that change nothing, or whose effects on root windows, input and screens end with the client.
const HARMLESS: &str = "Get List Query Select Open Close Grab Ungrab Passive Allow Use Bell DeviceBell Warp Barrier \
    Capable Info Copy Translate Fake Compare";
/// Extensions whose requests change only the requesting client or the resources that they name.
const OWN_RESOURCES: &str = "BIG-REQUESTS,DAMAGE,DOUBLE-BUFFER,DRI3,GLX,Generic Event Extension,MIT-SHM,Present,RENDER,\
    SHAPE,SYNC,X-Resource,XC-MISC,XFIXES,XINERAMA,XTEST,XVideo";
/// Codes of events in SendEvent requests.
const SELECTION_REQUEST: u8 = 30;
const SELECTION_NOTIFY: u8 = 31;
const CLIENT_MESSAGE: u8 = 33;
/// The first event code of extensions.
const FIRST_EXTENSION_EVENT: u8 = 64;
/// The maximum length of a property in which ids are replaced, in words of 4 bytes. Longer properties, such as icons,
/// contain no relevant ids.
const LONGEST_PROPERTY: usize = 1 << 16;

/// Whether a request can be replayed.
pub(super) enum Playable {
    /// The request is replayed. Bytes that are missing from the recording are replaced by noise.
    Yes,
    /// The request is replaced by NoOperation, so that later requests have the same sequence numbers.
    No,
}

/// The name of the extension to which a request belongs; empty for the core protocol.
pub(super) fn extension<'a>(request: &Request<'_>, extensions: &'a Extensions) -> &'a str {
    match extensions.by_major(request.major) {
        Some(extension) if request.major >= FIRST_EXTENSION => extension.name.as_str(),
        _ => "",
    }
}

/// Determines whether a request of this extension can be replayed on any display.
pub(super) fn playable(request: &Request<'_>, extension: &str) -> Playable {
    let is_whole = request.bytes.len() as u64 == request.wire_len;
    let has_images = match extension {
        "" => request.major == PUT_IMAGE,
        "RENDER" => request.minor == 20, // AddGlyphs
        "XVideo" => request.minor == 18, // PutImage
        _ => false,
    };
    let refused = match extension {
        // These requests change access to the display, or read files named in the recording.
        "" => ["ChangeHosts", "SetAccessControl", "SetFontPath"].contains(&request.name.as_str()),
        // These extensions access other clients' messages, access rights, video modes, or a GPU's buffers.
        "RECORD" | "SECURITY" | "DRI2" | "XFree86-DRI" | "XFree86-VidModeExtension" => true,
        // PixmapFromBuffer, FenceFromFD, PixmapFromBuffers, and requests that return descriptors.
        "DRI3" => request.minor >= 1,
        _ => request.major >= FIRST_EXTENSION && extension.is_empty(),
    };
    match refused || !is_whole && !has_images {
        true => Playable::No,
        false => Playable::Yes,
    }
}

/// True if an ordinary request of this extension changes state that other programs on the display use, or has effects
/// that outlive its client. The check does not protect from a malicious trace. `is_root` is true for root windows.
pub(super) fn changes_display(
    request: &Request<'_>,
    extensions: &Extensions,
    extension: &str,
    is_root: impl Fn(u32) -> bool,
) -> bool {
    let more = request.header_len.saturating_sub(4);
    let word = |at| request.order.u32(request.bytes, at + more).unwrap_or(0);
    let deletes = DELETING.iter().any(|(name, at)| {
        let at = at + if *at < 4 { 0 } else { more };
        *name == request.name.as_str() && request.bytes.get(at).is_some_and(|byte| *byte != 0)
    });
    let name = request.name.as_str().rsplit(':').next().unwrap_or_default();
    let name = name.trim_start_matches("XI");
    let is_harmless = HARMLESS.split(' ').any(|verb| name.starts_with(verb));
    let mut first = None;
    request.ids(extensions, |at, kind| {
        if kind == IdKind::Resource && first.is_none() {
            first = request.order.u32(request.bytes, at);
        }
    });
    let of_root = first.is_some_and(&is_root);
    match extension {
        _ if SETTINGS.split(' ').any(|one| one == name) => true,
        _ if deletes => of_root || !extension.is_empty(),
        "" if name == "ChangeWindowAttributes" => of_root && word(8) & !EVENT_MASK != 0,
        // Focus set to None or PointerRoot remains after the client has ended, and so does None to which it reverts.
        "" if name == "SetInputFocus" => {
            of_root || word(4) <= LAST_CONSTANT || request.bytes.get(1) == Some(&0)
        }
        // Destinations 0 and 1 are the window under the pointer and the window with the focus. A window manager obeys
        // events that are sent to the root window or propagate to it.
        "" if request.major == SEND_EVENT => {
            let code = request.bytes.get(12 + more).map_or(0, |code| code & 0x7F);
            let to_root = is_root(word(16)) || of_root && code != CLIENT_MESSAGE;
            let propagates = request.minor != 0 && word(8) & SUBSTRUCTURE != 0;
            word(4) <= LAST_CONSTANT || to_root || propagates
        }
        // The name is a number if the request is unknown. Its effects are then unknown too.
        _ if of_root && !is_harmless || name.parse::<u8>().is_ok() => true,
        "" => false,
        "Composite" => of_root,
        "XKEYBOARD" | "RANDR" | "XInputExtension" | "DPMS" | "MIT-SCREEN-SAVER" => !is_harmless,
        _ => !OWN_RESOURCES.split(',').any(|one| one == extension),
    }
}

/// Passes the values in a request that the player must replace to `on`, each with its offset in the request's bytes.
/// `is_atom_pair` is true for the recorded atom named ATOM_PAIR.
pub(super) fn patches(
    request: &Request<'_>,
    extensions: &Extensions,
    is_atom_pair: impl Fn(u32) -> bool,
    mut on: impl FnMut(usize, Patch),
) {
    if request.major >= FIRST_EXTENSION {
        on(0, Patch::Major);
    }
    request.ids(extensions, |at, kind| on(at, Patch::Id(kind)));
    let more = request.header_len - 4;
    match request.major {
        CHANGE_PROPERTY => property(request, more, is_atom_pair, on),
        SEND_EVENT => event(request, 12 + more, on),
        _ => {}
    }
}

/// Finds the ids and atoms in a property (X11 protocol, "ChangeProperty"). The property types are numbers of
/// predefined atoms (appendix A). WM_HINTS contains windows and pixmaps (ICCCM).
fn property(
    request: &Request<'_>,
    more: usize,
    is_atom_pair: impl Fn(u32) -> bool,
    mut on: impl FnMut(usize, Patch),
) {
    let number = |at| request.order.u32(request.bytes, at + more);
    let (Some(kind), Some(32), Some(len)) = (
        number(12),
        request.bytes.get(16 + more).copied(),
        number(20),
    ) else {
        return;
    };
    let patch = match kind {
        4 => Patch::Id(IdKind::Atom),
        7 | 8 | 17 | 18 | 20 | 33 => Patch::Id(IdKind::Resource),
        32 => Patch::Id(IdKind::Visual),
        // CARDINAL and INTEGER.
        6 | 19 => return,
        kind if is_atom_pair(kind) => Patch::Id(IdKind::Atom),
        _ => Patch::IdIfKnown,
    };
    let (begin, len) = (24 + more, len as usize);
    let fits = request.bytes.len().saturating_sub(begin) / 4;
    if len <= LONGEST_PROPERTY {
        (0..len.min(fits)).for_each(|word| on(begin + 4 * word, patch));
    }
}

fn event(request: &Request<'_>, begin: usize, mut on: impl FnMut(usize, Patch)) {
    let Some([code, format, ..]) = request.bytes.get(begin..begin + 32) else {
        return;
    };
    let (resource, atom, time) = (
        Patch::Id(IdKind::Resource),
        Patch::Id(IdKind::Atom),
        Patch::Id(IdKind::Time),
    );
    if code & 0x7F >= FIRST_EXTENSION_EVENT {
        on(begin, Patch::EventCode);
    }
    let fields: &[(usize, Patch)] = match code & 0x7F {
        SELECTION_REQUEST => &[
            (4, time),
            (8, resource),
            (12, resource),
            (16, atom),
            (20, atom),
            (24, atom),
        ],
        SELECTION_NOTIFY => &[(4, time), (8, resource), (12, atom), (16, atom), (20, atom)],
        CLIENT_MESSAGE if *format != 32 => &[(4, resource), (8, atom)],
        CLIENT_MESSAGE => {
            on(begin + 4, resource);
            on(begin + 8, atom);
            (0..5).for_each(|word| on(begin + 12 + 4 * word, Patch::AnyIfKnown));
            return;
        }
        _ => {
            (1..8).for_each(|word| on(begin + 4 * word, Patch::IdIfKnown));
            return;
        }
    };
    fields.iter().for_each(|(at, patch)| on(begin + at, *patch));
}
