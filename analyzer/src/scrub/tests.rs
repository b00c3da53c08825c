//! Traces of synthetic messages, in both byte orders and cut at any byte.

use x11prof_protocol::ByteOrder;
use x11prof_trace::{
    Block, ConnectionId, Control, Direction, ExtensionOpcodes, Gap, Joined, Record, Timestamp,
};

use super::Scrubber;
use super::pending_records::shape;

/// The major opcodes of the synthetic server's extensions.
const UNKNOWN: u8 = 200;
const RENDER: u8 = 139;
const INPUT: u8 = 131;
const RANDR: u8 = 140;
const GLX: u8 = 150;
const KEYBOARD: u8 = 135;

/// A stream of messages in a byte order.
struct Wire {
    order: ByteOrder,
    bytes: Vec<u8>,
}

impl Wire {
    fn u16(&mut self, number: u16) -> &mut Wire {
        self.bytes.extend(match self.order {
            ByteOrder::Little => number.to_le_bytes(),
            ByteOrder::Big => number.to_be_bytes(),
        });
        self
    }

    fn u32(&mut self, number: u32) -> &mut Wire {
        self.bytes.extend(match self.order {
            ByteOrder::Little => number.to_le_bytes(),
            ByteOrder::Big => number.to_be_bytes(),
        });
        self
    }

    fn put(&mut self, bytes: &[u8]) -> &mut Wire {
        self.bytes.extend(bytes);
        self
    }

    /// A request of `body`, which `make` writes, padded.
    fn request(&mut self, major: u8, minor: u8, make: impl FnOnce(&mut Wire)) -> &mut Wire {
        let mut body = Wire {
            order: self.order,
            bytes: Vec::new(),
        };
        make(&mut body);
        body.bytes.resize(body.bytes.len().next_multiple_of(4), 0);
        self.put(&[major, minor])
            .u16(1 + body.bytes.len() as u16 / 4);
        self.put(&body.bytes)
    }
}

/// The setup and requests that contain the word `secret`, except for the glyphs at the end.
fn requests(order: ByteOrder) -> Vec<u8> {
    let bytes = Vec::new();
    let mut wire = Wire { order, bytes };
    let letter = if order == ByteOrder::Big { b'B' } else { b'l' };
    wire.put(&[letter, 0]).u16(11).u16(0).u16(0).u16(0).u16(0);
    // ChangeProperty of text, of numbers, of atoms.
    for (kind, format, value) in [
        (31, 8, b"a secret"),
        (6, 32, b"secrets!"),
        (4, 32, b"\0\0\0\x05\0\0\0\x07"),
    ] {
        wire.request(18, 0, |body| {
            let count = if format == 8 { 8 } else { 2 };
            body.u32(0x20_0001)
                .u32(39)
                .u32(kind)
                .put(&[format, 0, 0, 0]);
            body.u32(count).put(value);
        });
    }
    wire.request(16, 0, |body| {
        body.u16(6).u16(0).put(b"secret");
    });
    wire.request(16, 0, |body| {
        body.u16(7).u16(0).put(b"WM_NAME");
    });
    wire.request(45, 0, |body| {
        body.u32(0x20_0002).u16(6).u16(0).put(b"secret");
    });
    // PolyText8 with a font in between; ImageText16.
    wire.request(74, 0, |body| {
        body.u32(1).u32(2).u32(3).put(&[8, 0]).put(b"a secret");
        body.put(&[255, 0, 0x20, 0, 2, 6, 1]).put(b"secret");
    });
    wire.request(77, 6, |body| {
        body.u32(1).u32(2).u32(3).put(b"\0s\0e\0c\0r\0e\0t");
    });
    wire.request(UNKNOWN, 3, |body| {
        body.put(b"a secret of an extension");
    });
    // CreateMode, ClientInfo, GetKbdByName.
    wire.request(RANDR, 16, |body| {
        body.u32(0x50d).put(&[0; 32]).put(b"secret");
    });
    wire.request(GLX, 20, |body| {
        body.u32(1).u32(4).u32(6).put(b"secret");
    });
    wire.request(KEYBOARD, 23, |body| {
        body.put(&[0; 8]).put(&[6]).put(b"secret").put(&[0; 5]);
    });
    // RENDER CompositeGlyphs8: glyphs 1, 2 and 1 of a set.
    wire.request(RENDER, 23, |body| {
        body.put(&[3, 0, 0, 0])
            .u32(1)
            .u32(2)
            .u32(0)
            .u32(0x20_0009)
            .u32(0);
        body.put(&[3, 0, 0, 0]).u32(0).put(&[1, 2, 1]);
    });
    wire.bytes
}

/// The setup reply, and a key that is pressed and released, as core and as XI2 events.
fn events(order: ByteOrder) -> Vec<u8> {
    let bytes = Vec::new();
    let mut wire = Wire { order, bytes };
    wire.put(&[1, 0]).u16(11).u16(0).u16(0);
    for code in [2, 3] {
        wire.put(&[code, 38]).u16(1).u32(1000 + u32::from(code));
        wire.put(&[0; 20]).u16(0x0101).put(&[1, 0]);
    }
    for kind in [2_u16, 3] {
        wire.put(&[35, INPUT]).u16(1).u32(12).u16(kind).u16(2);
        wire.u32(2000 + u32::from(kind))
            .u32(39)
            .put(&[0; 36])
            .u32(0);
        wire.put(&[7; 20]);
    }
    wire.bytes
}

fn block(direction: Direction, offset: usize, bytes: &[u8], gaps: Vec<Gap>) -> Record {
    let left: u32 = gaps.iter().map(|gap| gap.len).sum();
    Record::Block(Block {
        time: Timestamp::from_nanos(1),
        connection: ConnectionId(1),
        direction,
        offset: offset as u64,
        wire_len: bytes.len() as u32 + left,
        fds: 0,
        gaps,
        bytes: bytes.to_vec().into(),
    })
}

fn extensions() -> Record {
    let extension = |name: &str, major| ExtensionOpcodes {
        name: name.to_owned(),
        major,
        first_event: if major == INPUT { 70 } else { 0 },
        first_error: 0,
    };
    let extensions = vec![
        extension("MY-OWN", UNKNOWN),
        extension("BIG-REQUESTS", 133),
        extension("RENDER", RENDER),
        extension("XInputExtension", INPUT),
        extension("RANDR", RANDR),
        extension("GLX", GLX),
        extension("XKEYBOARD", KEYBOARD),
    ];
    let time = Timestamp::from_nanos(0);
    Record::Control(time, Control::Extensions { extensions })
}

/// The scrubbed bytes of the records, by direction.
fn scrubbed(records: impl IntoIterator<Item = Record>) -> [Vec<u8>; 2] {
    let mut scrubber = Scrubber::new();
    let mut bytes = [Vec::new(), Vec::new()];
    let mut take = |scrubber: &mut Scrubber| {
        while let Some(record) = scrubber.next() {
            let Record::Block(block) = &record else {
                continue;
            };
            let way = usize::from(block.direction == Direction::ToClient);
            bytes[way].extend(
                shape(&record)
                    .into_iter()
                    .flat_map(Result::unwrap_or_default),
            );
        }
    };
    for record in records {
        scrubber.feed(record);
        take(&mut scrubber);
    }
    scrubber.finish();
    take(&mut scrubber);
    bytes
}

fn has(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|window| window == word)
}

#[test]
fn text_is_scrubbed_in_both_byte_orders_at_any_block_cut() {
    let (mut by_chance, mut times) = (0, 0);
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let (sent, answered) = (requests(order), events(order));
        for cut in 0..sent.len() {
            let [after, _] = scrubbed([
                extensions(),
                block(Direction::ToServer, 0, &sent[..cut], Vec::new()),
                block(Direction::ToServer, cut, &sent[cut..], Vec::new()),
                block(Direction::ToClient, 0, &answered, Vec::new()),
            ]);
            assert_eq!(after.len(), sent.len());
            times += 1;
            for word in [&b"secret"[..], b"extension"] {
                assert!(!has(&after, word), "{order:?}, cut at {cut}");
            }
            // Randomly, a few letters may match those of a word.
            let parts = [&b"cret"[..], b"\0s\0e\0c"];
            by_chance += usize::from(parts.iter().any(|part| has(&after, part)));
            assert!(has(&after, b"WM_NAME") && has(&after, b"\0\0\0\x05\0\0\0\x07"));
            // Spaces, the font between the items, and the positions of equal glyphs.
            assert!(has(&after, &[255, 0, 0x20, 0, 2, 6, 1]));
            let [.., a, b, c, 0] = after[..] else {
                panic!("the end is padding");
            };
            assert!(a == c && a != b);
        }
    }
    assert!(by_chance * 20 < times, "{by_chance} of {times}");
}

#[test]
fn text_is_scrubbed_in_a_recording_that_begins_in_the_middle() {
    let order = ByteOrder::Little;
    // The rest of an earlier message, then the requests without their setup.
    let [rest, sent] = [&b"a secret rest"[..], &requests(order)[12..]];
    let bytes = [rest, sent].concat();
    let joined = |last_request, under_way| {
        let joined = Joined {
            connection: ConnectionId(1),
            last_request,
            under_way: [under_way, 0],
            ..Joined::default()
        };
        Record::Control(Timestamp::from_nanos(1), Control::Joined(joined))
    };
    let [whole, _] = scrubbed([
        extensions(),
        block(Direction::ToServer, 0, &requests(order), Vec::new()),
    ]);
    for cut in [1, 12, 13, 20, bytes.len() - 3] {
        // The second time, a message is cut off before.
        let [after, _] = scrubbed([
            extensions(),
            joined(100, rest.len() as u64),
            block(Direction::ToServer, 5000, &bytes[..cut], Vec::new()),
            block(Direction::ToServer, 5000 + cut, &bytes[cut..], Vec::new()),
            block(
                Direction::ToServer,
                5000 + bytes.len(),
                &sent[..2],
                Vec::new(),
            ),
            joined(900, rest.len() as u64),
            block(Direction::ToServer, 90_000, &bytes, Vec::new()),
        ]);
        assert!(!has(&after, b"secret"), "cut at {cut}");
        let (first, second) = (&after[..bytes.len()], &after[after.len() - bytes.len()..]);
        for copy in [first, second] {
            assert!(copy[..rest.len()].iter().all(|byte| *byte == 0));
            // The first request, ChangeProperty, as in a whole recording except for its text.
            assert_eq!(copy[rest.len()..][..24], whole[12..][..24]);
        }
    }
}

#[test]
fn names_of_modes_are_scrubbed_in_replies() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let mut wire = Wire {
            order,
            bytes: requests(order)[..12].to_vec(),
        };
        wire.request(RANDR, 25, |body| {
            body.u32(0x50d);
        });
        // GetScreenResourcesCurrent: a mode with its name.
        let mut reply = Wire {
            order,
            bytes: events(order)[..8].to_vec(),
        };
        reply.put(&[1, 0]).u16(1).u32(10).u32(1).u32(1);
        reply.u16(0).u16(0).u16(1).u16(6).put(&[0; 8]);
        reply.put(&[7; 32]).put(b"secret\0\0");
        let [_, after] = scrubbed([
            extensions(),
            block(Direction::ToServer, 0, &wire.bytes, Vec::new()),
            block(Direction::ToClient, 0, &reply.bytes, Vec::new()),
        ]);
        assert!(
            has(&after, &[7; 32]) && !has(&after, b"secret"),
            "{after:?}"
        );
    }
}

#[test]
fn scrubbed_presses_match_releases_and_hide_the_key() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let [_, after] = scrubbed([
            extensions(),
            block(Direction::ToServer, 0, &requests(order), Vec::new()),
            block(Direction::ToClient, 0, &events(order), Vec::new()),
        ]);
        let core = &after[8..];
        assert_eq!(core[1], core[33]);
        // The first button is kept, Shift is removed.
        assert_eq!(order.u16(core, 28), Some(0x0100));
        let device = &core[64..];
        let key = |at| order.u32(device, at);
        assert_eq!(key(16), key(80 + 16));
        assert_ne!(key(16), Some(u32::from(core[1])));
        assert_eq!(device[60..80], [0; 20]);
    }
}

#[test]
fn pointer_events_keep_buttons_and_lose_modifiers() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let bytes = Vec::new();
        let mut wire = Wire { order, bytes };
        wire.put(&[1, 0]).u16(11).u16(0).u16(0);
        // Core events from ButtonPress to LeaveNotify.
        for code in 4..9 {
            wire.put(&[code, 1]).u16(1).put(&[7; 24]).u16(0x0101);
            wire.put(&[1, 0]);
        }
        // XI2's Motion, Enter, GesturePinchBegin and GestureSwipeEnd, with lists of no elements.
        let extended = [(6_u16, 60, 80), (7, 52, 72), (27, 76, 100), (32, 68, 92)];
        for (kind, _, len) in extended {
            wire.put(&[35, INPUT]).u16(1).u32((len - 32) / 4);
            wire.u16(kind).u16(2).put(&[7; 36]).put(&[0; 4]);
            wire.put(&[7; 48][..len as usize - 52]);
        }
        // XI1's DeviceValuator has them at its start.
        wire.put(&[70, 2]).u16(1).u16(0x1405).put(&[7; 26]);
        let [_, after] = scrubbed([
            extensions(),
            block(Direction::ToServer, 0, &requests(order)[..12], Vec::new()),
            block(Direction::ToClient, 0, &wire.bytes, Vec::new()),
        ]);
        for event in after[8..][..5 * 32].chunks(32) {
            assert_eq!(order.u16(event, 28), Some(0x0100));
        }
        let mut rest = &after[8 + 5 * 32..];
        for (kind, from, len) in extended {
            let (event, behind) = rest.split_at(len as usize);
            rest = behind;
            // The decoder reads lists only in this machine's byte order, so without them nothing is kept.
            let is_decoded = kind != 6 || order == ByteOrder::native();
            let is_kept = |at| !(48..52).contains(&at) && !(from..from + 20).contains(&at);
            let expected = (12..len).map(|at| if is_decoded && is_kept(at) { 7 } else { 0 });
            assert_eq!(
                event[12..],
                expected.collect::<Vec<u8>>(),
                "{order:?} {from}"
            );
        }
        let valuator = &after[after.len() - 32..];
        assert_eq!(order.u16(valuator, 4), Some(0x1400));
        assert_eq!(valuator[6..], [7; 26]);
    }
}

#[test]
fn unused_bytes_of_errors_become_zeros() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let mut wire = Wire {
            order,
            bytes: events(order)[..8].to_vec(),
        };
        // BadWindow of GetGeometry, in memory that had an event before.
        wire.put(&[0, 3]).u16(1).u32(0x20_0001).u16(0).put(&[14]);
        let head = wire.bytes.clone();
        wire.put(b"secret of an event by!");
        wire.bytes.truncate(8 + 32);
        let [_, after] = scrubbed([
            extensions(),
            block(Direction::ToServer, 0, &requests(order), Vec::new()),
            block(Direction::ToClient, 0, &wire.bytes, Vec::new()),
        ]);
        assert_eq!(after, [&head[..], &[0; 21]].concat());
    }
}

#[test]
fn gaps_are_kept_and_undecoded_bytes_become_zeros() {
    let order = ByteOrder::Little;
    let setup = &requests(order)[..12];
    let mut wire = Wire {
        order,
        bytes: setup.to_vec(),
    };
    // PutImage of which 40 bytes are kept and 60 are removed.
    wire.put(&[72, 2])
        .u16(25)
        .put(&[1; 20])
        .put(b"a secret picture");
    let gap = Gap {
        at: 12 + 40,
        len: 60,
    };
    let [after, _] = scrubbed([
        block(Direction::ToServer, 0, &wire.bytes, vec![gap]),
        block(Direction::ToServer, 112, &[127, 0, 1, 0], Vec::new()),
        // The bytes before these are missing.
        block(Direction::ToServer, 500, b"a secret", Vec::new()),
    ]);
    assert_eq!(after.len(), 12 + 40 + 4 + 8);
    // The last two bytes before the picture are unused.
    assert_eq!(after[12..34], wire.bytes[12..34]);
    assert_eq!(after[34..36], [0, 0]);
    assert!(!has(&after, b"secret"));
    assert_eq!(after[52..], *b"\x7F\0\x01\0\0\0\0\0\0\0\0\0");
}

#[test]
fn unknown_generic_events_of_a_known_extension_become_zeros() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let bytes = Vec::new();
        let mut wire = Wire { order, bytes };
        wire.put(&[1, 0]).u16(11).u16(0).u16(0);
        wire.put(&[35, INPUT]).u16(1).u32(1).u16(999);
        let expected = [&wire.bytes[..], &[0; 26]].concat();
        wire.put(b"a secret of an unknown one");
        let [_, after] = scrubbed([
            extensions(),
            block(Direction::ToServer, 0, &requests(order)[..12], Vec::new()),
            block(Direction::ToClient, 0, &wire.bytes, Vec::new()),
        ]);
        assert_eq!(after, expected, "{order:?}");
    }
}

#[test]
fn bytes_after_a_length_of_zero_without_big_requests_become_zeros() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let bytes = requests(order)[..12].to_vec();
        let mut wire = Wire { order, bytes };
        wire.request(45, 0, |body| {
            body.u32(1).u16(4).u16(0).put(b"6x13");
        });
        // PolyText8 of a client that did not enable BIG-REQUESTS. Each word could begin a request.
        let (kept, cut) = (wire.bytes.clone(), wire.bytes.len() + 2);
        wire.put(&[74, 0]).u16(0).u32(7).u32(1).u32(2).u32(3);
        wire.put(&[8, 0]).put(b"a secret").put(&[0, 0]);
        wire.request(14, b's', |body| {
            body.put(b"secr");
        });
        wire.put(b"secret");
        let len = wire.bytes.len();
        let cuts = [kept.len(), cut, cut + 10, len];
        let mut records = vec![extensions()];
        let mut from = 0;
        for to in cuts {
            let bytes = &wire.bytes[from..to];
            records.push(block(Direction::ToServer, from, bytes, Vec::new()));
            from = to;
        }
        let [after, _] = scrubbed(records);
        let expected = [kept, vec![0; len - cuts[0]]].concat();
        assert_eq!(after, expected, "{order:?}");
    }
}

#[test]
fn random_input_does_not_panic_or_change_lengths() {
    for seed in 1..=300_u64 {
        // Numbers that are the same in each run of the test (Marsaglia's xorshift).
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut random = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) % below
        };
        let order = match random(2) {
            0 => ByteOrder::Little,
            _ => ByteOrder::Big,
        };
        let mut records = vec![extensions()];
        let mut ways = [requests(order)[..12].to_vec(), events(order)[..8].to_vec()];
        for _ in 0..40 {
            let direction = match random(2) {
                0 => Direction::ToServer,
                _ => Direction::ToClient,
            };
            let bytes = &mut ways[usize::from(direction == Direction::ToClient)];
            for _ in 0..random(4) {
                let len = 1 + random(12);
                let mut wire = Wire {
                    order,
                    bytes: Vec::new(),
                };
                let code = [RENDER, INPUT, UNKNOWN, random(128) as u8][random(4) as usize];
                wire.put(&[code, random(30) as u8]).u16(len as u16);
                wire.bytes.extend((4..4 * len).map(|_| random(256) as u8));
                if direction == Direction::ToClient {
                    wire.bytes[0] = random(36) as u8;
                    wire.bytes.resize(32, 1);
                    wire.bytes[4..8].fill(0);
                }
                bytes.append(&mut wire.bytes);
            }
            let offset = random(50).saturating_sub(48);
            let mut gaps = Vec::new();
            if random(8) == 0 && !bytes.is_empty() {
                let at = random(bytes.len() as u64) as u32;
                gaps.push(Gap {
                    at,
                    len: 1 + random(9) as u32,
                });
            }
            let before: usize = records
                .iter()
                .filter_map(|record| match record {
                    Record::Block(block) if block.direction == direction => {
                        Some(block.wire_len as usize)
                    }
                    _ => None,
                })
                .sum();
            let cut = random(bytes.len() as u64 + 1) as usize;
            gaps.retain(|gap: &Gap| gap.at as usize <= cut);
            let rest = bytes.split_off(cut);
            records.push(block(direction, before + offset as usize, bytes, gaps));
            *bytes = rest;
        }
        let lengths = |records: &[Record]| -> Vec<Option<u32>> {
            let of = |record: &Record| match record {
                Record::Block(block) => Some(block.wire_len),
                _ => None,
            };
            records.iter().map(of).collect()
        };
        let mut scrubber = Scrubber::new();
        let mut after = Vec::new();
        for record in records.clone() {
            scrubber.feed(record);
            after.extend(std::iter::from_fn(|| scrubber.next()));
        }
        scrubber.finish();
        after.extend(std::iter::from_fn(|| scrubber.next()));
        assert_eq!(lengths(&after), lengths(&records), "seed {seed}");
        for record in &after {
            let parts = shape(record).into_iter();
            let len: u64 = parts
                .map(|part| part.map_or_else(|left| left, |kept| kept.len() as u64))
                .sum();
            let expected = lengths(std::slice::from_ref(record))[0].map_or(0, u64::from);
            assert_eq!(len, expected, "seed {seed}");
        }
    }
}
