//! Converts messages of the other byte order to this machine's order, for `x11rb-protocol`: all messages of the core
//! protocol, and those of extensions whose layout does not depend on their contents.
//!
//! A layout is text. A digit is a number of that many bytes. `|` moves to offset 32, where the lists of a reply begin.
//! The part in parentheses repeats to the end of the message. Bytes outside of the layout (names, pixels) are not
//! changed. The code never accesses bytes beyond the message.

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::ByteOrder;

/// The fixed part of a setup (protocol, section "Connection Setup").
const SETUP_FIXED: &str = "11222444422111111114";
/// The fixed part of a SCREEN.
const SETUP_SCREEN: &str = "4444422222241111";
/// The fixed part of a DEPTH.
const SETUP_DEPTH: &str = "1124";
/// A VISUALTYPE.
const SETUP_VISUAL: &str = "41124444";

/// Core opcodes whose layout depends on their contents (protocol, appendix B).
const CHANGE_PROPERTY: u8 = 18;
const GET_PROPERTY: u8 = 20;
const SEND_EVENT: u8 = 25;
const QUERY_FONT: u8 = 47;
const LIST_FONTS_WITH_INFO: u8 = 50;
const LIST_HOSTS: u8 = 110;
const CLIENT_MESSAGE: u8 = 33;
const KEYMAP_NOTIFY: u8 = 11;

/// Converts a request of the core protocol; `header_len` is 8 with a BIG-REQUESTS length, otherwise 4.
pub(crate) fn request(bytes: &[u8], header_len: usize) -> Vec<u8> {
    let mut swap = Swap::new(bytes, 1);
    swap.numbers("12");
    if header_len == 8 {
        swap.numbers("4");
    }
    let major = bytes.first().copied().unwrap_or(0);
    swap.layout(layout("request", major));
    match major {
        CHANGE_PROPERTY => {
            // Window, property, type, then the format and three unused bytes, and the length.
            let format = bytes.get(header_len + 12).copied().unwrap_or(8);
            swap.list_of(format);
        }
        SEND_EVENT => {
            let at = swap.at;
            swap.event(at);
        }
        _ => {}
    }
    swap.bytes
}

/// Converts a reply to the core request with major opcode `major`. `order` is the byte order of `bytes`.
pub(crate) fn reply(order: ByteOrder, bytes: &[u8], major: u8) -> Vec<u8> {
    let mut swap = Swap::new(bytes, 2);
    swap.numbers("24");
    swap.layout(layout("reply", major));
    match major {
        GET_PROPERTY => {
            swap.at = 32;
            swap.list_of(bytes.get(1).copied().unwrap_or(8));
        }
        QUERY_FONT | LIST_FONTS_WITH_INFO => {
            // Section "QueryFont": the count of FONTPROPs is at 46; characters follow them.
            let properties = order.u16(bytes, 46).unwrap_or(0);
            (0..properties).for_each(|_| swap.numbers("44"));
            if major == QUERY_FONT {
                swap.layout("(2)");
            }
        }
        LIST_HOSTS => {
            swap.at = 32;
            // A HOST: family, unused, the address's length, the address, padding.
            while let Some(len) = order.u16(bytes, swap.at.saturating_add(2)) {
                swap.numbers("112");
                swap.at += usize::from(len).next_multiple_of(4);
            }
        }
        _ => {}
    }
    swap.bytes
}

/// Converts an event of the core protocol.
pub(crate) fn event(bytes: &[u8]) -> Vec<u8> {
    let mut swap = Swap::new(bytes, 0);
    swap.event(0);
    swap.bytes
}

/// Converts a message of an extension. `kind` and `number` identify its layout in `extension_layouts.txt`. `None` if
/// there is no layout.
pub(crate) fn extension(
    bytes: &[u8],
    header_len: usize,
    extension: &str,
    kind: &'static str,
    number: u8,
) -> Option<Vec<u8>> {
    let layout = extension_layout(extension, kind, number)?;
    let mut swap = Swap::new(bytes, 2);
    swap.numbers(match kind {
        "reply" => "24",
        "generic" => "242",
        "request" if header_len == 8 => "24",
        _ => "2",
    });
    swap.layout(layout);
    Some(swap.bytes)
}

/// The layout of a message in the table `extension_layouts.txt`. `None` if it is not in the table.
fn extension_layout(extension: &str, kind: &'static str, number: u8) -> Option<&'static str> {
    static TABLE: OnceLock<HashMap<(&str, &str, u8), &str>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let lines = include_str!("extension_layouts.txt").lines();
        lines
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| {
                let (extension, line) = line.split_once(' ')?;
                let ((kind, number), layout) = layout_line(line)?;
                Some(((extension, kind, number), layout.trim_start_matches('-')))
            })
            .collect()
    });
    table.get(&(extension, kind, number)).copied()
}

/// The offset of the list at the end of a message, and the layout of an item: empty for bytes. `key` is the extension
/// (`-` for the core protocol), the kind and the number of the message, and `at` the offset of its layout. `None` if there
/// is no layout, or if a reply ends without a list.
pub(crate) fn last_list(
    (extension, kind, number): (&str, &'static str, u8),
    at: usize,
) -> Option<(usize, &'static str)> {
    let layout = match extension {
        "-" => layout(kind, number),
        extension => extension_layout(extension, kind, number)?,
    };
    if kind == "reply" && !layout.contains(['|', '(']) {
        return None;
    }
    let (once, repeated) = layout.split_once('(').unwrap_or((layout, ""));
    let end = once.bytes().fold(at, |at, sign| match sign {
        b'|' => 32,
        digit => at + usize::from(digit - b'0'),
    });
    Some((end, repeated.trim_end_matches(')')))
}

/// Converts the server's reply to a setup that it accepts. `order` is the byte order of `bytes`.
pub(crate) fn setup(order: ByteOrder, bytes: &[u8]) -> Vec<u8> {
    let count = |at| usize::from(bytes.get(at).copied().unwrap_or(0));
    let mut swap = Swap::new(bytes, 0);
    swap.layout(SETUP_FIXED);
    let vendor = usize::from(order.u16(bytes, 24).unwrap_or(0));
    let (screens, formats) = (count(28), count(29));
    swap.at = 40 + vendor.next_multiple_of(4) + formats * 8;
    for _ in 0..screens {
        let depths = count(swap.at + 39);
        swap.numbers(SETUP_SCREEN);
        for _ in 0..depths {
            let visuals = order.u16(bytes, swap.at + 2).unwrap_or(0);
            swap.numbers(SETUP_DEPTH);
            (0..visuals).for_each(|_| swap.numbers(SETUP_VISUAL));
        }
    }
    swap.bytes
}

/// The layout of a message in the table `layouts.txt`; empty for a message without numbers.
fn layout(kind: &'static str, number: u8) -> &'static str {
    static TABLE: OnceLock<HashMap<(&str, u8), &str>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let lines = include_str!("layouts.txt").lines();
        lines
            .filter(|line| !line.starts_with('#'))
            .filter_map(layout_line)
            .collect()
    });
    table.get(&(kind, number)).copied().unwrap_or_default()
}

fn layout_line(line: &'static str) -> Option<((&'static str, u8), &'static str)> {
    let mut words = line.split(' ');
    let (kind, number) = (words.next()?, words.next()?.parse().ok()?);
    Some(((kind, number), words.nth(1)?))
}

/// A message during conversion to the other byte order.
struct Swap {
    bytes: Vec<u8>,
    at: usize,
}

impl Swap {
    fn new(bytes: &[u8], at: usize) -> Swap {
        Swap {
            bytes: bytes.to_vec(),
            at,
        }
    }

    /// Swaps the numbers of a layout, including its repeated part.
    fn layout(&mut self, layout: &str) {
        let (once, repeated) = match layout.split_once('(') {
            Some((once, repeated)) => (once, repeated.trim_end_matches(')')),
            None => (layout, ""),
        };
        self.numbers(once);
        while !repeated.is_empty() && self.at < self.bytes.len() {
            self.numbers(repeated);
        }
    }

    fn numbers(&mut self, layout: &str) {
        for kind in layout.bytes() {
            let len = match kind {
                b'|' => {
                    self.at = 32;
                    continue;
                }
                digit => usize::from(digit - b'0'),
            };
            let end = self.at.saturating_add(len);
            if let Some(number) = self.bytes.get_mut(self.at..end) {
                number.reverse();
            }
            self.at = end;
        }
    }

    /// Swaps numbers of `bits` bits up to the end.
    fn list_of(&mut self, bits: u8) {
        match bits {
            16 => self.layout("(2)"),
            32 => self.layout("(4)"),
            _ => {}
        }
    }

    /// Swaps the numbers of the event at `at`.
    fn event(&mut self, at: usize) {
        let code = self.bytes.get(at).copied().unwrap_or(0) & 0x7F;
        self.at = at + 1;
        if code == KEYMAP_NOTIFY {
            return;
        }
        self.numbers("12");
        self.numbers(layout("event", code));
        if code == CLIENT_MESSAGE {
            // The format is the second byte.
            match self.bytes.get(at + 1) {
                Some(16) => self.numbers("2222222222"),
                Some(32) => self.numbers("44444"),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CLIENT_MESSAGE, event, extension, layout_line, reply, request};
    use crate::ByteOrder;

    #[test]
    fn every_layout_line_parses() {
        let lines = include_str!("layouts.txt").lines();
        for line in lines.filter(|line| !line.starts_with('#')) {
            let layout = layout_line(line).map(|(_, layout)| layout);
            let signs = |layout: &str| layout.chars().all(|sign| "124()|".contains(sign));
            assert!(layout.is_some_and(signs), "{line}");
        }
        let lines = include_str!("extension_layouts.txt").lines();
        for line in lines.filter(|line| !line.starts_with('#')) {
            let layout = line.split_once(' ').and_then(|(_, line)| layout_line(line));
            let signs = |layout: &str| layout.chars().all(|sign| "1248()-".contains(sign));
            assert!(layout.is_some_and(|(_, layout)| signs(layout)), "{line}");
        }
    }

    /// A message in both byte orders from numbers of 1, 2 or 4 bytes.
    fn both(fields: &[(u32, u8)]) -> (Vec<u8>, Vec<u8>) {
        let (mut little, mut big) = (Vec::new(), Vec::new());
        for (number, len) in fields {
            let len = usize::from(*len);
            little.extend(&number.to_le_bytes()[..len]);
            big.extend(&number.to_be_bytes()[4 - len..]);
        }
        (little, big)
    }

    fn native<'a>(little: &'a [u8], big: &'a [u8]) -> (ByteOrder, &'a [u8], &'a [u8]) {
        match ByteOrder::native() {
            ByteOrder::Little => (ByteOrder::Big, big, little),
            ByteOrder::Big => (ByteOrder::Little, little, big),
        }
    }

    #[test]
    fn rectangles_properties_and_sent_events_are_swapped() {
        let rectangles = both(&[
            (70, 1),
            (0, 1),
            (5, 2),
            (0x40_0001, 4),
            (0x40_0002, 4),
            (1, 2),
            (2, 2),
            (300, 2),
            (400, 2),
        ]);
        let property = both(&[
            (18, 1),
            (0, 1),
            (7, 2),
            (9, 4),
            (39, 4),
            (4, 4),
            (32, 1),
            (0, 1),
            (0, 2),
            (1, 4),
            (0x0102_0304, 4),
        ]);
        let sent = both(&[
            (25, 1),
            (0, 1),
            (11, 2),
            (9, 4),
            (0x8000, 4),
            (u32::from(CLIENT_MESSAGE), 1),
            (16, 1),
            (0, 2),
            (9, 4),
            (300, 4),
            (1, 2),
            (2, 2),
            (3, 2),
            (4, 2),
            (5, 2),
            (6, 2),
            (7, 2),
            (8, 2),
            (9, 2),
            (10, 2),
        ]);
        for (little, big) in [rectangles, property, sent] {
            let (_, foreign, own) = native(&little, &big);
            assert_eq!(request(foreign, 4), own);
        }
    }

    #[test]
    fn replies_and_events_are_swapped() {
        let geometry = both(&[
            (1, 1),
            (24, 1),
            (7, 2),
            (0, 4),
            (0x123, 4),
            (1, 2),
            (2, 2),
            (300, 2),
            (400, 2),
            (5, 2),
        ]);
        let (order, foreign, own) = native(&geometry.0, &geometry.1);
        assert_eq!(reply(order, foreign, 14), own);
        let expose = both(&[
            (12, 1),
            (0, 1),
            (7, 2),
            (0x40_0001, 4),
            (1, 2),
            (2, 2),
            (300, 2),
            (400, 2),
            (0, 2),
        ]);
        let (_, foreign, own) = native(&expose.0, &expose.1);
        assert_eq!(event(foreign), own);
    }

    #[test]
    fn messages_of_extensions() {
        // RENDER FillRectangles: the operator, the picture, a colour, a rectangle.
        let mut fields = vec![
            (139, 1),
            (26, 1),
            (7, 2),
            (3, 1),
            (0, 1),
            (0, 2),
            (0x40_0001, 4),
        ];
        fields.extend([1, 2, 3, 4, 5, 6, 300, 400].map(|number| (number, 2)));
        let (little, big) = both(&fields);
        let (_, foreign, own) = native(&little, &big);
        let turned = extension(foreign, 4, "RENDER", "request", 26);
        assert_eq!(turned.as_deref(), Some(own));
        // XI2's RawMotion has lists of lists.
        assert_eq!(
            extension(foreign, 4, "XInputExtension", "generic", 17),
            None
        );
        assert_eq!(extension(foreign, 4, "NONE", "request", 1), None);
    }

    #[test]
    fn setup_with_screen_depth_and_visual_is_swapped() {
        let mut fields = vec![(1, 1), (0, 1), (11, 2), (0, 2), (30, 2)];
        fields.extend([(12, 4), (0x20_0000, 4), (0x1F_FFFF, 4), (256, 4)]);
        // The vendor has 4 letters; one screen, one format.
        fields.extend([(4, 2), (65_535, 2), (1, 1), (1, 1), (0, 1), (0, 1)]);
        fields.extend([(32, 1), (32, 1), (8, 1), (255, 1), (0, 4)]);
        fields.extend([(b'T', 1), (b'e', 1), (b's', 1), (b't', 1)].map(|(n, l)| (u32::from(n), l)));
        fields.extend([(24, 1), (32, 1), (32, 1), (0, 1), (0, 4)]);
        fields.extend([(0x100, 4), (0x101, 4), (1, 4), (0, 4), (0, 4)]);
        fields.extend([
            (640, 2),
            (480, 2),
            (160, 2),
            (120, 2),
            (1, 2),
            (1, 2),
            (0x21, 4),
        ]);
        fields.extend([(0, 1), (0, 1), (24, 1), (1, 1)]);
        fields.extend([(24, 1), (0, 1), (1, 2), (0, 4)]);
        fields.extend([(0x21, 4), (4, 1), (8, 1), (256, 2)]);
        fields.extend([(0xFF_0000, 4), (0xFF00, 4), (0xFF, 4), (0, 4)]);
        let fields = both(&fields);
        let (order, foreign, own) = native(&fields.0, &fields.1);
        assert_eq!(super::setup(order, foreign), own);
    }

    #[test]
    fn short_messages_keep_their_length() {
        for len in 0..12 {
            let bytes = vec![70; len];
            assert_eq!(request(&bytes, 4).len(), len);
            assert_eq!(reply(ByteOrder::Big, &bytes, 47).len(), len);
            assert_eq!(event(&bytes).len(), len);
            assert_eq!(super::setup(ByteOrder::Big, &bytes).len(), len);
        }
    }
}
