//! Which messages carry images: of the core protocol and of the extensions that send pixels
//! through the connection.

use std::collections::VecDeque;

use x11prof_protocol::{ByteOrder, Head};
use x11prof_trace::ExtensionOpcodes;

use crate::omission::START;

/// Core opcodes (protocol encoding, "Requests").
const PUT_IMAGE: u8 = 72;
const GET_IMAGE: u8 = 73;
/// Minor opcodes of extensions: renderproto, xvproto, fixesproto.
const RENDER_ADD_GLYPHS: u8 = 20;
const XV_PUT_IMAGE: u8 = 18;
const XFIXES_GET_CURSOR_IMAGE: u8 = 4;
const XFIXES_GET_CURSOR_IMAGE_AND_NAME: u8 = 25;

/// The requests of a server that carry images, or are answered with one. What has no opcode
/// there is 0, which no request has.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ImageRequests {
    render: u8,
    xvideo: u8,
    xfixes: u8,
}

impl ImageRequests {
    /// Those of a server with these extensions.
    pub(crate) fn of(extensions: &[ExtensionOpcodes]) -> ImageRequests {
        let major = |name: &str| {
            let found = extensions.iter().find(|extension| extension.name == name);
            found.map_or(0, |extension| extension.major)
        };
        ImageRequests {
            render: major("RENDER"),
            xvideo: major("XVideo"),
            xfixes: major("XFIXES"),
        }
    }

    /// Whether a request is answered with an image.
    #[inline]
    pub(crate) fn is_answered_with_image(&self, major: u8, minor: u8) -> bool {
        const CURSORS: [u8; 2] = [XFIXES_GET_CURSOR_IMAGE, XFIXES_GET_CURSOR_IMAGE_AND_NAME];
        major == GET_IMAGE || (major == self.xfixes && major != 0 && CURSORS.contains(&minor))
    }

    /// How many bytes of a request that carries an image precede its pixels; `None` for other
    /// requests. `start` has the request's first bytes.
    pub(crate) fn kept(
        &self,
        head: Head,
        start: &[u8; START],
        order: Option<ByteOrder>,
    ) -> Option<u64> {
        match (head.code, head.data) {
            (0, _) => None,
            // What precedes the pixels: five CARD32s, in XVideo nine.
            (PUT_IMAGE, _) => Some(u64::from(head.header_len) + 20),
            (major, XV_PUT_IMAGE) if major == self.xvideo => Some(u64::from(head.header_len) + 36),
            // Glyphs have sizes, which decide what drawing them costs: glyphset, count, then an id
            // and 12 bytes of metrics for each.
            (major, RENDER_ADD_GLYPHS) if major == self.render => {
                let at = head.header_len as usize + 4;
                let count = order.and_then(|order| order.u32(start, at)).unwrap_or(0);
                Some(u64::from(head.header_len) + 8 + 16 * u64::from(count))
            }
            _ => None,
        }
    }
}

/// Which replies have an image: those to requests that ask for one, in the order of both.
#[derive(Debug, Default)]
pub(crate) struct ImageReplies {
    requests: u64,
    /// The request of the last answer, as far as 16 bits tell it.
    answered: u64,
    /// Requests whose answers have an image and may be still to come.
    awaited: VecDeque<u64>,
}

/// How many images a client may await; of more, the oldest are forgotten.
const MOST_AWAITED: usize = 1 << 16;

impl ImageReplies {
    /// A request went by.
    #[inline]
    pub(crate) fn requested(&mut self, is_answered_with_image: bool) {
        self.requests += 1;
        if is_answered_with_image {
            if self.awaited.len() == MOST_AWAITED {
                self.awaited.pop_front();
            }
            self.awaited.push_back(self.requests);
        }
    }

    /// Takes the 16 bits of a sequence number that an answer carries: whether it is to a request
    /// for an image. Answers come in the order of their requests.
    #[inline]
    pub(crate) fn answered(&mut self, sequence: u16) -> bool {
        let ahead = sequence.wrapping_sub(self.answered as u16);
        self.answered += u64::from(ahead);
        while let Some(&first) = self.awaited.front() {
            if first as u16 == sequence {
                self.answered = first;
                return true;
            }
            if first > self.answered {
                return false;
            }
            self.awaited.pop_front();
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use x11prof_protocol::HeadKind;

    fn head(code: u8, data: u8, header_len: u32) -> Head {
        Head {
            kind: HeadKind::Request,
            code,
            data,
            header_len,
            len: 100_000,
        }
    }

    #[test]
    fn images_are_awaited_until_something_later_is_answered() {
        let mut images = ImageReplies::default();
        images.requested(true);
        images.requested(true);
        images.requested(false);
        // Its pieces are asked about one by one; the second request's answer was an error.
        assert!(images.answered(1) && images.answered(1));
        assert!(!images.answered(3));
        for _ in 3..=u16::MAX {
            images.requested(false);
        }
        // The numbers have come round.
        assert!(!images.answered(0));
        images.requested(true);
        assert!(!images.answered(0) && images.answered(1));
        assert!(!images.answered(2));
    }

    #[test]
    fn what_is_awaited_is_bounded() {
        let mut images = ImageReplies::default();
        (0..MOST_AWAITED + 10).for_each(|_| images.requested(true));
        assert_eq!(images.awaited.len(), MOST_AWAITED);
    }

    #[test]
    fn glyphs_keep_their_metrics_and_lose_their_pixels() {
        let opcodes = |name: &str, major| ExtensionOpcodes {
            name: name.to_owned(),
            major,
            first_event: 0,
            first_error: 0,
        };
        let requests = ImageRequests::of(&[opcodes("RENDER", 139), opcodes("XVideo", 150)]);
        let kept = |code, data, header_len, start: &[u8; START], order| {
            requests.kept(head(code, data, header_len), start, Some(order))
        };
        let mut start = [0; START];
        start[8] = 3;
        let little = ByteOrder::Little;
        assert_eq!(kept(139, 20, 4, &start, little), Some(4 + 8 + 48));
        let mut start = [0; START];
        start[15] = 3;
        let big = ByteOrder::Big;
        assert_eq!(kept(139, 20, 8, &start, big), Some(8 + 8 + 48));
        assert_eq!(kept(139, 8, 4, &start, big), None);
        assert_eq!(kept(150, 18, 4, &start, big), Some(40));
        assert_eq!(kept(72, 2, 8, &start, big), Some(28));
        assert_eq!(kept(0, 20, 4, &start, big), None);
        // Without the extension there is no such request.
        assert!(!requests.is_answered_with_image(0, 4));
    }
}
