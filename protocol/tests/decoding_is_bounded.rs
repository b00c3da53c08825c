//! Decoding uses no more memory than the length of the message justifies, whatever counts it contains.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use x11prof_protocol::{
    ByteOrder, Connection, Extension, Extensions, Input, Message, Side, Symbol,
};

/// The largest allocation that was requested.
static LARGEST: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, watched.
struct Watched;

// SAFETY: passes everything on to the system's allocator.
#[expect(unsafe_code, reason = "an allocator is unsafe by its trait")]
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's contract is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract is the same.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Watched = Watched;

/// The extensions that have names, from major opcode 128 on.
const EXTENSIONS: [&str; 31] = [
    "BIG-REQUESTS",
    "Composite",
    "DAMAGE",
    "DOUBLE-BUFFER",
    "DPMS",
    "DRI2",
    "DRI3",
    "Generic Event Extension",
    "GLX",
    "Present",
    "RANDR",
    "RECORD",
    "RENDER",
    "X-Resource",
    "MIT-SCREEN-SAVER",
    "SHAPE",
    "MIT-SHM",
    "SYNC",
    "XC-MISC",
    "XEVIE",
    "XFree86-DRI",
    "XFree86-VidModeExtension",
    "XFIXES",
    "XINERAMA",
    "XInputExtension",
    "XKEYBOARD",
    "XpExtension",
    "SELinux",
    "XTEST",
    "XVideo",
    "XVideo-MotionCompensation",
];

/// Bytes of the messages tried.
const LEN: usize = 256;
/// The widest elements and products of 16-bit counts can require this many bytes.
const BOUND: usize = 16 << 20;

fn extensions() -> Extensions {
    let mut extensions = Extensions::new();
    for (major, name) in (128..).zip(EXTENSIONS) {
        extensions.insert(Extension {
            name: Symbol::new(name),
            major,
            first_event: 0,
            first_error: 0,
        });
    }
    extensions
}

/// Fillings for a message: constants, and numbers of a xorshift generator that are often small.
fn fillings() -> Vec<Vec<u8>> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut fillings = vec![vec![0; LEN], vec![0xFF; LEN], vec![0x7F; LEN]];
    for round in 0..40_u32 {
        let small = |value: u64| match (value >> 32) as u32 % 100 {
            chance if chance < round * 2 => (value % 3) as u8,
            _ => value as u8,
        };
        fillings.push((0..LEN).map(|_| small(next())).collect());
        // Counts of four bytes, either 1 or huge.
        let counts = (0..LEN / 4).flat_map(|_| match next() % (2 + u64::from(round) / 8) {
            0 => [0xF0, 0xFF, 0xFF, 0xFF],
            _ => [1, 0, 0, 0],
        });
        fillings.push(counts.collect());
    }
    fillings
}

fn largest_of(what: &str, major: u8, minor: u8, decode: impl FnOnce()) {
    LARGEST.store(0, Ordering::Relaxed);
    decode();
    let largest = LARGEST.load(Ordering::Relaxed);
    assert!(largest <= BOUND, "{what} {major}.{minor}: {largest} bytes");
}

#[test]
fn decoding_any_counts_allocates_bounded_memory() {
    assert_eq!(
        ByteOrder::native(),
        ByteOrder::Little,
        "the bytes here are little-endian"
    );
    let mut extensions = extensions();
    let fillings = fillings();
    let mut connection = Connection::new();
    let setup = [b'l', 0, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    connection.feed(
        Side::Client,
        Input::Bytes(&setup),
        &mut extensions,
        |_, _| {},
    );
    let accepted = [1, 0, 11, 0, 0, 0, 0, 0];
    connection.feed(
        Side::Server,
        Input::Bytes(&accepted),
        &mut extensions,
        |_, _| {},
    );
    let majors = 1..128_u8 + EXTENSIONS.len() as u8;
    let opcodes = majors.flat_map(|major| {
        let minors = if major < 128 { 0..=3 } else { 0..=170 };
        minors.map(move |minor| (major, minor))
    });
    let (mut requests, mut replies) = (0, 0);
    for (major, minor) in opcodes {
        for filling in &fillings {
            let mut request = filling.clone();
            request[..4].copy_from_slice(&[major, minor, (LEN / 4) as u8, 0]);
            let mut has_reply = false;
            let input = Input::Bytes(&request);
            connection.feed(
                Side::Client,
                input,
                &mut extensions,
                |message, extensions| {
                    if let Message::Request(request) = message {
                        requests += 1;
                        has_reply = request.has_reply;
                        largest_of("request", major, minor, || {
                            let _ = request.decode(extensions);
                        });
                    }
                },
            );
            if !has_reply {
                continue;
            }
            let mut reply = filling.clone();
            let [low, high] = (connection.last_sequence().0 as u16).to_le_bytes();
            let units = ((LEN - 32) / 4) as u8;
            // The second byte marks the last of several replies: 0, or 5 for RECORD:EnableContext.
            let data = if (major, minor) == (139, 5) { 5 } else { 0 };
            reply[..8].copy_from_slice(&[1, data, low, high, units, 0, 0, 0]);
            let input = Input::Bytes(&reply);
            connection.feed(
                Side::Server,
                input,
                &mut extensions,
                |message, extensions| {
                    if let Message::Reply(reply) = message {
                        replies += 1;
                        assert_eq!(reply.opcode, Some((major, minor)));
                        largest_of("reply", major, minor, || {
                            let _ = reply.decode(extensions);
                        });
                    }
                },
            );
        }
    }
    assert!(
        requests > 100_000 && replies > 10_000,
        "{requests}, {replies}"
    );
}

#[test]
fn reply_with_excessive_client_count_is_rejected() {
    use x11rb_protocol::protocol::res::{QueryClientsReply, QueryClientsRequest};

    let parse = |count: u32| {
        let mut reply = [0; 40];
        (reply[0], reply[4]) = (1, 2);
        reply[8..12].copy_from_slice(&count.to_ne_bytes());
        let request = [150, 1, 0, 1];
        x11prof_protocol::parse_reply::<QueryClientsRequest, QueryClientsReply>(&request, &reply)
    };
    assert_eq!(parse(1).map(|reply| reply.clients.len()), Some(1));
    assert!(parse(u32::MAX).is_none());
}
