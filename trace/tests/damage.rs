//! Files that are cut off, damaged, foreign, or of a later version.

#![expect(clippy::unwrap_used, reason = "tests")]

mod common;

use std::collections::BTreeMap;
use std::io;

use common::{at, read, records, started, trace, with_started};
use mcap::records::MessageHeader;
use x11prof_trace::{
    AwaitedReply, Control, EmulatedNetwork, Joined, Link, Reader, Record, RoundTrip, TraceError,
    Writer, recover,
};

/// The length of MCAP's magic bytes, at which the file ends.
const MAGIC_LEN: usize = 8;

#[test]
fn truncated_file_yields_its_complete_chunks() {
    let file = trace(&records());
    let all = with_started(&records());
    let mut most = 0;
    for len in 0..file.len() {
        let (found, end) = read(&file[..len]);
        assert!(all.starts_with(&found), "cut off at {len}");
        assert!(
            found.len() >= most,
            "cut off at {len}: fewer records than before"
        );
        most = found.len();
        match end {
            Ok(complete) => {
                assert!(!found.is_empty());
                assert_eq!(complete, len >= file.len() - MAGIC_LEN, "cut off at {len}");
            }
            Err(TraceError::Empty) => assert_eq!(len, 0),
            Err(TraceError::NoRecords) => assert!(most == 0),
            Err(error) => panic!("cut off at {len}: {error}"),
        }
    }
    assert_eq!(most, all.len());
}

#[test]
fn flipped_byte_never_yields_wrong_records() {
    let file = trace(&records());
    let all = with_started(&records());
    for at in 0..file.len() {
        for change in [0x01, 0x80, 0xff, file[at]] {
            let mut file = file.clone();
            file[at] ^= change;
            if change == 0 {
                continue;
            }
            let (found, end) = read(&file);
            assert!(all.starts_with(&found), "byte {at} changed by {change:#x}");
            let in_end_magic = at >= file.len() - MAGIC_LEN;
            match end {
                Ok(complete) => {
                    // Only the end magic is under no checksum.
                    assert!(
                        in_end_magic,
                        "byte {at} changed by {change:#x} is not noticed"
                    );
                    assert!(complete && found.len() == all.len());
                }
                Err(_) => assert!(!in_end_magic),
            }
        }
    }
}

#[test]
fn flipped_byte_in_truncated_file_never_yields_wrong_records() {
    let file = trace(&records());
    let all = with_started(&records());
    let file = &file[..file.len() / 2];
    for at in 0..file.len() {
        let mut file = file.to_vec();
        file[at] ^= 0x81;
        let (found, _) = read(&file);
        assert!(all.starts_with(&found), "byte {at} changed");
    }
}

#[test]
fn missing_chunk_is_an_error() {
    // Each flush makes a chunk; each begins with MCAP's opcode 6 and its length.
    let mut writer = Writer::new(Vec::new(), started(), at(5)).unwrap();
    let mark = Record::Control(at(9), Control::Ended { exit_status: None });
    for _ in 0..3 {
        writer.write(&mark).unwrap();
        writer.flush().unwrap();
    }
    let file = writer.finish().unwrap();
    let mut chunks = Vec::new();
    let mut pos = MAGIC_LEN;
    while pos + 9 <= file.len() - MAGIC_LEN {
        let len = u64::from_le_bytes(file[pos + 1..pos + 9].try_into().unwrap()) as usize;
        if file[pos] == mcap::records::op::CHUNK {
            chunks.push(pos..pos + 9 + len);
        }
        pos += 9 + len;
    }
    assert_eq!(chunks.len(), 4);
    let mut holed = file[..chunks[2].start].to_vec();
    holed.extend_from_slice(&file[chunks[3].clone()]);
    let (found, end) = read(&holed);
    assert_eq!(found.len(), 2);
    let error = end.unwrap_err().to_string();
    assert!(error.contains("missing"), "{error}");
}

#[test]
fn foreign_file_gives_a_one_line_error() {
    let foreign = mcap_file("ros2", &[]);
    let no_messages = mcap_file("x11prof", &[]);
    let cases: [(&[u8], &str); 7] = [
        (b"", "the file is empty, not an x11prof trace"),
        (
            b"\x89MC",
            "nothing was recorded: the trace is cut off before its first record",
        ),
        (b"#!/", "not an x11prof trace (x11prof record makes one)"),
        (
            b"#!/bin/sh\necho a script that is longer than a magic\n",
            "not an x11prof trace (x11prof record makes one)",
        ),
        (
            &foreign,
            "an MCAP file, but not an x11prof trace: its profile is \"ros2\"",
        ),
        (&no_messages, "there is no record in it"),
        (
            &mcap_file("x11prof", &[("control", br#"{"kind":"mark","text":""}"#)]),
            "its first record is not the one that every trace starts with",
        ),
    ];
    for (file, message) in cases {
        let error = Reader::new(file).err().unwrap().to_string();
        assert!(error.contains(message), "{error:?} for {message:?}");
        assert!(!error.contains('\n'));
        assert!(recover(file, io::sink()).is_err());
    }
}

#[test]
fn newer_format_version_is_rejected() {
    let later = br#"{"kind":"started","format":2,"all":"else","has":"changed"}"#;
    let error = Reader::new(&mcap_file("x11prof", &[("control", later)])[..])
        .err()
        .unwrap();
    assert!(matches!(error, TraceError::NewerFormat { found: 2 }));
    assert!(error.to_string().contains("version 2"), "{error}");
}

/// Messages as a later x11prof might write them.
fn grown() -> Vec<u8> {
    mcap_file(
        "x11prof",
        &[
            (
                "control",
                br#"{"kind":"started","format":1,"recorder":"x11prof 9","wall_clock_ns":3,"mood":"fair"}"#,
            ),
            ("thoughts", b"\x01\x02"),
            ("control", br#"{"kind":"weather","sky":{"blue":true}}"#),
            ("control", br#"{"kind":"mark","text":"m","by":"me"}"#),
            ("thoughts", b"\x03"),
        ],
    )
}

#[test]
fn unknown_channels_kinds_and_fields_are_skipped() {
    let (found, end) = read(&grown());
    assert!(end.unwrap());
    assert_eq!(found.len(), 2);
    let Record::Control(_, Control::Started(started)) = &found[0] else {
        panic!("{:?}", found[0]);
    };
    assert_eq!(started.recorder, "x11prof 9");
    let mark = Control::Mark {
        text: "m".to_owned(),
    };
    assert_eq!(found[1], Record::Control(at(3), mark));
}

#[test]
fn inconsistent_blocks_and_controls_are_damage() {
    let started = serde_json::to_vec(&Control::Started(started())).unwrap();
    let mut block = [0; 22];
    block[12] = 5;
    for (topic, data) in [
        ("to-server", &block[..]),
        ("to-client", &block[..21]),
        ("control", b"{\"kind\":\"mark\""),
        ("control", b"{\"kind\":\"mark\"}"),
        ("control", b"\xff"),
        ("schedule", &[0; 19]),
    ] {
        let file = mcap_file("x11prof", &[("control", &started), (topic, data)]);
        let (found, end) = read(&file);
        assert_eq!(found.len(), 1);
        assert!(matches!(end, Err(TraceError::Damaged { .. })), "{topic}");
        // The recovered trace can be read to its end.
        let mut out = Vec::new();
        let recovery = recover(&file[..], &mut out).unwrap();
        assert!(
            recovery.damage.is_some() && !recovery.complete_before,
            "{topic}"
        );
        assert!(read(&out).1.unwrap(), "{topic}");
    }
}

#[test]
fn recover_completes_a_truncated_trace() {
    let file = trace(&records());
    let cut = &file[..file.len() * 2 / 3];
    let (before, end) = read(cut);
    assert!(!end.unwrap());

    let mut out = Vec::new();
    let recovery = recover(cut, &mut out).unwrap();
    assert_eq!(recovery.records, before.len() as u64);
    assert!(!recovery.complete_before);
    assert_eq!(recovery.damage, None);
    let (after, end) = read(&out);
    assert!(end.unwrap());
    let (trouble, copied) = after.split_last().unwrap();
    assert_eq!(copied, before);
    let Record::Control(_, Control::Trouble { what }) = trouble else {
        panic!("{trouble:?}");
    };
    assert!(what.contains("cut off"), "{what}");
}

#[test]
fn bytes_after_the_end_are_damage() {
    let file = trace(&records());
    for after in [&b"\0"[..], &file, &[0; 100]] {
        let (found, end) = read(&[&file, after].concat());
        assert_eq!(found, with_started(&records()));
        assert!(matches!(end, Err(TraceError::Damaged { .. })), "{end:?}");
    }
}

#[test]
fn recover_keeps_records_before_the_damage() {
    let mut file = trace(&records());
    let middle = file.len() / 2;
    file[middle] ^= 0xff;
    let (before, end) = read(&file);
    assert!(matches!(end, Err(TraceError::Damaged { .. })));

    let mut out = Vec::new();
    let recovery = recover(&file[..], &mut out).unwrap();
    assert_eq!(recovery.records, before.len() as u64);
    assert!(recovery.damage.is_some() && !recovery.complete_before);
    let (after, end) = read(&out);
    assert!(end.unwrap());
    assert_eq!(after.len(), before.len() + 1);
}

#[test]
fn recover_keeps_a_complete_trace_unchanged() {
    let file = trace(&records());
    let mut out = Vec::new();
    let recovery = recover(&file[..], &mut out).unwrap();
    assert!(recovery.complete_before);
    assert_eq!(read(&out).0, read(&file).0);
}

#[test]
fn recover_keeps_unknown_records() {
    let mut out = Vec::new();
    let recovery = recover(&grown()[..], &mut out).unwrap();
    assert_eq!(recovery.records, 5);
    let messages = |file: &[u8]| -> Vec<(String, Vec<u8>)> {
        mcap::MessageStream::new(file)
            .unwrap()
            .map(|message| {
                let message = message.unwrap();
                (message.channel.topic.clone(), message.data.into_owned())
            })
            .collect()
    };
    assert_eq!(messages(&out), messages(&grown()));
}

#[test]
fn uncompressed_chunks_are_rejected() {
    // In such a chunk, a reader would continue into the file for a record longer than its chunk.
    let mut file = io::Cursor::new(Vec::new());
    let options = mcap::WriteOptions::new().calculate_chunk_crcs(false);
    let writer = options.profile("x11prof").compression(None);
    let mut writer = writer.create(&mut file).unwrap();
    writer
        .add_channel(0, "control", "json", &BTreeMap::new())
        .unwrap();
    writer.finish().unwrap();
    drop(writer);
    let error = Reader::new(&file.get_ref()[..]).err().unwrap();
    assert!(error.to_string().contains("compression"), "{error}");
}

/// An MCAP file of messages, whose times are their numbers.
fn mcap_file(profile: &str, messages: &[(&str, &[u8])]) -> Vec<u8> {
    let mut file = io::Cursor::new(Vec::new());
    let mut writer = mcap::WriteOptions::new()
        .profile(profile)
        .create(&mut file)
        .unwrap();
    for ((topic, data), sequence) in messages.iter().zip(0..) {
        let channel_id = writer.add_channel(0, topic, "", &BTreeMap::new()).unwrap();
        let time = u64::from(sequence);
        let header = MessageHeader {
            channel_id,
            sequence,
            log_time: time,
            publish_time: time,
        };
        writer.write_to_known_channel(&header, data).unwrap();
    }
    writer.finish().unwrap();
    drop(writer);
    file.into_inner()
}

fn opened(connection: u32, name: &str) -> Record {
    let opened = x11prof_trace::Opened {
        connection: x11prof_trace::ConnectionId(connection),
        transport: "unix".to_owned(),
        pid: None,
        name: Some(name.to_owned()),
        command: Vec::new(),
        started_ns: None,
    };
    Record::Control(at(2), Control::Opened(opened))
}

#[test]
fn control_records_are_bounded_by_file_size() {
    let long = "a".repeat(1_000_000);
    let bomb: Vec<Record> = (1..=30).map(|client| opened(client, &long)).collect();
    let file = without_padding(&trace(&bomb));
    assert!(file.len() < 100_000, "{} bytes", file.len());
    let (found, end) = read(&file);
    let end = end.unwrap_err().to_string();
    assert!(end.contains("more than any file of its length"), "{end}");
    let most = (4 << 20) + 64 * file.len();
    // The first record is `started`.
    assert!(
        (found.len() - 1) * long.len() <= most,
        "{} records",
        found.len()
    );
    // The writer makes the file long enough.
    assert!(matches!(read(&trace(&bomb)), (found, Ok(true)) if found.len() == 31));
    // The records read so far can be recovered, and the copy is complete.
    let mut copy = Vec::new();
    let recovery = recover(&file[..], &mut copy).unwrap();
    assert!(recovery.damage.is_some());
    assert!(matches!(read(&copy).1, Ok(true)));
}

#[test]
fn oversized_control_record_is_rejected() {
    let begun = serde_json::to_vec(&Control::Started(started())).unwrap();
    let Record::Control(time, long) = opened(1, &"a".repeat(2 << 20)) else {
        unreachable!()
    };
    let json = serde_json::to_vec(&long).unwrap();
    let (found, end) = read(&mcap_file(
        "x11prof",
        &[("control", &begun), ("control", &json)],
    ));
    assert_eq!(found.len(), 1);
    let mut writer = Writer::new(Vec::new(), started(), at(1)).unwrap();
    let written = writer.write_control(time, &long);
    assert!(matches!(written, Err(TraceError::Unwritable { .. })));
    let end = end.unwrap_err().to_string();
    assert!(end.contains("longer than any may be"), "{end}");
}

#[test]
fn ten_thousand_realistic_stacks_are_accepted() {
    // The addresses of frames differ, as in a real program.
    let mut seed = 1_u64;
    let mut frame = |_| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        x11prof_trace::StackFrame {
            file: format!("/usr/lib/x86_64-linux-gnu/libgtk-{}.so.0", seed >> 62),
            address: (seed >> 40) & 0xf_ffff,
            function: None,
        }
    };
    let stacks: Vec<Record> = (0..10_000)
        .map(|stack| {
            let frames = (0..40).map(&mut frame).collect();
            let whole = true;
            Record::Control(
                at(2),
                Control::Stack {
                    stack,
                    frames,
                    whole,
                },
            )
        })
        .collect();
    let (found, end) = read(&trace(&stacks));
    assert_eq!(found.len(), 10_001, "{end:?}");
}

/// The chunks of a file alone: a file that is too short for them.
fn without_padding(file: &[u8]) -> Vec<u8> {
    let (mut short, mut rest) = (file[..MAGIC_LEN].to_vec(), &file[MAGIC_LEN..]);
    while let Some((head, _)) = rest.split_first_chunk::<9>() {
        let len = u64::from_le_bytes(head[1..].try_into().unwrap()) as usize;
        let Some((record, after)) = rest.split_at_checked(9 + len) else {
            break;
        };
        if head[0] < 0x80 {
            short.extend_from_slice(record);
        }
        rest = after;
    }
    short
}

/// A trace of some kilobytes could hold messages for minutes of analysis.
#[test]
fn messages_are_in_proportion_to_the_file() {
    let mut writer = Writer::new(Vec::new(), started(), at(1)).unwrap();
    let block = x11prof_trace::Block {
        time: at(2),
        connection: x11prof_trace::ConnectionId(1),
        direction: x11prof_trace::Direction::ToServer,
        offset: 0,
        wire_len: 1 << 16,
        fds: 0,
        gaps: Vec::new(),
        bytes: vec![127; 1 << 16].into(),
    };
    for _ in 0..1 << 10 {
        writer.write(&Record::Block(block.clone())).unwrap();
    }
    let file = writer.finish().unwrap();
    assert!((3 << 20..5 << 20).contains(&file.len()), "{}", file.len());
    let (found, end) = read(&file);
    assert_eq!((found.len(), end.unwrap()), (1025, true));

    let short = without_padding(&file);
    let (found, end) = read(&short);
    let error = end.unwrap_err().to_string();
    assert!(
        error.contains("more than any file of its length"),
        "{error}"
    );
    assert!((300..400).contains(&found.len()), "{}", found.len());
}

/// Numbers in control records that no recording has.
#[test]
fn impossible_numbers_are_rejected() {
    let network = EmulatedNetwork {
        bytes_per_second: Some(1e3),
        ..EmulatedNetwork::default()
    };
    let link = Control::Link;
    let joined = |last_request| {
        Control::Joined(Joined {
            last_request,
            ..Joined::default()
        })
    };
    let connection = x11prof_trace::ConnectionId(1);
    let far = u64::MAX;
    let impossible = [
        Control::Network(EmulatedNetwork {
            bytes_per_second: Some(0.0),
            ..network.clone()
        }),
        Control::Network(EmulatedNetwork {
            round_trip_ns: far,
            ..network.clone()
        }),
        Control::Network(EmulatedNetwork {
            jitter_ns: far,
            ..network.clone()
        }),
        Control::Network(EmulatedNetwork {
            loss: 1e308,
            ..network.clone()
        }),
        Control::Network(EmulatedNetwork {
            loss: -5.0,
            ..network.clone()
        }),
        link(Link {
            round_trips_ns: vec![5, far],
            ..Link::default()
        }),
        link(Link {
            setup_ns: Some(far),
            ..Link::default()
        }),
        link(Link {
            paced: vec![RoundTrip {
                sent_ns: 1,
                came_ns: far,
            }],
            ..Link::default()
        }),
        joined(far),
        Control::Joined(Joined {
            awaited: vec![AwaitedReply {
                request: far,
                ..AwaitedReply::default()
            }],
            ..Joined::default()
        }),
        Control::Told { until_ns: far },
        Control::Hole {
            since_ns: far,
            why: String::new(),
        },
        Control::WaitStack {
            connection,
            at_ns: far,
            stack: 0,
            took_ns: 0,
        },
        Control::Tried {
            fix: String::new(),
            requests: Some(far),
        },
    ];
    for control in impossible {
        let (found, end) = read(&trace(&[Record::Control(at(2), control.clone())]));
        assert_eq!(found.len(), 1, "{control:?}");
        let end = end.unwrap_err().to_string();
        assert!(end.contains("beyond those of any recording"), "{end}");
    }
    let possible = [
        Control::Network(EmulatedNetwork {
            loss: 1.0,
            round_trip_ns: 1 << 44,
            ..network
        }),
        joined(1 << 44),
        Control::Told { until_ns: 0 },
    ];
    let possible = possible.map(|control| Record::Control(at(2), control));
    assert_eq!(read(&trace(&possible)).0.len(), 4);
}

/// Records that readers skip take time as well.
#[test]
fn skipped_records_are_in_proportion_to_the_file() {
    let mut file = io::Cursor::new(Vec::new());
    let options = mcap::WriteOptions::new().profile("x11prof");
    let mut writer = options.create(&mut file).unwrap();
    let in_chunks = mcap::write::PrivateRecordOptions::IncludeInChunks;
    let channel_id = writer
        .add_channel(0, "control", "json", &BTreeMap::new())
        .unwrap();
    let header = MessageHeader {
        channel_id,
        sequence: 0,
        log_time: 1,
        publish_time: 1,
    };
    let first = serde_json::to_vec(&Control::Started(started())).unwrap();
    writer.write_to_known_channel(&header, &first).unwrap();
    for _ in 0..100_000 {
        writer
            .write_private_record(0x80, &[0; 300], in_chunks.into())
            .unwrap();
    }
    writer.finish().unwrap();
    drop(writer);
    let (_, end) = read(file.get_ref());
    let error = end.unwrap_err().to_string();
    assert!(
        error.contains("more than any file of its length"),
        "{error}"
    );
}
