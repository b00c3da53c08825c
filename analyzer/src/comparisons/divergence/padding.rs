//! The padding at the end of an image's rows. Its contents have no meaning, and programs often send whatever their memory
//! holds.

use x11prof_protocol::{Body, Message, Request};

use crate::pipeline::MessageContext;

/// The offset of the image's bytes in the body of PutImage.
const DATA: usize = 20;
/// The format of an image whose pixels are not split into planes.
const Z_PIXMAP: u8 = 2;

/// Returns the bytes of a PutImage request with zeros as the padding of each row (X11 protocol, PutImage and section 8);
/// `None` for other messages, and if the rows have no padding. `is_plain` is true if the server's bits and bytes have the
/// same order, so that the padding of a bitmap follows its pixels.
pub(super) fn without_padding(seen: &MessageContext<'_>, is_plain: bool) -> Option<Vec<u8>> {
    let Message::Request(request) = seen.message else {
        return None;
    };
    let bits = |depth: u8| {
        let mut formats = seen.session.pixmap_formats().iter();
        formats
            .find(|format| format.depth == depth)
            .map(|format| format.bits)
    };
    cleared(request, bits, is_plain)
}

/// The message with these bytes, if it is a request.
pub(super) fn with_bytes<'a>(message: &Message<'a>, bytes: Option<&'a [u8]>) -> Message<'a> {
    match (message, bytes) {
        (Message::Request(request), Some(bytes)) => Message::Request(Request { bytes, ..*request }),
        _ => *message,
    }
}

fn cleared(
    request: &Request<'_>,
    bits: impl Fn(u8) -> Option<u8>,
    is_plain: bool,
) -> Option<Vec<u8>> {
    if request.name.as_str() != "PutImage" {
        return None;
    }
    let body = Body::of(request);
    let [width, height] = [body.u16(8)?, body.u16(10)?].map(usize::from);
    let (left_pad, depth) = (body.u8(16)?, body.u8(17)?);
    let (bits, planes) = match request.minor == Z_PIXMAP {
        true => (bits(depth)?, 1),
        false if is_plain => (1, depth),
        false => return None,
    };
    let used = ((usize::from(left_pad) + width) * usize::from(bits)).div_ceil(8);
    let rows = height * usize::from(planes);
    let all = usize::try_from(body.wire_len()).ok()?.checked_sub(DATA)?;
    let stride = all.checked_div(rows)?;
    if used >= stride || stride * rows != all {
        return None;
    }
    let mut bytes = request.bytes.to_vec();
    let data = bytes.get_mut(request.header_len + DATA..)?;
    for row in data.chunks_mut(stride) {
        row.iter_mut().skip(used).for_each(|byte| *byte = 0);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use x11prof_protocol::{ByteOrder, Request, SequenceNumber, Symbol};

    use super::{DATA, cleared};

    /// PutImage of two rows of 11 pixels, with this format and this number of bytes.
    fn put_image(format: u8, depth: u8, len: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; 4 + DATA];
        (bytes[12], bytes[14], bytes[21]) = (11, 2, depth);
        bytes.extend(1..=len as u8);
        let request = Request {
            sequence: SequenceNumber(1),
            name: Symbol::new("PutImage"),
            major: 72,
            minor: format,
            order: ByteOrder::Little,
            bytes: &bytes,
            wire_len: bytes.len() as u64,
            header_len: 4,
            has_reply: false,
        };
        let bits = |depth| (depth == 8).then_some(8);
        cleared(&request, bits, true).map(|bytes| bytes[4 + DATA..].to_vec())
    }

    #[test]
    fn padding_of_rows_is_cleared() {
        assert_eq!(put_image(0, 1, 8), Some(vec![1, 2, 0, 0, 5, 6, 0, 0]));
        let row = |from: u8| (from..from + 11).chain([0]);
        assert_eq!(put_image(2, 8, 24), Some(row(1).chain(row(13)).collect()));
        // Rows of two bytes have no padding. The format of depth 4 is unknown.
        assert_eq!(put_image(0, 1, 4), None);
        assert_eq!(put_image(2, 4, 24), None);
    }
}
