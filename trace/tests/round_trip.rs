//! The reader returns the records that the writer wrote.

#![expect(clippy::unwrap_used, reason = "tests")]

mod common;

use common::{at, block, read, records, started, trace, with_started};
use x11prof_trace::{
    BlockHead, ConnectionId, Control, Direction, FORMAT, Gap, Joined, Part, Reader, Record,
    Started, Switch, SwitchKind, TraceError, Writer, cut,
};

#[test]
fn every_kind_of_record_round_trips() {
    let (found, end) = read(&trace(&records()));
    assert_eq!(found, with_started(&records()));
    assert!(end.unwrap());
}

#[test]
fn writer_sets_the_format_version() {
    let other = Started {
        format: 77,
        ..started()
    };
    let file = Writer::new(Vec::new(), other, at(5))
        .unwrap()
        .finish()
        .unwrap();
    assert_eq!(Reader::new(&file[..]).unwrap().started().format, FORMAT);
}

#[test]
fn block_written_from_borrowed_parts_round_trips() {
    let head = BlockHead {
        time: at(9),
        connection: ConnectionId(3),
        direction: Direction::ToClient,
        offset: 44,
        fds: 1,
    };
    let gaps = [Gap { at: 2, len: 3 }];
    let mut writer = Writer::new(Vec::new(), started(), at(5)).unwrap();
    writer.write_block(&head, cut(b"abXXXcd", &gaps)).unwrap();
    writer
        .write_block(&head, [Part::Kept(b"ab"), Part::Left(3), Part::Kept(b"cd")])
        .unwrap();
    let (found, _) = read(&writer.finish().unwrap());
    let Record::Block(block) = &found[1] else {
        panic!("{:?} is no block", found[1]);
    };
    assert_eq!(found[1], found[2]);
    assert_eq!((block.head(), block.wire_len), (head, 7));
    assert_eq!(
        block.parts().collect::<Vec<_>>(),
        [Part::Kept(b"ab"), Part::Left(3), Part::Kept(b"cd")]
    );
}

#[test]
fn blocks_keep_their_order_across_chunks() {
    let mut writer = Writer::new(Vec::new(), started(), at(5)).unwrap();
    let mut noise = 1_u32;
    let bytes: Vec<u8> = (0..100_000)
        .map(|_| {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (noise >> 24) as u8
        })
        .collect();
    let mut head = block(Direction::ToServer, 0).head();
    for _ in 0..40 {
        writer.write_block(&head, [Part::Kept(&bytes)]).unwrap();
        head.offset += bytes.len() as u64;
    }
    let (found, end) = read(&writer.finish().unwrap());
    assert!(end.unwrap());
    let mut offset = 0;
    for record in &found[1..] {
        let Record::Block(block) = record else {
            panic!("{record:?} is no block");
        };
        assert_eq!(block.offset, offset);
        assert!(block.bytes == bytes);
        offset += u64::from(block.wire_len);
    }
    assert_eq!(offset, head.offset);
}

#[test]
fn long_and_empty_switch_batches_round_trip() {
    let switches: Vec<Switch> = (0..100_000)
        .map(|n| Switch {
            time: at(n),
            pid: 1,
            tid: 2,
            cpu: 3,
            kind: SwitchKind::In,
        })
        .collect();
    let file = trace(&[Record::Schedule(switches.clone()), Record::Schedule(vec![])]);
    let (found, _) = read(&file);
    let joined: Vec<Switch> = found
        .into_iter()
        .filter_map(|record| match record {
            Record::Schedule(switches) => Some(switches),
            _ => None,
        })
        .flatten()
        .collect();
    assert!(joined == switches);
}

#[test]
fn unwritable_records_are_rejected_and_writing_continues() {
    let mut writer = Writer::new(Vec::new(), started(), at(5)).unwrap();
    let mut contradicting = block(Direction::ToServer, 0);
    contradicting.wire_len += 1;
    let long = vec![0; 17 << 20];
    let head = contradicting.head();
    let results = [
        writer.write(&Record::Block(contradicting)),
        writer.write_block(&head, [Part::Kept(&long)]),
    ];
    for result in results {
        assert!(matches!(result, Err(TraceError::Unwritable { .. })));
    }
    let mark = Record::Control(
        at(9),
        Control::Mark {
            text: "on".to_owned(),
        },
    );
    writer.write(&mark).unwrap();
    let (found, end) = read(&writer.finish().unwrap());
    assert_eq!(found, with_started(&[mark]));
    assert!(end.unwrap());
}

#[test]
fn failing_sink_is_an_error() {
    let mut full = [0_u8; 900];
    let mut writer = Writer::new(&mut full[..], started(), at(5)).unwrap();
    let result = (0..100).try_for_each(|_| {
        writer.write(&Record::Block(block(Direction::ToServer, 0)))?;
        writer.flush()
    });
    let error = result.unwrap_err();
    assert!(matches!(error, TraceError::Write(_)), "{error}");
    assert!(writer.finish().is_err());
}

#[test]
fn joined_record_needs_few_fields() {
    let text = r#"{"kind":"joined","connection":3,"byte_order":"big","last_request":70000}"#;
    let read: Control = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
    let Control::Joined(Joined { last_request, .. }) = read else {
        panic!("{read:?}");
    };
    assert_eq!(last_request, 70_000);
}
