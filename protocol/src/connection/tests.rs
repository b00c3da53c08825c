use super::{Connection, Input};
use crate::{Extension, Extensions, Message, Side, Symbol};

mod joining;
mod splitting;

const SETUP: [u8; 12] = [b'l', 0, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const ACCEPTED: [u8; 8] = [1, 0, 11, 0, 0, 0, 0, 0];
const GET_INPUT_FOCUS: [u8; 4] = [43, 0, 1, 0];
const NO_OPERATION: [u8; 4] = [127, 0, 1, 0];

/// A connection, its extensions, and its output as text.
struct Desk {
    connection: Connection,
    extensions: Extensions,
    said: Vec<String>,
}

impl Desk {
    fn new() -> Desk {
        Desk {
            connection: Connection::new(),
            extensions: Extensions::new(),
            said: Vec::new(),
        }
    }

    /// A desk after a little-endian setup.
    fn open() -> Desk {
        let mut desk = Desk::new();
        desk.client(&SETUP);
        desk.server(&ACCEPTED);
        desk.said.clear();
        desk
    }

    fn with(mut self, name: &str, major: u8, first_event: u8, first_error: u8) -> Desk {
        self.extensions.insert(Extension {
            name: Symbol::new(name),
            major,
            first_event,
            first_error,
        });
        self
    }

    fn input(&mut self, side: Side, input: Input<'_>) {
        let said = &mut self.said;
        self.connection
            .feed(side, input, &mut self.extensions, |message, _| {
                said.push(words(&message));
            });
    }

    fn client(&mut self, bytes: &[u8]) {
        self.input(Side::Client, Input::Bytes(bytes));
    }

    fn server(&mut self, bytes: &[u8]) {
        self.input(Side::Server, Input::Bytes(bytes));
    }
}

fn words(message: &Message<'_>) -> String {
    match message {
        Message::ClientSetup(m) => format!(
            "{:?} setup {}.{} {} {}/{}",
            m.order,
            m.version.0,
            m.version.1,
            String::from_utf8_lossy(m.authorization),
            m.bytes.len(),
            m.wire_len
        ),
        Message::ServerSetup(m) => format!("{:?} {}/{}", m.status, m.bytes.len(), m.wire_len),
        Message::Request(m) => format!(
            "{} {} {}/{}{}",
            m.sequence,
            m.name,
            m.bytes.len(),
            m.wire_len,
            if m.has_reply { " ?" } else { "" }
        ),
        Message::Reply(m) => format!(
            "{} -> {} {}/{}{}",
            m.sequence,
            m.request.map_or("nothing", Symbol::as_str),
            m.bytes.len(),
            m.wire_len,
            if m.last { "" } else { " more" }
        ),
        Message::Event(m) => format!(
            "{:?} {}{} {}/{}",
            m.sequence.map(|sequence| sequence.0),
            m.name,
            if m.sent { " sent" } else { "" },
            m.bytes.len(),
            m.wire_len
        ),
        Message::Error(m) => format!("{} {} {} {:#x}", m.sequence, m.name, m.request, m.bad_value),
        Message::Malformed(m) => format!("{}: {}/{}", m.why, m.bytes.len(), m.wire_len),
    }
}

/// A message of a server: its first 8 bytes, then zeros up to `len`.
fn answer(start: [u8; 8], len: usize) -> Vec<u8> {
    let mut bytes = start.to_vec();
    bytes.resize(len, 0);
    bytes
}

/// A reply of 32 bytes.
fn reply(low: u16, data: u8) -> Vec<u8> {
    let [a, b] = low.to_le_bytes();
    answer([1, data, a, b, 0, 0, 0, 0], 32)
}

#[test]
fn setup_with_authorization_is_parsed() {
    let mut desk = Desk::new();
    let mut setup = vec![b'B', 0, 0, 11, 0, 0, 0, 18, 0, 16, 0, 0];
    setup.extend(b"MIT-MAGIC-COOKIE-1\0\0");
    setup.extend([0; 16]);
    desk.client(&setup);
    desk.server(&[0, 2, 0, 11, 0, 0, 0, 1, b'n', b'o', 0, 0]);
    assert_eq!(
        desk.said,
        ["Big setup 11.0 MIT-MAGIC-COOKIE-1 48/48", "Failed 12/12"]
    );
}

#[test]
fn requests_are_numbered_from_one() {
    let mut desk = Desk::open();
    // PolyFillRectangle of one rectangle: drawable, gc, rectangle.
    let mut fill = vec![70, 0, 5, 0, 1, 0, 0x40, 0, 2, 0, 0x40, 0];
    fill.extend([10, 0, 20, 0, 30, 0, 40, 0]);
    desk.client(&[&fill[..], &GET_INPUT_FOCUS].concat());
    assert_eq!(
        desk.said,
        ["1 PolyFillRectangle 20/20", "2 GetInputFocus 4/4 ?"]
    );
    assert_eq!(desk.connection.last_sequence().0, 2);
    assert_eq!(desk.connection.awaiting_reply(), 1);
}

#[test]
fn big_endian_client_is_framed_and_paired() {
    let mut desk = Desk::new();
    desk.client(&[b'B', 0, 0, 11, 0, 0, 0, 0, 0, 0, 0, 0]);
    desk.server(&[1, 0, 0, 11, 0, 0, 0, 0]);
    // GetProperty, then its reply: format 8, length 1 unit, type 31, no bytes after, 4 of value.
    let mut get = vec![20, 0, 0, 6];
    get.resize(24, 0);
    desk.client(&get);
    let mut bytes = answer([1, 8, 0, 1, 0, 0, 0, 1], 36);
    bytes[32..].copy_from_slice(b"name");
    desk.server(&bytes);
    assert_eq!(
        desk.said[2..],
        ["1 GetProperty 24/24 ?", "1 -> GetProperty 36/36"]
    );
}

#[test]
fn omitted_body_counts_toward_the_length() {
    let mut desk = Desk::open();
    // PutImage by BIG-REQUESTS: 8 bytes of header, 20 of fields, 65536 of image.
    let units = (28_u32 + 65536) / 4;
    let mut put = vec![72, 2, 0, 0];
    put.extend(units.to_le_bytes());
    put.resize(28, 0);
    desk.client(&put);
    desk.input(Side::Client, Input::Omitted(60000));
    assert!(desk.said.is_empty());
    // Bytes after a gap in the same message are not part of its prefix.
    desk.client(&[1; 536]);
    desk.input(Side::Client, Input::Omitted(5000));
    desk.client(&NO_OPERATION);
    assert_eq!(desk.said, ["1 PutImage 28/65564", "2 NoOperation 4/4"]);
}

#[test]
fn kept_prefix_of_a_long_message_is_bounded() {
    let mut desk = Desk::open();
    let units = (3_u32 << 20) / 4;
    let mut long = vec![72, 2, 0, 0];
    long.extend(units.to_le_bytes());
    long.resize(3 << 20, 7);
    for part in long.chunks(50_000) {
        desk.client(part);
    }
    assert_eq!(desk.said, ["1 PutImage 1048576/3145728"]);
}

#[test]
fn invalid_big_length_is_malformed_and_framing_resumes() {
    let mut desk = Desk::open();
    desk.client(&[72, 0, 0, 0, 1, 0, 0, 0]);
    desk.client(&NO_OPERATION);
    assert_eq!(desk.said.len(), 2);
    assert!(desk.said[0].ends_with(": 8/8"), "{}", desk.said[0]);
    assert_eq!(desk.said[1], "1 NoOperation 4/4");
}

#[test]
fn zero_length_without_big_requests_is_a_bare_header() {
    let mut desk = Desk::new().with("BIG-REQUESTS", 133, 0, 0);
    desk.client(&SETUP);
    desk.server(&ACCEPTED);
    desk.said.clear();
    let big = [&[127, 0, 0, 0, 3, 0, 0, 0][..], &[9; 4]].concat();
    desk.client(&[127, 0, 0, 0]);
    // The same bytes before and after Enable; all arrive in one read.
    desk.client(&[&[127, 0, 0, 0][..], &GET_INPUT_FOCUS, &[133, 0, 1, 0], &big].concat());
    desk.server(&answer([0, 16, 2, 0, 0, 0, 0, 0], 32));
    assert_eq!(
        desk.said,
        [
            "a request's length is 0 without BIG-REQUESTS enabled: 4/4",
            "a request's length is 0 without BIG-REQUESTS enabled: 4/4",
            "3 GetInputFocus 4/4 ?",
            "4 BIG-REQUESTS:Enable 4/4 ?",
            "5 NoOperation 12/12",
            "2 BadLength Unknown:0 0x0",
        ]
    );
}

#[test]
fn list_fonts_with_info_replies_end_with_the_empty_name() {
    let mut desk = Desk::open();
    desk.client(&[50, 0, 2, 0, 10, 0, 0, 0]);
    desk.client(&GET_INPUT_FOCUS);
    desk.server(&answer([1, 5, 1, 0, 9, 0, 0, 0], 68));
    desk.server(&answer([1, 7, 1, 0, 9, 0, 0, 0], 68));
    desk.server(&answer([1, 0, 1, 0, 7, 0, 0, 0], 60));
    desk.server(&reply(2, 0));
    assert_eq!(
        desk.said[2..],
        [
            "1 -> ListFontsWithInfo 68/68 more",
            "1 -> ListFontsWithInfo 68/68 more",
            "1 -> ListFontsWithInfo 60/60",
            "2 -> GetInputFocus 32/32"
        ]
    );
    assert_eq!(desk.connection.awaiting_reply(), 0);
}

#[test]
fn record_replies_continue_until_end_of_data() {
    let mut desk = Desk::open().with("RECORD", 146, 0, 153);
    desk.client(&[146, 5, 2, 0, 1, 0, 0, 0]);
    for category in [4, 0, 5] {
        desk.server(&reply(1, category));
    }
    assert_eq!(
        desk.said[1..],
        [
            "1 -> RECORD:EnableContext 32/32 more",
            "1 -> RECORD:EnableContext 32/32 more",
            "1 -> RECORD:EnableContext 32/32"
        ]
    );
}

#[test]
fn error_ends_the_wait_for_a_reply() {
    let mut desk = Desk::open();
    desk.client(&[3, 0, 2, 0, 9, 0, 0x40, 0]); // GetWindowAttributes
    desk.client(&[8, 0, 2, 0, 9, 0, 0x40, 0]); // MapWindow
    let mut bad_window = answer([0, 3, 1, 0, 9, 0, 0x40, 0], 32);
    bad_window[10] = 3;
    desk.server(&bad_window);
    bad_window[2] = 2;
    bad_window[10] = 8;
    desk.server(&bad_window);
    desk.server(&reply(1, 0));
    assert_eq!(
        desk.said[2..],
        [
            "1 BadWindow GetWindowAttributes 0x400009",
            "2 BadWindow MapWindow 0x400009",
            "1 -> nothing 32/32"
        ]
    );
    assert_eq!(desk.connection.awaiting_reply(), 0);
}

#[test]
fn an_error_after_many_requests_without_a_reply_is_the_newest_ones() {
    let mut desk = Desk::open();
    desk.client(&[8, 0, 2, 0, 1, 0, 0, 0].repeat(70_000));
    let mut error = vec![0, 3];
    error.extend((70_000_u32 as u16).to_le_bytes());
    error.resize(32, 0);
    error[10] = 8;
    desk.server(&error);
    let last = desk.said.last().map(String::as_str);
    assert_eq!(last, Some("70000 BadWindow MapWindow 0x0"));
    // With a reply between them the error can only be an earlier one's.
    desk.client(&GET_INPUT_FOCUS);
    desk.client(&[8, 0, 2, 0, 1, 0, 0, 0].repeat(65_536));
    error[2..4].copy_from_slice(&(70_001_u32 as u16).to_le_bytes());
    desk.server(&error);
    let last = desk.said.last().map(String::as_str);
    assert_eq!(last, Some("70001 BadWindow MapWindow 0x0"));
}

#[test]
fn events_have_a_sequence_number_except_keymap_notify() {
    let mut desk = Desk::open().with("XKEYBOARD", 135, 85, 137);
    desk.client(&NO_OPERATION);
    desk.server(&answer([12, 0, 1, 0, 0, 0, 0, 0], 32));
    desk.server(&answer([0x80 | 33, 32, 1, 0, 0, 0, 0, 0], 32));
    desk.server(&answer([11, 0xAA, 0xBB, 0xCC, 0, 0, 0, 0], 32));
    desk.server(&answer([85, 2, 1, 0, 0, 0, 0, 0], 32));
    assert_eq!(
        desk.said[1..],
        [
            "Some(1) Expose 32/32",
            "Some(1) ClientMessage sent 32/32",
            "None KeymapNotify 32/32",
            "Some(1) XKEYBOARD:StateNotify 32/32"
        ]
    );
}

#[test]
fn generic_event_is_named_by_extension_and_type() {
    let mut desk = Desk::open()
        .with("Present", 149, 0, 0)
        .with("XInputExtension", 131, 66, 129);
    let mut complete = answer([35, 149, 0, 0, 2, 0, 0, 0], 40);
    complete[8] = 1;
    desk.server(&complete);
    let mut motion = answer([35, 131, 0, 0, 0, 0, 0, 0], 32);
    motion[8] = 6;
    desk.server(&motion);
    assert_eq!(
        desk.said,
        [
            "Some(0) Present:CompleteNotify 40/40",
            "Some(0) XInputExtension:Motion 32/32"
        ]
    );
}

#[test]
fn query_extension_registers_opcodes() {
    let mut desk = Desk::open();
    desk.client(&[139, 8, 1, 0]);
    let mut query = vec![98, 0, 4, 0, 6, 0, 0, 0];
    query.extend(b"RENDER\0\0");
    desk.client(&query);
    let mut present = reply(2, 0);
    present[8..12].copy_from_slice(&[1, 139, 0, 142]);
    desk.server(&present);
    desk.client(&[139, 8, 1, 0]);
    desk.client(&[139, 99, 1, 0]);
    let mut bad_picture = answer([0, 143, 3, 0, 0, 0, 0, 0], 32);
    bad_picture[8..11].copy_from_slice(&[8, 0, 139]);
    desk.server(&bad_picture);
    assert_eq!(
        desk.said,
        [
            "1 Unknown:139.8 4/4",
            "2 QueryExtension 16/16 ?",
            "2 -> QueryExtension 32/32",
            "3 RENDER:Composite 4/4",
            "4 RENDER:99 4/4",
            "3 RENDER:BadPicture RENDER:Composite 0x0"
        ]
    );
}

#[test]
fn replies_are_paired_across_sequence_number_wrap() {
    let mut desk = Desk::open();
    for _ in 0..70_000 {
        desk.client(&NO_OPERATION);
    }
    desk.client(&GET_INPUT_FOCUS);
    desk.said.clear();
    // The server replied to none of more than 65536 requests; only one of them waits for a reply.
    desk.server(&reply((70_001 - 65_536) as u16, 0));
    desk.client(&GET_INPUT_FOCUS);
    desk.server(&answer([12, 0, 0x72, 0x11, 0, 0, 0, 0], 32));
    assert_eq!(
        desk.said,
        [
            "70001 -> GetInputFocus 32/32",
            "70002 GetInputFocus 4/4 ?",
            "Some(70002) Expose 32/32"
        ]
    );
}

#[test]
fn later_reply_ends_the_wait_of_earlier_requests() {
    let mut desk = Desk::open();
    desk.client(&[GET_INPUT_FOCUS, GET_INPUT_FOCUS].concat());
    desk.server(&reply(2, 0));
    assert_eq!(desk.said[2..], ["2 -> GetInputFocus 32/32"]);
    assert_eq!(desk.connection.awaiting_reply(), 0);
}

#[test]
fn pending_requests_are_bounded() {
    let mut desk = Desk::open();
    let many = GET_INPUT_FOCUS.repeat(70_000);
    desk.client(&many);
    assert_eq!(desk.connection.awaiting_reply(), 1 << 16);
    assert_eq!(desk.connection.last_sequence().0, 70_000);
}

#[test]
fn reply_to_an_unknown_request_is_paired() {
    let mut desk = Desk::open().with("NV-GLX", 150, 0, 0);
    desk.client(&[150, 4, 1, 0, 150, 5, 1, 0, 43, 0, 1, 0]);
    // It is unknown whether the requests have replies, so none of them waits for one.
    assert_eq!(desk.connection.awaiting_reply(), 1);
    let answer = |low| {
        let mut bytes = vec![1, 0, low, 0];
        bytes.resize(32, 0);
        bytes
    };
    desk.server(&answer(2));
    desk.server(&answer(3));
    assert_eq!(
        desk.said[3..],
        ["2 -> NV-GLX:5 32/32", "3 -> GetInputFocus 32/32"]
    );
}
