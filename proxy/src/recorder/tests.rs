//! A synthetic session through the recorder's thread, read back from the file.

use std::cell::RefCell;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Mutex;

use x11prof_trace::{Block, ConnectionId, Control, Direction, Gap, Reader, Record, Timestamp};

use super::*;
use crate::recorder::client_processes::ClientProcesses;
use crate::recorder::connection_recorder::ConnectionRecorder;
use crate::recorder::images::ImageRequests;
use crate::recorder::record_queue::{RecordSender, record_queue};
use std::ops::Range;

const SETUP: [u8; 32] = *b"l\0\x0b\0\0\0\x04\0\x10\0\0\0NAME0123456789abcdef";

fn started(full: bool) -> Started {
    Started {
        format: 0,
        recorder: "test".to_owned(),
        wall_clock_ns: 5,
        command: vec!["xterm".to_owned()],
        cpu_model: String::new(),
        cpus: 2,
        kernel: String::new(),
        full,
    }
}

/// The only connection of the session.
struct Client<'a>(RefCell<ConnectionRecorder<'a>>);

impl Client<'_> {
    fn sends(&self, time: u64, bytes: &[u8]) {
        self.sends_secret(time, bytes, &(0..0));
    }

    fn sends_secret(&self, time: u64, bytes: &[u8], secret: &Range<usize>) {
        let time = Timestamp::from_nanos(time);
        let mut bytes = bytes.to_vec();
        self.0
            .borrow_mut()
            .crossed(time, Direction::ToServer, &mut bytes, 0, secret);
    }

    fn sets_up(&self) {
        self.sends_secret(1, &SETUP, &(16..32));
    }
}

/// Runs a session over a queue.
fn session(sender: &RecordSender, say: impl FnOnce(&Client<'_>)) {
    let kept = RefCell::default();
    let (images, processes) = (ImageRequests::default(), ClientProcesses::default());
    say(&Client(RefCell::new(ConnectionRecorder::new(
        ConnectionId(1),
        sender,
        &kept,
        images,
        &processes,
        None,
    ))));
}

/// A PutImage request with a length of `len` bytes.
fn put_image(len: usize) -> Vec<u8> {
    let mut bytes = vec![72, 2];
    bytes.extend(u16::try_from(len / 4).unwrap().to_le_bytes());
    bytes.resize(len, 0x55);
    bytes
}

/// Records the entries into `path`, and returns the outcome.
fn recorded(path: &Path, full: bool, say: impl FnOnce(&RecordSender, &Client<'_>)) -> TraceOutcome {
    let (sender, drain) = record_queue(1 << 20, full);
    let file = TraceFile::open(path).unwrap();
    let recorder = Recorder::start(
        Some(file),
        path.to_owned(),
        started(full),
        drain,
        None,
        None,
        |_| (),
    )
    .unwrap();
    session(&sender, |client| say(&sender, client));
    sender.close();
    recorder.join(|| false, drop)
}

fn blocks(path: &Path) -> Vec<Block> {
    let mut reader = Reader::new(File::open(path).unwrap()).unwrap();
    let mut blocks = Vec::new();
    while let Some(record) = reader.next().unwrap() {
        if let Record::Block(block) = record {
            blocks.push(block);
        }
    }
    assert!(reader.is_complete());
    blocks
}

#[test]
fn cookie_and_long_images_are_gaps_and_offsets_continue() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace");
    // The mode of an existing file that others could read is restricted.
    std::fs::write(&path, "old").unwrap();
    let image = put_image(10_000);
    let written = recorded(&path, false, |sender, client| {
        client.sets_up();
        client.sends(2, &image[..100]);
        client.sends(3, &image[100..]);
        client.sends(4, &[127, 0, 1, 0]);
        sender.control(
            Timestamp::from_nanos(5),
            Control::Ended { exit_status: None },
        );
    });
    assert_eq!((written.records, written.trouble), (5, None));
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let all = std::fs::read(&path).unwrap();
    assert!(!all.windows(16).any(|window| window == &SETUP[16..]));

    let read: Vec<_> = blocks(&path)
        .into_iter()
        .map(|b| (b.offset, b.wire_len, b.gaps, b.bytes.len()))
        .collect();
    let gap = |at, len| vec![Gap { at, len }];
    assert_eq!(
        read,
        [
            (0, 32, gap(16, 16), 16),
            (32, 100, gap(24, 76), 24),
            (132, 9900, gap(0, 9900), 0),
            (10_032, 4, vec![], 4),
        ]
    );
}

#[test]
fn full_trace_keeps_everything_except_the_cookie() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace");
    let image = put_image(10_000);
    recorded(&path, true, |_, client| {
        client.sets_up();
        client.sends(2, &image);
    });
    let blocks = blocks(&path);
    assert_eq!(blocks[0].gaps, [Gap { at: 16, len: 16 }]);
    assert_eq!(blocks[1].bytes, image);
}

/// A recorded program may write any time into shared memory.
#[test]
fn impossible_time_is_not_recorded_and_the_rest_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace");
    let written = recorded(&path, true, |sender, client| {
        client.sets_up();
        let until_ns = u64::MAX;
        let time = Timestamp::from_nanos(2);
        sender.control(time, Control::Told { until_ns });
        client.sends(3, &[127, 0, 1, 0]);
    });
    let trouble = written.trouble.unwrap_or_default();
    assert!(
        trouble.contains("beyond those of any recording"),
        "{trouble}"
    );
    assert_eq!(blocks(&path).len(), 2);
}

#[test]
fn unwritable_trace_fails_immediately() {
    let path = PathBuf::from("/dev/full");
    let (_tap, drain) = record_queue(1 << 20, false);
    let file = TraceFile::open(&path).unwrap();
    let begun = Recorder::start(Some(file), path, started(false), drain, None, None, |_| ());
    assert!(matches!(begun, Err(TraceError::Write(_))));
}

/// A sink with space for this many bytes.
struct Disk(usize);

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = bytes.len().min(self.0);
        self.0 -= n;
        match n {
            0 => Err(io::Error::from(io::ErrorKind::StorageFull)),
            n => Ok(n),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn full_disk_is_reported_once_and_queue_is_emptied() {
    let reported = Mutex::new(Vec::new());
    let writer = Writer::new(Disk(20_000), started(true), Timestamp::from_nanos(1)).unwrap();
    let trace = Trace {
        writer: Some(writer),
        file: None,
        safe: Safe::default(),
        written: TraceOutcome::default(),
        place: None,
        started: Timestamp::from_nanos(1),
        began: false,
        path: PathBuf::from("trace"),
        watch: None,
        filter: None,
        tell: |what| reported.lock().unwrap().push(what),
    };
    let (sender, drain) = record_queue(1 << 30, true);
    // The bytes are incompressible, so that the disk fills up.
    let mut state = 1_u64;
    session(&sender, |client| {
        client.sets_up();
        for n in 0..200 {
            let noise = (0..8192).map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                (state >> 56) as u8
            });
            client.sends(n, &noise.collect::<Vec<u8>>());
        }
    });
    sender.close();
    let written = trace.run(&drain);
    assert_eq!(
        written.trouble.as_deref(),
        reported.lock().unwrap().first().map(String::as_str)
    );
    assert_eq!(reported.lock().unwrap().len(), 1);
    assert!(written.trouble.unwrap().starts_with("trace: "));
}

/// Drops every other block, and fails at the fourth.
#[derive(Default)]
struct EveryOther {
    blocks: usize,
    ready: Option<Record>,
}

impl RecordFilter for EveryOther {
    fn begin(&mut self, _time: Timestamp, mut started: Started) -> Started {
        started.command.clear();
        started
    }

    fn feed(&mut self, record: Record) {
        self.blocks += 1;
        assert!(self.blocks < 4, "as a defect would");
        self.ready = (self.blocks % 2 == 1).then_some(record);
    }

    fn next(&mut self) -> Option<Record> {
        self.ready.take()
    }

    fn finish(&mut self) {}
}

#[test]
fn filter_changes_the_trace_and_its_failure_ends_only_the_trace() {
    for (blocks, kept, failed) in [(3, 2, false), (6, 2, true)] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("trace");
        let (sender, drain) = record_queue(1 << 20, false);
        let file = TraceFile::open(&path).unwrap();
        let filter: Option<Box<dyn RecordFilter>> = Some(Box::new(EveryOther::default()));
        let recorder = Recorder::start(
            Some(file),
            path.clone(),
            started(false),
            drain,
            None,
            filter,
            |_| (),
        );
        session(&sender, |client| {
            client.sets_up();
            (1..blocks).for_each(|n| client.sends(n + 1, &[127, 0, 1, 0]));
        });
        sender.close();
        let written = recorder.unwrap().join(|| false, drop);
        assert_eq!(written.trouble.is_some(), failed, "{written:?}");
        let mut reader = Reader::new(File::open(&path).unwrap()).unwrap();
        assert_eq!(reader.started().command, [""; 0]);
        let (mut found, mut troubles) = (0, 0);
        while let Some(record) = reader.next().unwrap() {
            match record {
                Record::Block(_) => found += 1,
                Record::Control(_, Control::Trouble { what }) => {
                    assert!(!what.contains('/'), "{what}");
                    troubles += 1;
                }
                _ => {}
            }
        }
        // Data that was not flushed before the failure is also cut off.
        assert!(
            if failed { found <= kept } else { found == kept },
            "{found}"
        );
        assert_eq!(troubles, usize::from(failed));
        assert_eq!(reader.is_complete(), !failed);
    }
}

#[test]
fn earlier_disk_hang_does_not_shorten_the_final_timeout() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pipe");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, mode).unwrap();
    let both = File::options().read(true).write(true).open(&path).unwrap();
    let (sender, drain) = record_queue(1 << 24, true);
    let place = TraceFile::open(&path).unwrap();
    let recorder = Recorder::start(
        Some(place),
        path.clone(),
        started(true),
        drain,
        None,
        None,
        |_| (),
    )
    .unwrap();
    let mut state = 1_u64;
    session(&sender, |client| {
        client.sets_up();
        (2..40).for_each(|time| {
            let mut image = put_image(64 << 10);
            image[8..].fill_with(|| {
                state = state.wrapping_mul(6_364_136_223_846_793_005) | 1;
                (state >> 56) as u8
            });
            client.sends(time, &image);
        });
    });
    // The pipe is full, so the write blocks for a long time.
    while recorder.disk.hangs_for().is_zero() {
        std::thread::yield_now();
    }
    std::thread::sleep(LOOK_EVERY);
    let long_ago = clock::now().as_nanos() - 2 * HANG_PATIENCE.as_nanos() as u64;
    recorder.disk.0.store(long_ago, Ordering::Relaxed);
    sender.close();
    let mut looks = 0;
    let signalled = || {
        looks += 1;
        if looks == 2 {
            let mut pipe = both.try_clone().unwrap();
            std::thread::spawn(move || io::copy(&mut pipe, &mut io::sink()));
        }
        false
    };
    let written = recorder.join(signalled, drop);
    assert_eq!(written.trouble, None);
}
