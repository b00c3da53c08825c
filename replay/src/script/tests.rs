//! Tests the conversion of recordings to scripts.

use x11prof_protocol::IdKind;
use x11prof_trace::{ConnectionId, Control, Opened, Reader, Record, Started, Timestamp, Writer};

use super::*;

/// A recording of xset with 44 requests.
fn xset() -> Vec<u8> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/xset.mcap");
    std::fs::read(file).unwrap()
}

fn script(trace: &[u8]) -> Result<Script, ReplayError> {
    Script::read(&mut Reader::new(trace)?, false)
}

/// A trace with these records. The first one may be `started`.
fn written(records: &[Record]) -> Vec<u8> {
    let started = Started {
        format: 0,
        recorder: "test".to_owned(),
        wall_clock_ns: 0,
        command: Vec::new(),
        cpu_model: String::new(),
        cpus: 1,
        kernel: String::new(),
        full: false,
    };
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file, started, Timestamp::from_nanos(1)).unwrap();
    let begun = |record: &&Record| !matches!(record, Record::Control(_, Control::Started(_)));
    for record in records.iter().filter(begun) {
        writer.write(record).unwrap();
    }
    writer.finish().unwrap();
    file
}

fn batches(script: &Script) -> Vec<&Batch> {
    let steps = script.steps.iter();
    let batches = steps.filter_map(|step| match &step.action {
        Action::Send(batch) => Some(&**batch),
        _ => None,
    });
    batches.collect()
}

#[test]
fn batches_follow_the_replies_they_depend_on() {
    let script = script(&xset()).unwrap();
    assert_eq!(script.clients.len(), 1);
    assert_eq!(script.clients[0].ids, (0x20_0000, 0x1F_FFFF));
    let all = batches(&script);
    assert_eq!(all.iter().map(|batch| batch.requests).sum::<u64>(), 44);
    assert!(matches!(script.steps[0].action, Action::Open(0)));
    let last = script.steps.last().unwrap();
    assert!(matches!(last.action, Action::Close(0)));
    // QueryExtension; BIG-REQUESTS:Enable with the display's opcode, once the opcode is known.
    assert_eq!((all[0].first, all[0].after_reply), (1, 0));
    assert_eq!((all[1].first, all[1].after_reply), (2, 1));
    assert_eq!(all[1].patches, [(0, Patch::Major)]);
    // CreateGC, with two resources; then GetProperty, with a window and two atoms.
    assert_eq!((all[2].requests, all[2].after_reply), (2, 2));
    let kinds = [IdKind::Resource, IdKind::Atom].map(Patch::Id);
    let [resource, atom] = kinds;
    let expected = [
        (4, resource),
        (8, resource),
        (24, resource),
        (28, atom),
        (32, atom),
    ];
    assert_eq!(all[2].patches, expected);
    assert_eq!(all[2].asked.len(), 1);
    assert_eq!((all[2].asked[0].sequence, all[2].asked[0].at), (4, 20));
    assert!(script.atoms.values().any(|name| name == b"Caps Lock"));
    assert_eq!(script.left_out().count(), 0);
}

fn records() -> Vec<Record> {
    let trace = xset();
    let mut reader = Reader::new(&trace[..]).unwrap();
    let mut records = Vec::new();
    while let Some(record) = reader.next().unwrap() {
        records.push(record);
    }
    records
}

#[test]
fn extensions_keep_the_names_that_decided() {
    let mut records = records();
    let first = script(&written(&records)).unwrap();
    let used = *first.extensions.by_name("BIG-REQUESTS").unwrap();
    let renamed = |name: &str| {
        let renamed = x11prof_trace::ExtensionOpcodes {
            name: name.to_owned(),
            major: used.major,
            first_event: 0,
            first_error: 0,
        };
        let extensions = vec![renamed];
        Record::Control(Timestamp::from_nanos(1), Control::Extensions { extensions })
    };
    records.push(renamed("RECORD"));
    let last = script(&written(&records)).unwrap();
    assert_eq!(last.extensions.by_major(used.major), Some(&used));
}

#[test]
fn corrupt_traces_never_panic() {
    let records = records();
    let is_block = |at: &usize| matches!(records[*at], Record::Block(_));
    let blocks: Vec<usize> = (0..records.len()).filter(is_block).collect();
    for (n, at) in blocks.iter().cycle().take(1000).enumerate() {
        let mut changed = records.clone();
        if let Record::Block(block) = &mut changed[*at] {
            let mut bytes = block.bytes.to_vec();
            let place = n * 7919 % bytes.len().max(1);
            if let Some(byte) = bytes.get_mut(place) {
                *byte ^= 1 << (n % 8);
            }
            block.bytes = bytes.into();
        }
        let _ = script(&written(&changed));
    }
}

#[test]
fn attached_and_clientless_traces_are_rejected() {
    let of = |control| {
        script(&written(&[Record::Control(
            Timestamp::from_nanos(1),
            control,
        )]))
    };
    assert!(matches!(of(Control::Attached {}), Err(ReplayError::Middle)));
    let nobody = Control::Opened(Opened {
        connection: ConnectionId(1),
        transport: "unix".to_owned(),
        pid: None,
        name: None,
        command: Vec::new(),
        started_ns: None,
    });
    assert!(matches!(of(nobody), Err(ReplayError::NoClient)));
}
