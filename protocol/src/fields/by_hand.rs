//! The layouts of messages that `x11rb-protocol` cannot decode here. These are messages with file descriptors, which
//! are not in a trace; a reply of GLX that `x11rb-protocol` decodes wrongly; and the two Await requests of SYNC, which
//! `x11rb-protocol` parses in an endless loop if they have several conditions.

use compact_str::CompactString;

use super::Value;
use crate::{ByteOrder, DecodeError};

/// The type of a field.
#[derive(Clone, Copy)]
enum Kind {
    /// A field of type CARD8.
    U8,
    /// A field of type BOOL.
    Bool,
    /// A field of type CARD16.
    U16,
    /// A field of type CARD32, or the id of a resource.
    U32,
    /// A field of type CARD64 in the client's byte order.
    U64,
    /// A field of SYNC's type INT64, with the high half first.
    HighLow,
    /// Unused bytes, of this number.
    Unused(usize),
}
use Kind::{Bool, HighLow, U8, U16, U32, U64, Unused};

type Field = (&'static str, Kind);

/// The layout of a message: its fields in order, and a list at the end.
pub(crate) struct Layout {
    /// The name of the message's second byte, if it is a field.
    second: Option<&'static str>,
    /// The fields after the header.
    fields: &'static [Field],
    list: List,
}

/// The list after the fields.
enum List {
    /// The message has no list: it ends with the fields.
    None,
    /// The message ends with groups of fields, as a list of this name.
    ToTheEnd(&'static str, &'static [Field]),
    /// The message is DRI3's BuffersFromPixmap: its second byte is the number of strides, and of the offsets that
    /// follow them.
    StridesAndOffsets,
}

/// The layout of an extension's request with this minor opcode; `None` if it is not in the table.
pub(crate) fn request(extension: &str, minor: u8) -> Option<&'static Layout> {
    Some(match (extension, minor) {
        ("DRI3", 2) => &PIXMAP_FROM_BUFFER,
        ("DRI3", 4) => &FENCE_FROM_FD,
        ("DRI3", 7) => &PIXMAP_FROM_BUFFERS,
        ("DRI3", 10) => &IMPORT_SYNCOBJ,
        ("MIT-SHM", 6) => &ATTACH_FD,
        ("SYNC", 7) => &AWAIT,
        ("SYNC", 19) => &AWAIT_FENCE,
        _ => return None,
    })
}

/// The layout of a reply to the request with this minor opcode; `None` if it is not in the table.
pub(crate) fn reply(extension: &str, minor: u8) -> Option<&'static Layout> {
    Some(match (extension, minor) {
        ("DRI3", 3) => &BUFFER_FROM_PIXMAP,
        ("DRI3", 8) => &BUFFERS_FROM_PIXMAP,
        ("GLX", 17) => &VENDOR_PRIVATE,
        ("DRI3", 1 | 5) | ("MIT-SHM", 7) | ("RANDR", 45) => &DESCRIPTORS,
        _ => return None,
    })
}

const fn plain(fields: &'static [Field]) -> Layout {
    Layout {
        second: None,
        fields,
        list: List::None,
    }
}

// DRI3 protocol, section "Requests".
static PIXMAP_FROM_BUFFER: Layout = plain(&[
    ("pixmap", U32),
    ("drawable", U32),
    ("size", U32),
    ("width", U16),
    ("height", U16),
    ("stride", U16),
    ("depth", U8),
    ("bpp", U8),
]);
static FENCE_FROM_FD: Layout = plain(&[
    ("drawable", U32),
    ("fence", U32),
    ("initially_triggered", Bool),
]);
static PIXMAP_FROM_BUFFERS: Layout = plain(&[
    ("pixmap", U32),
    ("window", U32),
    ("num_buffers", U8),
    ("", Unused(3)),
    ("width", U16),
    ("height", U16),
    ("stride0", U32),
    ("offset0", U32),
    ("stride1", U32),
    ("offset1", U32),
    ("stride2", U32),
    ("offset2", U32),
    ("stride3", U32),
    ("offset3", U32),
    ("depth", U8),
    ("bpp", U8),
    ("", Unused(2)),
    ("modifier", U64),
]);
static IMPORT_SYNCOBJ: Layout = plain(&[("syncobj", U32), ("drawable", U32)]);
static BUFFER_FROM_PIXMAP: Layout = Layout {
    second: Some("nfd"),
    fields: &[
        ("size", U32),
        ("width", U16),
        ("height", U16),
        ("stride", U16),
        ("depth", U8),
        ("bpp", U8),
    ],
    list: List::None,
};
static BUFFERS_FROM_PIXMAP: Layout = Layout {
    second: Some("nfd"),
    fields: &[
        ("width", U16),
        ("height", U16),
        ("", Unused(4)),
        ("modifier", U64),
        ("depth", U8),
        ("bpp", U8),
        ("", Unused(6)),
    ],
    list: List::StridesAndOffsets,
};
/// GLX VendorPrivateWithReply (glxproto.h, xGLXVendorPrivReply). The offset of the data in xcb-proto is 4 bytes too
/// large.
static VENDOR_PRIVATE: Layout = Layout {
    second: None,
    fields: &[("retval", U32), ("size", U32), ("", Unused(16))],
    list: List::ToTheEnd("data", &[("byte", U8)]),
};
/// DRI3 Open and FDFromFence, MIT-SHM CreateSegment, and RANDR CreateLease, whose replies contain only file
/// descriptors.
static DESCRIPTORS: Layout = Layout {
    second: Some("nfd"),
    fields: &[],
    list: List::None,
};
// MIT-SHM protocol 1.2, "AttachFd".
static ATTACH_FD: Layout = plain(&[("shmseg", U32), ("read_only", Bool)]);
// SYNC protocol, sections "Await" and "AwaitFence".
static AWAIT: Layout = Layout {
    second: None,
    fields: &[],
    list: List::ToTheEnd(
        "wait_list",
        &[
            ("counter", U32),
            ("wait_type", U32),
            ("wait_value", HighLow),
            ("test_type", U32),
            ("event_threshold", HighLow),
        ],
    ),
};
static AWAIT_FENCE: Layout = Layout {
    second: None,
    fields: &[],
    list: List::ToTheEnd("fence_list", &[("fence", U32)]),
};

impl Layout {
    /// Reads the fields of the message `bytes`, which begin at offset `at`. `wire_len` is the length of the message in
    /// bytes.
    pub(crate) fn read(
        &self,
        order: ByteOrder,
        bytes: &[u8],
        wire_len: u64,
        at: usize,
    ) -> Result<Value, DecodeError> {
        if bytes.len() as u64 != wire_len {
            return Err(DecodeError::Omitted);
        }
        self.values(Cursor { order, bytes, at })
            .map(Value::Fields)
            .ok_or(DecodeError::Lists)
    }

    fn values(&self, mut cursor: Cursor<'_>) -> Option<Vec<(CompactString, Value)>> {
        let mut values = Vec::new();
        let second = cursor.bytes.get(1).copied()?;
        if let Some(name) = self.second {
            values.push((name.into(), Value::Number(second.into())));
        }
        values.extend(cursor.group(self.fields)?);
        match self.list {
            List::None => {}
            List::ToTheEnd(name, fields) => {
                let mut list = Vec::new();
                while cursor.at < cursor.bytes.len() {
                    let mut group = cursor.group(fields)?;
                    list.push(match group.len() {
                        1 => group.remove(0).1,
                        _ => Value::Fields(group),
                    });
                }
                values.push((name.into(), Value::List(list)));
            }
            List::StridesAndOffsets => {
                for name in ["strides", "offsets"] {
                    let numbers = (0..second)
                        .map(|_| cursor.value(U32))
                        .collect::<Option<_>>()?;
                    values.push((name.into(), Value::List(numbers)));
                }
            }
        }
        Some(values)
    }
}

/// A position in a message.
struct Cursor<'a> {
    order: ByteOrder,
    bytes: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn group(&mut self, fields: &[Field]) -> Option<Vec<(CompactString, Value)>> {
        let mut values = Vec::new();
        for (name, kind) in fields {
            let value = self.value(*kind)?;
            if !name.is_empty() {
                values.push(((*name).into(), value));
            }
        }
        Some(values)
    }

    fn value(&mut self, kind: Kind) -> Option<Value> {
        let byte = || self.bytes.get(self.at).copied();
        let half = |at: usize| self.order.u32(self.bytes, self.at + at);
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let (value, len) = match kind {
            U8 => (Value::Number(byte()?.into()), 1),
            Bool => (Value::truth(byte()?), 1),
            U16 => (
                Value::Number(self.order.u16(self.bytes, self.at)?.into()),
                2,
            ),
            U32 => (Value::Number(half(0)?.into()), 4),
            U64 => {
                let number = match self.order {
                    ByteOrder::Little => pair(half(4)?, half(0)?),
                    ByteOrder::Big => pair(half(0)?, half(4)?),
                };
                (Value::Number(number.into()), 8)
            }
            HighLow => {
                let number = pair(half(0)?, half(4)?).cast_signed();
                (Value::Number(number.into()), 8)
            }
            Unused(len) => {
                self.bytes.get(self.at..self.at + len)?;
                (Value::Cut, len)
            }
        };
        self.at += len;
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::{reply, request};
    use crate::{ByteOrder, DecodeError, Value};

    #[test]
    fn dri3_pixmap_from_buffer_is_read_in_both_byte_orders() {
        let layout = request("DRI3", 2).unwrap();
        let little = [
            150, 2, 6, 0, 1, 0, 0x40, 0, 2, 0, 0x40, 0, 0, 0x10, 0, 0, 32, 0, 16, 0, 128, 0, 24, 32,
        ];
        let big = [
            150, 2, 0, 6, 0, 0x40, 0, 1, 0, 0x40, 0, 2, 0, 0, 0x10, 0, 0, 32, 0, 16, 0, 128, 24, 32,
        ];
        let expected = Value::fields([
            ("pixmap", Value::Number(0x40_0001)),
            ("drawable", Value::Number(0x40_0002)),
            ("size", Value::Number(4096)),
            ("width", Value::Number(32)),
            ("height", Value::Number(16)),
            ("stride", Value::Number(128)),
            ("depth", Value::Number(24)),
            ("bpp", Value::Number(32)),
        ]);
        assert_eq!(
            layout.read(ByteOrder::Little, &little, 24, 4),
            Ok(expected.clone())
        );
        assert_eq!(layout.read(ByteOrder::Big, &big, 24, 4), Ok(expected));
        let short = layout.read(ByteOrder::Little, &little[..20], 20, 4);
        assert_eq!(short, Err(DecodeError::Lists));
    }

    #[test]
    fn sync_await_with_two_counters_is_read() {
        let mut bytes = vec![134, 7, 15, 0];
        for counter in [9_u32, 10] {
            for word in [counter, 0, 1, 2, 3, u32::MAX, u32::MAX] {
                bytes.extend(word.to_le_bytes());
            }
        }
        let read = request("SYNC", 7)
            .unwrap()
            .read(ByteOrder::Little, &bytes, 60, 4)
            .unwrap();
        let Some(Value::List(list)) = read.get("wait_list") else {
            panic!("{read:?}");
        };
        assert_eq!(list.len(), 2);
        assert_eq!(list[1].get("counter"), Some(&Value::Number(10)));
        assert_eq!(
            list[1].get("wait_value"),
            Some(&Value::Number((1 << 32) + 2))
        );
        assert_eq!(list[1].get("event_threshold"), Some(&Value::Number(-1)));
    }

    #[test]
    fn a_vendors_reply_has_its_data_after_32_bytes() {
        let mut bytes = vec![1, 0, 1, 0, 1, 0, 0, 0, 5, 0, 0, 0, 4];
        bytes.resize(32, 0);
        bytes.extend([7, 8, 9, 10]);
        let layout = reply("GLX", 17).unwrap();
        let read = layout.read(ByteOrder::Little, &bytes, 36, 8).unwrap();
        let data = [7, 8, 9, 10].map(Value::Number).to_vec();
        assert_eq!(read.get("retval"), Some(&Value::Number(5)));
        assert_eq!(read.get("size"), Some(&Value::Number(4)));
        assert_eq!(read.get("data"), Some(&Value::List(data)));
    }

    #[test]
    fn dri3_strides_and_offsets_match_the_descriptor_count() {
        let layout = reply("DRI3", 8).unwrap();
        let mut bytes = vec![1, 2, 1, 0, 4, 0, 0, 0, 64, 0, 32, 0, 0, 0, 0, 0];
        bytes.extend(5_u64.to_le_bytes());
        bytes.extend([24, 32, 0, 0, 0, 0, 0, 0]);
        for word in [256_u32, 128, 0, 8192] {
            bytes.extend(word.to_le_bytes());
        }
        let read = layout.read(ByteOrder::Little, &bytes, 48, 8).unwrap();
        let list = |numbers: [i128; 2]| Value::List(numbers.map(Value::Number).to_vec());
        assert_eq!(read.get("modifier"), Some(&Value::Number(5)));
        assert_eq!(read.get("strides"), Some(&list([256, 128])));
        assert_eq!(read.get("offsets"), Some(&list([0, 8192])));
        bytes[1] = 200;
        assert_eq!(
            layout.read(ByteOrder::Little, &bytes, 48, 8),
            Err(DecodeError::Lists)
        );
    }
}
