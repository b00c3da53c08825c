//! Tests the conversion of recordings to scripts.

use x11prof_protocol::IdKind;
use x11prof_trace::{
    Block, ConnectionId, Control, Direction, Gap, Opened, Reader, Record, Started, Timestamp,
    Writer,
};

use super::*;

/// A recording of xset with 44 requests.
fn xset() -> Vec<u8> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/xset.mcap");
    std::fs::read(file).unwrap()
}

fn script(trace: &[u8]) -> Result<Script, ReplayError> {
    Script::read(&mut Reader::new(trace)?, false)
}

/// Writes a trace with these records. A Started record among them is replaced.
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
fn batches_of_small_requests_are_bounded() {
    let focus = 43_u32;
    let mut records = Vec::new();
    let trace = xset();
    let mut reader = Reader::new(trace.as_slice()).unwrap();
    while let Some(record) = reader.next().unwrap() {
        records.push(record);
    }
    let to_server = |record: &Record| match record {
        Record::Block(block) if block.direction == Direction::ToServer => Some(block.clone()),
        _ => None,
    };
    let last = records
        .iter()
        .rposition(|record| to_server(record).is_some());
    let last = last.unwrap();
    let block = to_server(&records[last]).unwrap();
    let requests = (focus | 1 << 16).to_le_bytes().repeat(300_000);
    let added = Block {
        offset: block.offset + u64::from(block.wire_len),
        wire_len: u32::try_from(requests.len()).unwrap(),
        gaps: Vec::new(),
        bytes: requests.into(),
        ..block
    };
    records.insert(last + 1, Record::Block(added));
    let script = script(&written(&records)).unwrap();
    let all = batches(&script);
    let most = all.iter().map(|batch| batch.requests).max();
    assert_eq!(most, Some(1 << 16));
    let full = all.iter().find(|batch| batch.requests == 1 << 16).unwrap();
    assert_eq!((full.asked[9].before, full.asked[9].at), (9, 36));
    let requests: u64 = all.iter().map(|batch| batch.requests).sum();
    assert_eq!(requests, 44 + 300_000);
    let of = |batch: &&Batch| {
        batch.bytes.capacity() + batch.asked.capacity() * size_of::<RepliedRequest>()
    };
    assert!(all.iter().map(of).sum::<usize>() < 300_000 * 16);
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
    // QueryExtension first. The next batch is BIG-REQUESTS:Enable, which contains the opcode from the reply.
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
    assert_eq!(
        (
            all[2].first + u64::from(all[2].asked[0].before),
            all[2].asked[0].at
        ),
        (4, 20)
    );
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

/// Reads a recording of xset for a display in use, with `enable` in place of BIG-REQUESTS:Enable and with the
/// requests `more` at its end. Returns the names of the requests that are left out, and the bytes of the last batch.
fn shared(enable: &[u8], more: &[u8]) -> (Vec<&'static str>, Vec<u8>) {
    let mut records = records();
    let mut last = 0;
    for (at, record) in records.iter_mut().enumerate() {
        if let Record::Block(block) = record
            && block.direction == Direction::ToServer
        {
            if block.bytes[..] == request(133, 0, &[]) {
                block.bytes = enable.to_vec().into();
                block.wire_len = enable.len() as u32;
            }
            last = at;
        }
    }
    append(&mut records, last, more, 0);
    let trace = written(&records);
    let script = Script::read(&mut Reader::new(&trace[..]).unwrap(), true).unwrap();
    let sent = batches(&script).last().unwrap().bytes.clone();
    (script.left_out().map(|(name, _)| name).collect(), sent)
}

/// Inserts requests after the client's block at index `last`. Their last `omitted` bytes are missing from the recording.
fn append(records: &mut Vec<Record>, last: usize, more: &[u8], omitted: u32) {
    let Record::Block(block) = &records[last] else {
        unreachable!("a block")
    };
    let len = more.len() as u32;
    let gap = Gap {
        at: len,
        len: omitted,
    };
    let block = Block {
        wire_len: len + omitted,
        gaps: (omitted > 0).then_some(gap).into_iter().collect(),
        bytes: more.to_vec().into(),
        ..block.clone()
    };
    records.insert(last + 1, Record::Block(block));
}

/// A request with little-endian numbers, as in the recording of xset.
fn request(major: u8, minor: u8, words: &[u32]) -> Vec<u8> {
    let mut bytes = vec![major, minor, words.len() as u8 + 1, 0];
    bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    bytes
}

#[test]
fn requests_that_outlive_the_client_are_left_out_on_a_display_in_use() {
    const ROOT: u32 = 0x50D;
    const OWN: u32 = 0x20_0001;
    let event = |propagate, mask| {
        let event = [18, OWN, OWN, 0, 0, 0, 0, 0];
        request(25, propagate, &[&[OWN, mask][..], &event].concat())
    };
    for (bytes, is_left_out) in [
        // XFIXES:SetWindowShapeRegion.
        (request(138, 21, &[ROOT, 0, 0, 0]), true),
        (request(138, 21, &[OWN, 0, 0, 0]), false),
        // XFIXES:SelectCursorInput, and an unknown request of XFIXES.
        (request(138, 3, &[ROOT, 1]), false),
        (request(138, 99, &[]), true),
        // GetProperty; RANDR:GetOutputProperty.
        (request(20, 1, &[ROOT, 23, 0, 0, 9]), true),
        (request(20, 0, &[ROOT, 23, 0, 0, 9]), false),
        (request(20, 1, &[OWN, 23, 0, 0, 9]), false),
        (request(140, 15, &[66, 23, 0, 0, 9, 1]), true),
        (request(140, 15, &[66, 23, 0, 0, 9, 0]), false),
        // XKEYBOARD:PerClientFlags.
        (request(135, 21, &[256, 4, 4, 1, 1, 1]), true),
        (event(1, 1 << 19), true),
        (event(0, 1 << 19), false),
        (event(1, 1), false),
        // GrabServer; SetInputFocus to no window.
        (request(36, 0, &[]), true),
        (request(42, 0, &[0, 0]), true),
        (request(42, 2, &[OWN, 0]), false),
        // The focus reverts to no window.
        (request(42, 0, &[OWN, 0]), true),
    ] {
        let (left_out, _) = shared(&request(133, 0, &[]), &bytes);
        assert_eq!(
            left_out.len(),
            usize::from(is_left_out),
            "{bytes:?} {left_out:?}"
        );
    }
}

#[test]
fn long_request_needs_an_enable_that_the_display_takes() {
    // A NoOperation with a BIG-REQUESTS length, whose body is a GetInputFocus request.
    let mut long = request(127, 0, &[3]);
    long[2] = 0;
    long.extend(request(43, 0, &[]));
    assert_eq!(shared(&request(133, 0, &[]), &long), (vec![], long.clone()));
    // A server returns an error for Enable with this length.
    let (left_out, sent) = shared(&request(133, 0, &[0]), &long);
    assert_eq!(
        (left_out, sent),
        (vec!["NoOperation"], request(127, 0, &[]))
    );
}

#[test]
fn omitted_bytes_take_no_memory() {
    let mut records = records();
    let is_sent = |record: &Record| matches!(record, Record::Block(block) if block.direction == Direction::ToServer);
    let last = records.iter().rposition(is_sent).unwrap();
    // PutImage.
    let image = request(72, 2, &[0x20_0001, 0x20_0000, 0x1_0001, 0, 0, 0]);
    let mut image = image[..24].to_vec();
    image[2..4].copy_from_slice(&1006u16.to_le_bytes());
    append(&mut records, last, &image, 4000);
    let script = script(&written(&records)).unwrap();
    let batch = batches(&script).pop().unwrap();
    assert_eq!(
        (batch.bytes.len(), &batch.omitted[..]),
        (24, &[(24, 4000)][..])
    );
    assert_eq!(script.filled_bytes, 4000);
}

#[test]
fn omitted_bytes_of_other_requests_than_images_are_not_sent() {
    let mut records = records();
    let is_sent = |record: &Record| matches!(record, Record::Block(block) if block.direction == Direction::ToServer);
    let last = records.iter().rposition(is_sent).unwrap();
    let mut nothing = request(127, 0, &[]);
    nothing[2..4].copy_from_slice(&1001u16.to_le_bytes());
    append(&mut records, last, &nothing, 4000);
    let script = script(&written(&records)).unwrap();
    let batch = batches(&script).pop().unwrap();
    assert_eq!(
        (&batch.bytes, batch.omitted.len()),
        (&request(127, 0, &[]), 0)
    );
}
