use super::*;

const PUT_IMAGE: u8 = 72;
const GET_IMAGE: u8 = 73;

fn new() -> Omission {
    Omission::new(ImageRequests::default())
}

/// A client setup without authorization, in little endian, which the tests' numbers use.
const SETUP: [u8; 12] = [b'l', 0, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0];
/// The shortest valid success reply, 8 bytes long.
const ACCEPTED: [u8; 8] = [1, 0, 11, 0, 0, 0, 0, 0];

fn request(opcode: u8, len: usize) -> Vec<u8> {
    let mut bytes = vec![opcode, 0];
    bytes.extend(u16::try_from(len / 4).unwrap().to_le_bytes());
    bytes.resize(len, 0xAA);
    bytes
}

fn reply(sequence: u16, len: usize) -> Vec<u8> {
    let mut bytes = vec![1, 24];
    bytes.extend(sequence.to_le_bytes());
    bytes.extend(u32::try_from((len - 32) / 4).unwrap().to_le_bytes());
    bytes.resize(len, 0xBB);
    bytes
}

/// The gaps of a stream that arrives in reads of `step` bytes, as offsets in the stream.
fn gaps(
    omission: &mut Omission,
    direction: Direction,
    stream: &[u8],
    step: usize,
    level: Level,
) -> Vec<Gap> {
    let (mut all, mut some) = (Vec::new(), Vec::new());
    for (n, read) in stream.chunks(step).enumerate() {
        omission.gaps(direction, read, &(0..0), level, &mut some);
        for gap in &some {
            push(
                &mut all,
                u64::from(gap.at) + (n * step) as u64,
                gap.len.into(),
            );
        }
    }
    all
}

#[test]
fn only_long_put_images_lose_their_bodies() {
    let stream = [
        SETUP.to_vec(),
        request(PUT_IMAGE, 4096),
        request(65, 8000),
        request(PUT_IMAGE, 4100),
        request(127, 4),
        request(PUT_IMAGE, 9000),
    ]
    .concat();
    let first = 12 + 4096 + 8000;
    let expected = [(first + 24, 4100 - 24), (first + 4100 + 4 + 24, 9000 - 24)]
        .map(|(at, len)| Gap { at, len });
    for step in [1, 3, 63, 64, 65, 1000, stream.len()] {
        let gaps = |level| gaps(&mut new(), Direction::ToServer, &stream, step, level);
        assert_eq!(gaps(Level::Images), expected);
        assert_eq!(gaps(Level::Secrets), []);
    }
}

#[test]
fn only_long_get_image_replies_lose_their_bodies() {
    let requests = [
        SETUP.to_vec(),
        request(20, 24),
        request(GET_IMAGE, 20),
        request(GET_IMAGE, 20),
    ]
    .concat();
    let answers = [
        ACCEPTED.to_vec(),
        reply(1, 8000),
        reply(2, 8000),
        reply(3, 4096),
    ]
    .concat();
    let expected = [Gap {
        at: 8 + 8000 + 64,
        len: 8000 - 64,
    }];
    for step in [1, 5, 33, 4096, answers.len()] {
        let mut omission = new();
        let mut gaps = |direction, stream: &[u8], step| {
            gaps(&mut omission, direction, stream, step, Level::Images)
        };
        assert_eq!(gaps(Direction::ToServer, &requests, 7), []);
        assert_eq!(gaps(Direction::ToClient, &answers, step), expected);
    }
}

#[test]
fn pressure_omits_long_bodies_then_all_bodies() {
    let stream = [
        SETUP.to_vec(),
        request(65, 8000),
        request(70, 400),
        request(127, 64),
        request(70, 68),
    ]
    .concat();
    for step in [1, 63, 100, 9000] {
        let mut omission = new();
        let long = gaps(
            &mut omission,
            Direction::ToServer,
            &stream,
            step,
            Level::LongBodies,
        );
        let expected = [(12 + 64, 8000 - 64)].map(|(at, len)| Gap { at, len });
        assert_eq!(long, expected, "{step}");
        let all = gaps(
            &mut new(),
            Direction::ToServer,
            &stream,
            step,
            Level::Bodies,
        );
        let expected = [
            (12 + 64, 8000 - 64),
            (8012 + 64, 400 - 64),
            (8012 + 464 + 64, 4),
        ]
        .map(|(at, len)| Gap { at, len });
        assert_eq!(all, expected, "{step}");
    }
}

#[test]
fn all_images_level_omits_short_image_bodies() {
    let stream = [SETUP.to_vec(), request(PUT_IMAGE, 424), request(70, 5000)].concat();
    for step in [1, 25, 6000] {
        let found = gaps(
            &mut new(),
            Direction::ToServer,
            &stream,
            step,
            Level::AllImages,
        );
        assert_eq!(
            found,
            [Gap {
                at: 12 + 24,
                len: 400
            }]
        );
    }
}

#[test]
fn started_gap_continues_after_pressure_ends() {
    let (mut omission, mut found) = (new(), Vec::new());
    let stream = [SETUP.to_vec(), request(65, 8000), request(65, 8000)].concat();
    let mut next = |bytes: &[u8], level| {
        let pressed = omission.gaps(Direction::ToServer, bytes, &(0..0), level, &mut found);
        (found.clone(), pressed)
    };
    assert_eq!(next(&stream[..1012], Level::Images), (vec![], false));
    let rest = vec![Gap { at: 0, len: 1000 }];
    assert_eq!(next(&stream[1012..2012], Level::LongBodies), (rest, true));
    let rest = vec![Gap { at: 0, len: 6000 }];
    assert_eq!(next(&stream[2012..], Level::Images), (rest, false));
}

#[test]
fn setup_cookie_is_omitted_even_from_a_full_trace() {
    let mut setup = SETUP.to_vec();
    setup[6] = 4;
    setup[8] = 16;
    setup.extend(b"NAME");
    setup.extend([7; 16]);
    setup.extend(request(PUT_IMAGE, 5000));
    for (level, expected) in [(Level::Secrets, 1), (Level::Images, 2)] {
        let (mut omission, mut found) = (new(), Vec::new());
        omission.gaps(Direction::ToServer, &setup, &(16..32), level, &mut found);
        assert_eq!(found[0], Gap { at: 16, len: 16 });
        assert_eq!(found.len(), expected);
    }
}

#[test]
fn generated_cookies_are_never_recorded() {
    let extensions = [x11prof_trace::ExtensionOpcodes {
        name: "SECURITY".to_owned(),
        major: 137,
        first_event: 86,
        first_error: 138,
    }];
    let mut generate = request(137, 32);
    generate[1] = 1;
    let to_server = [SETUP.to_vec(), request(43, 4), generate, request(43, 4)].concat();
    let to_client = [ACCEPTED.to_vec(), reply(1, 32), reply(2, 48), reply(3, 32)].concat();
    // The reply's header stays. It shows that there was a reply, and the reply's length.
    let secret = [Gap {
        at: 8 + 32 + 32,
        len: 16,
    }];
    for step in [1, 7, 33, to_client.len()] {
        for level in [Level::Secrets, Level::Images, Level::LongBodies] {
            let mut omission = Omission::new(ImageRequests::of(&extensions));
            let requests = gaps(&mut omission, Direction::ToServer, &to_server, step, level);
            assert_eq!(requests, []);
            let answers = gaps(&mut omission, Direction::ToClient, &to_client, step, level);
            assert_eq!(answers, secret, "in reads of {step} at {level:?}");
        }
    }
}
