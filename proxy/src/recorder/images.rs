//! Finds the messages with content that is omitted from a trace: secrets, and images of the core protocol and of the
//! extensions that send pixels over the connection.

use std::collections::VecDeque;

use x11prof_protocol::{ByteOrder, Head};
use x11prof_trace::ExtensionOpcodes;

/// The number of bytes at the beginning of a message that are examined.
pub(crate) const START: usize = 16;

/// Core opcodes (protocol encoding, "Requests").
const PUT_IMAGE: u8 = 72;
const GET_IMAGE: u8 = 73;
/// Minor opcodes of extensions: renderproto, xvproto, fixesproto.
const RENDER_ADD_GLYPHS: u8 = 20;
const XV_PUT_IMAGE: u8 = 18;
const XFIXES_GET_CURSOR_IMAGE: u8 = 4;
const XFIXES_GET_CURSOR_IMAGE_AND_NAME: u8 = 25;
/// SecurityGenerateAuthorization, whose reply is a cookie (SECURITY extension).
const SECURITY_GENERATE_AUTHORIZATION: u8 = 1;
/// The minor opcode of QueryClientIds (X-Resource 1.2).
const RES_QUERY_CLIENT_IDS: u8 = 4;

/// The content of a reply that is omitted or changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Body {
    Image,
    Secret,
    /// The processes of clients. The trace contains the values that the client receives.
    ClientIds,
}

/// The requests of a server that contain images, or whose replies contain images. The opcode of a missing extension is
/// 0, which no request uses.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ImageRequests {
    render: u8,
    xvideo: u8,
    xfixes: u8,
    security: u8,
    resource: u8,
}

impl ImageRequests {
    /// The requests of a server with these extensions.
    pub(crate) fn of(extensions: &[ExtensionOpcodes]) -> ImageRequests {
        let major = |name: &str| {
            let found = extensions.iter().find(|extension| extension.name == name);
            found.map_or(0, |extension| extension.major)
        };
        ImageRequests {
            render: major("RENDER"),
            xvideo: major("XVideo"),
            xfixes: major("XFIXES"),
            security: major("SECURITY"),
            resource: major("X-Resource"),
        }
    }

    /// The content of a request's reply, if it is omitted or changed; otherwise `None`.
    #[inline]
    pub(crate) fn answer(&self, major: u8, minor: u8) -> Option<Body> {
        const CURSORS: [u8; 2] = [XFIXES_GET_CURSOR_IMAGE, XFIXES_GET_CURSOR_IMAGE_AND_NAME];
        if major == GET_IMAGE || (major == self.xfixes && major != 0 && CURSORS.contains(&minor)) {
            Some(Body::Image)
        } else if major == self.security && major != 0 && minor == SECURITY_GENERATE_AUTHORIZATION {
            Some(Body::Secret)
        } else if major == self.resource && major != 0 && minor == RES_QUERY_CLIENT_IDS {
            Some(Body::ClientIds)
        } else {
            None
        }
    }

    /// The number of bytes before the pixels in a request that contains an image; `None` for other requests. `start`
    /// contains the request's first bytes.
    pub(crate) fn kept(
        &self,
        head: Head,
        start: &[u8; START],
        order: Option<ByteOrder>,
    ) -> Option<u64> {
        match (head.code, head.data) {
            (0, _) => None,
            // The fields before the pixels: five CARD32s, or nine in XVideo.
            (PUT_IMAGE, _) => Some(u64::from(head.header_len) + 20),
            (major, XV_PUT_IMAGE) if major == self.xvideo => Some(u64::from(head.header_len) + 36),
            // The sizes of glyphs determine the cost of drawing, so they are kept: glyphset, count, then an id and 12
            // bytes of metrics for each glyph.
            (major, RENDER_ADD_GLYPHS) if major == self.render => {
                let at = head.header_len as usize + 4;
                let count = order.and_then(|order| order.u32(start, at)).unwrap_or(0);
                Some(u64::from(head.header_len) + 8 + 16 * u64::from(count))
            }
            _ => None,
        }
    }
}

/// Finds the replies that contain an image or a secret. Replies have the same order as their requests.
#[derive(Debug, Default)]
pub(crate) struct ImageReplies {
    requests: u64,
    /// The number of the last request with a reply, extended from the reply's 16 bits.
    answered: u64,
    /// Requests whose replies contain an image or a secret and have not arrived.
    awaited: VecDeque<(u64, Body)>,
}

/// The maximum number of images that a client may await. Beyond the limit the oldest are forgotten.
const MAX_AWAITED_IMAGES: usize = 1 << 16;

impl ImageReplies {
    /// Creates the state after the request with number `request`, when no reply is pending.
    pub(crate) fn after(request: u64) -> ImageReplies {
        ImageReplies {
            requests: request,
            answered: request,
            awaited: VecDeque::new(),
        }
    }

    /// Counts a request; `answer` is the content of its reply.
    #[inline]
    pub(crate) fn requested(&mut self, answer: Option<Body>) {
        self.requests += 1;
        if let Some(body) = answer {
            if self.awaited.len() == MAX_AWAITED_IMAGES {
                self.awaited.pop_front();
            }
            self.awaited.push_back((self.requests, body));
        }
    }

    /// Returns the content of the reply with this 16-bit sequence number; `None` if it is neither omitted nor changed.
    /// Replies arrive in the order of their requests.
    #[inline]
    pub(crate) fn answered(&mut self, sequence: u16) -> Option<Body> {
        let ahead = sequence.wrapping_sub(self.answered as u16);
        self.answered += u64::from(ahead);
        while let Some(&(first, body)) = self.awaited.front() {
            if first as u16 == sequence {
                self.answered = first;
                return Some(body);
            }
            if first > self.answered {
                return None;
            }
            self.awaited.pop_front();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use x11prof_protocol::HeadKind;

    const IMAGE: Option<Body> = Some(Body::Image);

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
    fn images_are_pending_until_a_later_reply() {
        let mut images = ImageReplies::default();
        images.requested(Some(Body::Image));
        images.requested(Some(Body::Image));
        images.requested(None);
        // `answered` is called for each part of a reply. The reply to the second request was an error.
        assert_eq!([1, 1, 3].map(|n| images.answered(n)), [IMAGE, IMAGE, None]);
        for _ in 3..=u16::MAX {
            images.requested(None);
        }
        // The sequence numbers have wrapped.
        assert_eq!(images.answered(0), None);
        images.requested(Some(Body::Image));
        assert_eq!([0, 1, 2].map(|n| images.answered(n)), [None, IMAGE, None]);
    }

    #[test]
    fn pending_images_are_bounded() {
        let mut images = ImageReplies::default();
        (0..MAX_AWAITED_IMAGES + 10).for_each(|_| images.requested(Some(Body::Image)));
        assert_eq!(images.awaited.len(), MAX_AWAITED_IMAGES);
    }

    #[test]
    fn glyphs_keep_metrics_but_not_pixels() {
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
        // Without the extension no request has this opcode.
        assert_eq!(
            [(0, 4), (0, 1)].map(|(major, minor)| requests.answer(major, minor)),
            [None; 2]
        );
    }
}
