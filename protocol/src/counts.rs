//! Checks the counts of lists before `x11rb-protocol` parses a message.
//!
//! `x11rb-protocol` allocates memory for as many elements as a message claims, so one bad count would exhaust the
//! machine's memory. An element has at least one byte. A count larger than the message's length is therefore wrong, and
//! the message is not decoded.

use crate::ByteOrder;

/// The layout of a message's lists.
enum Lists {
    /// The offsets of the counts (CARD32) of a message's lists. Most messages have none.
    Counted(&'static [usize]),
    /// The offset of two CARD16s, width and height, whose product is the number of pixels.
    Image(usize),
    /// RENDER's QueryPictFormats reply, the only reply with nested lists that drawing needs.
    PictFormats,
    /// A list that fills the message, with elements of this many bytes. If the list has a second element,
    /// `x11rb-protocol` 0.14 reads the first one forever.
    Single(usize),
    /// Groups from byte 32 of the message on. The CARD32 at byte `count` of the message is the number of groups. A group
    /// starts with `fixed` bytes. The CARD32 at byte `inner` of the group is the number of elements after these bytes;
    /// each element has `element` bytes.
    Groups {
        count: usize,
        fixed: usize,
        inner: usize,
        element: usize,
    },
    /// XI2's devices from byte 32 on, each with its classes. Their number is the CARD16 at byte 8.
    Devices,
    /// The reply to XInput's GetDeviceControl. Among the kinds of control only DEVICE_RESOLUTION, 1, has a count.
    Control,
}
use Lists::{Control, Counted, Devices, Groups, Image, PictFormats, Single};

/// True if the lists of a request can fit in the request. `body` is the bytes after its header.
pub(crate) fn request_fits(
    extension: Option<&str>,
    opcode: u8,
    order: ByteOrder,
    body: &[u8],
) -> bool {
    extension.is_none_or(|extension| fits(&request_lists(extension, opcode), order, body))
}

/// True if the lists of a reply can fit in the reply.
pub(crate) fn reply_fits(
    extension: Option<&str>,
    opcode: u8,
    order: ByteOrder,
    bytes: &[u8],
) -> bool {
    fits(&reply_lists(extension, opcode), order, bytes)
}

fn fits(lists: &Lists, order: ByteOrder, bytes: &[u8]) -> bool {
    let fits = |count: u64| count <= bytes.len() as u64;
    match *lists {
        Counted(places) => places.iter().all(|at| {
            order
                .u32(bytes, *at)
                .is_none_or(|count| fits(u64::from(count)))
        }),
        Image(at) => match (order.u16(bytes, at), order.u16(bytes, at + 2)) {
            (Some(width), Some(height)) => fits(u64::from(width) * u64::from(height)),
            _ => true,
        },
        PictFormats => pict_formats_fit(order, bytes).unwrap_or(false),
        Single(len) => bytes.len() <= len,
        Groups {
            count,
            fixed,
            inner,
            element,
        } => groups_fit(order, bytes, count, [fixed, inner, element]).unwrap_or(false),
        Devices => devices_fit(order, bytes).unwrap_or(false),
        Control => match order.u16(bytes, 32) {
            Some(1) => order
                .u32(bytes, 36)
                .is_some_and(|count| fits(u64::from(count))),
            _ => true,
        },
    }
}

/// Checks the lists of QueryPictFormats (Render extension, section "QueryPictFormats"): formats of 28 bytes, then
/// screens with depths with visuals of 8 bytes. `None` if they extend past the end.
fn pict_formats_fit(order: ByteOrder, bytes: &[u8]) -> Option<bool> {
    let formats = usize::try_from(order.u32(bytes, 8)?).ok()?;
    let screens = order.u32(bytes, 12)?;
    let mut at = formats.checked_mul(28)?.checked_add(32)?;
    for _ in 0..screens {
        let depths = order.u32(bytes, at)?;
        at += 8;
        for _ in 0..depths {
            let visuals = order.u16(bytes, at.checked_add(2)?)?;
            at += 8 + 8 * usize::from(visuals);
        }
    }
    let subpixels = usize::try_from(order.u32(bytes, 24)?).ok()?;
    Some(at <= bytes.len() && subpixels <= bytes.len())
}

/// True if all groups of a reply end within `bytes`; `None` if a count is missing or too large. `count` is the offset of
/// the number of groups. A group has `fixed` bytes, with the number of its elements at `inner`, and then its elements
/// of `element` bytes each.
fn groups_fit(
    order: ByteOrder,
    bytes: &[u8],
    count: usize,
    [fixed, inner, element]: [usize; 3],
) -> Option<bool> {
    let mut at = 32_usize;
    for _ in 0..order.u32(bytes, count)? {
        let elements = usize::try_from(order.u32(bytes, at.checked_add(inner)?)?).ok()?;
        at = elements.checked_mul(element)?.checked_add(at + fixed)?;
    }
    Some(at <= bytes.len())
}

/// True if the classes of all devices in the reply to XIQueryDevice end within `bytes`; `None` if a field is missing.
fn devices_fit(order: ByteOrder, bytes: &[u8]) -> Option<bool> {
    let mut at = 32;
    for _ in 0..order.u16(bytes, 8)? {
        let [classes, name] = [at + 6, at + 8].map(|at| order.u16(bytes, at));
        at += 12 + usize::from(name?).next_multiple_of(4);
        at = classes_end(order, bytes, at, classes?)?;
    }
    Some(at <= bytes.len())
}

/// True if the classes of XI2's event DeviceChanged end within `bytes`.
pub(crate) fn device_changed_fits(order: ByteOrder, bytes: &[u8]) -> bool {
    let classes = order.u16(bytes, 16);
    let end = classes.and_then(|classes| classes_end(order, bytes, 32, classes));
    end.is_some_and(|end| end <= bytes.len())
}

/// The end of the `count` device classes from `at` on (XI2.h, xXIAnyInfo and the types after it). `None` if a field is
/// missing, or if a class is longer than the length that it states in units of 4 bytes: `x11rb-protocol` 0.14 finds the
/// next class by this length, but reads the whole class.
fn classes_end(order: ByteOrder, bytes: &[u8], mut at: usize, count: u16) -> Option<usize> {
    const KEYS: u16 = 0;
    const BUTTONS: u16 = 1;
    for _ in 0..count {
        let [kind, length, elements] = [0, 2, 6].map(|field| order.u16(bytes, at + field));
        let (length, elements) = (4 * usize::from(length?), usize::from(elements?));
        let needed = match kind? {
            KEYS => 8 + 4 * elements,
            BUTTONS => 8 + 4 * elements.div_ceil(32) + 4 * elements,
            _ => 8,
        };
        if length < needed {
            return None;
        }
        at += length;
    }
    Some(at)
}

fn request_lists(extension: &str, opcode: u8) -> Lists {
    match (extension, opcode) {
        ("DOUBLE-BUFFER", 3 | 6) => Counted(&[0]),
        ("GLX", 22 | 31) => Counted(&[16]),
        ("GLX", 27) => Counted(&[12]),
        ("GLX", 30 | 143 | 144 | 161) => Counted(&[4]),
        ("GLX", 33 | 35) => Counted(&[8]),
        ("GLX", 34) => Counted(&[20]),
        ("RECORD", 1 | 2) => Counted(&[8, 12]),
        ("RECORD", 3) => Counted(&[4]),
        ("RENDER", 20) => Counted(&[4]),
        ("RENDER", 34) => Counted(&[20]),
        ("RENDER", 35) => Counted(&[28]),
        ("RENDER", 36) => Counted(&[16]),
        ("SYNC", 7) => Single(28),
        ("SYNC", 19) => Single(4),
        ("X-Resource", 4) => Counted(&[0]),
        ("X-Resource", 5) => Counted(&[4]),
        ("XInputExtension", 37 | 57) => Counted(&[12]),
        ("XInputExtension", 61) => Counted(&[0]),
        _ => Counted(&[]),
    }
}

fn reply_lists(extension: Option<&str>, opcode: u8) -> Lists {
    match (extension.unwrap_or("core"), opcode) {
        ("core", 39) => Counted(&[8]),
        ("core", 47) => Counted(&[56]),
        ("DOUBLE-BUFFER", 6) => Groups {
            count: 8,
            fixed: 4,
            inner: 0,
            element: 8,
        },
        ("DRI2", 5 | 7) => Counted(&[16]),
        ("DRI3", 6) => Counted(&[8, 12]),
        ("GLX", 25 | 29) => Counted(&[8]),
        (
            "GLX",
            107
            | 112
            | 114
            | 116..=127
            | 130..=134
            | 136..=139
            | 148
            | 149
            | 151
            | 152
            | 155
            | 156
            | 158
            | 159
            | 164..=166,
        ) => Counted(&[12]),
        ("RANDR", 42) => Counted(&[12]),
        ("RECORD", 4) => Groups {
            count: 12,
            fixed: 8,
            inner: 4,
            element: 24,
        },
        ("RENDER", 1) => PictFormats,
        ("RENDER", 2) => Counted(&[8]),
        ("RENDER", 29) => Counted(&[8, 12]),
        ("SELinux", 14 | 21) => Counted(&[8]),
        ("SHAPE", 8) => Counted(&[8]),
        ("SYNC", 1) => Counted(&[8]),
        ("X-Resource", 1 | 2) => Counted(&[8]),
        // The length of a client id is in bytes.
        ("X-Resource", 4) => Groups {
            count: 8,
            fixed: 12,
            inner: 8,
            element: 1,
        },
        ("X-Resource", 5) => Groups {
            count: 8,
            fixed: 24,
            inner: 20,
            element: 20,
        },
        ("XC-MISC", 2) => Counted(&[8]),
        ("XFIXES", 4 | 25) => Image(12),
        ("XFree86-DRI", 9) => Counted(&[24, 32]),
        ("XFree86-DRI", 10) => Counted(&[28]),
        ("XFree86-VidModeExtension", 6) => Counted(&[8]),
        ("XFree86-VidModeExtension", 13) => Counted(&[12]),
        ("XINERAMA", 5) => Counted(&[8]),
        ("XInputExtension", 10) => Counted(&[8]),
        ("XInputExtension", 34) => Control,
        ("XInputExtension", 39 | 59) => Counted(&[16]),
        ("XInputExtension", 48) => Devices,
        ("XVideo", 15..=17) => Counted(&[8]),
        ("XVideo-MotionCompensation", 1 | 8) => Counted(&[8]),
        ("XpExtension", 1 | 22) => Counted(&[8]),
        _ => Counted(&[]),
    }
}
