//! Real clients recorded on a real server.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use x11prof_proxy::{
    DEFAULT_QUEUE_BYTES, Notice, RecordConfig, RecordError, Recorded, ServerKind, Target, record,
};
use x11prof_trace::{Control, Direction, Reader, Record, SwitchKind};

/// A client that sends nothing.
const QUIET: &[&str] = &["sh", "-c", "exec xdpyinfo > /dev/null"];

fn config(output: &Path, listen: u32, command: &[&str]) -> RecordConfig {
    RecordConfig {
        output: Some(output.to_owned()),
        target: Target::Private(ServerKind::Xvfb),
        listen: Some(listen),
        command: command.iter().map(OsString::from).collect(),
        queue_bytes: DEFAULT_QUEUE_BYTES,
        recorder: "test".to_owned(),
        ..RecordConfig::default()
    }
}

fn read(path: &Path) -> Vec<Record> {
    let mut reader = Reader::new(File::open(path).unwrap()).unwrap();
    let mut records = Vec::new();
    while let Some(record) = reader.next().unwrap() {
        records.push(record);
    }
    assert!(reader.is_complete());
    records
}

fn controls(records: &[Record]) -> impl Iterator<Item = &Control> {
    records.iter().filter_map(|record| match record {
        Record::Control(_, control) => Some(control),
        _ => None,
    })
}

fn code(recorded: &Recorded) -> Option<i32> {
    recorded.exit_status.and_then(|status| status.code())
}

/// Records a command and gives the trace.
fn recorded(listen: u32, command: &[&str]) -> (Recorded, Vec<Record>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace.mcap");
    let recorded = record(&config(&path, listen, command), |_| ()).unwrap();
    assert_eq!(recorded.trouble, Vec::<String>::new());
    assert_eq!(recorded.trace_bytes, path.metadata().unwrap().len());
    assert!(!Path::new(&format!("/tmp/.X{listen}-lock")).exists());
    assert!(!Path::new(&format!("/tmp/.X11-unix/X{listen}")).exists());
    (recorded, read(&path))
}

#[test]
fn time_limit_ends_the_command() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config(
        &dir.path().join("t.mcap"),
        318,
        &["sh", "-c", "xdpyinfo >&2; exec sleep 1000"],
    );
    config.time = Some(std::time::Duration::from_secs(2));
    let recorded = record(&config, |_| {}).unwrap();
    assert_eq!((code(&recorded), recorded.connections), (None, 1));
}

#[test]
fn xdpyinfo_leaves_a_complete_trace() {
    let (recorded, records) = recorded(310, QUIET);
    assert_eq!((code(&recorded), recorded.connections), (Some(0), 1));
    let all: Vec<_> = controls(&records).collect();
    assert!(matches!(all[0], Control::Started(s) if s.command == QUIET));
    let server = all.iter().find_map(|c| match c {
        Control::Server(server) => Some(server),
        _ => None,
    });
    let server = server.unwrap();
    assert_eq!((server.depth, server.screen), (24, (1280, 1024)));
    let server_pid = server.pid.unwrap();
    assert!(all.iter().any(
        |c| matches!(c, Control::Extensions { extensions } if extensions.iter().any(|e| e.name == "RENDER"))
    ));
    let opened = all.iter().find_map(|c| match c {
        Control::Opened(opened) => Some(opened),
        _ => None,
    });
    let opened = opened.unwrap();
    assert_eq!(opened.command, ["xdpyinfo"]);
    assert_eq!(opened.name.as_deref(), Some("xdpyinfo"));
    let client_pid = opened.pid.unwrap();
    assert!(
        all.iter()
            .any(|c| matches!(c, Control::Closed { by, .. } if by == "client"))
    );
    assert!(matches!(
        all.last(),
        Some(Control::Ended {
            exit_status: Some(0)
        })
    ));
    // Clocks of both, at the start and at the end.
    for pid in [server_pid, client_pid] {
        let clocks: Vec<u64> = all
            .iter()
            .filter_map(|c| match c {
                Control::CpuTime(figures) if figures.pid == pid => Some(figures.cpu_ns),
                _ => None,
            })
            .collect();
        assert!(clocks.len() >= 2, "{pid}: {clocks:?}");
        // Two threads read clocks, and may hand their readings on in either order.
        assert!(clocks.iter().max() > clocks.first(), "{pid}: {clocks:?}");
    }
    // Bytes both ways without a hole, of as many as were relayed.
    let mut offsets = [0_u64; 2];
    for record in &records {
        if let Record::Block(block) = record {
            let offset = &mut offsets[usize::from(block.direction == Direction::ToClient)];
            assert_eq!(block.offset, *offset);
            *offset += u64::from(block.wire_len);
        }
    }
    assert_eq!(offsets.iter().sum::<u64>(), recorded.bytes_relayed);
    assert!(offsets.iter().all(|&bytes| bytes > 48));
}

#[test]
fn scheduling_is_captured_or_reported_as_forbidden() {
    let (_, records) = recorded(311, QUIET);
    let mut forbidden = 0;
    for control in controls(&records) {
        if let Control::Capture { capture, why, .. } = control {
            match capture.as_str() {
                "switches" => assert_eq!(why, &None),
                "none" => forbidden += usize::from(why.is_some()),
                other => panic!("{other}"),
            }
        }
    }
    let kinds: Vec<SwitchKind> = records
        .iter()
        .filter_map(|record| match record {
            Record::Schedule(switches) => Some(switches.iter().map(|s| s.kind)),
            _ => None,
        })
        .flatten()
        .collect();
    if forbidden == 0 {
        assert!(kinds.contains(&SwitchKind::In) && kinds.contains(&SwitchKind::Blocked));
    } else {
        assert!(kinds.is_empty());
    }
}

#[test]
fn xterm_is_recorded_and_its_status_returned() {
    let (recorded, records) = recorded(312, &["xterm", "-e", "true"]);
    assert_eq!(code(&recorded), Some(0));
    assert!(recorded.bytes_relayed > 1000);
    assert!(records.len() as u64 >= recorded.records);
}

#[test]
fn exit_statuses_are_returned() {
    let (passed, _) = recorded(313, &["sh", "-c", "exit 42"]);
    assert_eq!((code(&passed), passed.connections), (Some(42), 0));
    let (killed, _) = recorded(313, &["sh", "-c", "kill -9 $$"]);
    let killed = killed.exit_status.and_then(|status| status.signal());
    assert_eq!(killed, Some(9));
}

#[test]
fn client_outliving_the_command_is_recorded_fully() {
    // The shell ends once xterm runs, and xterm once the shell has ended.
    let script =
        "mkfifo $0/up; xterm -e \"echo > $0/up; tail --pid=$$ -s 0.05 -f /dev/null\" & cat $0/up";
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().to_str().unwrap();
    let (recorded, records) = recorded(314, &["sh", "-c", script, at]);
    assert_eq!(code(&recorded), Some(0));
    let count = |is: fn(&Control) -> bool| controls(&records).filter(|c| is(c)).count();
    let opened = count(|c| matches!(c, Control::Opened(_)));
    let closed = count(|c| matches!(c, Control::Closed { .. }));
    assert_eq!((opened, closed), (1, 1));
    assert!(controls(&records).all(|c| !matches!(c, Control::Closed { by, .. } if by == "error")));
}

#[test]
fn client_without_cookie_is_refused_by_the_server_and_next_one_served() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace.mcap");
    let command = [
        "sh",
        "-c",
        "XAUTHORITY=/dev/null xdpyinfo 2>$0/said; xdpyinfo >/dev/null",
        dir.path().to_str().unwrap(),
    ];
    let result = record(&config(&path, 315, &command), |_| ()).unwrap();
    assert_eq!((code(&result), result.connections), (Some(0), 2));
    let records = read(&path);
    let ends: Vec<&str> = controls(&records)
        .filter_map(|c| match c {
            Control::Closed { by, .. } => Some(by.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!((ends.len(), ends.last()), (2, Some(&"client")));
    let said = std::fs::read_to_string(dir.path().join("said")).unwrap();
    assert!(said.contains("Authorization required"), "{said}");
}

#[test]
fn garbage_ends_only_its_connection() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace.mcap");
    let mut garbage = Vec::new();
    let result = record(&config(&path, 316, QUIET), |notice| {
        if matches!(notice, Notice::Serving { .. }) {
            for bytes in [
                &b"GET / HTTP/1.1\r\n\r\n"[..],
                b"l\0\x0b\0\0\0\xff\xff\xff\xff\0\0",
                b"B",
            ] {
                let mut stream = UnixStream::connect("/tmp/.X11-unix/X316").unwrap();
                stream.write_all(bytes).unwrap();
                stream.shutdown(std::net::Shutdown::Write).unwrap();
                garbage.push(stream);
            }
        }
    });
    let result = result.unwrap();
    assert_eq!((code(&result), result.connections), (Some(0), 4));
    let mut replies = garbage.into_iter().map(|mut stream| {
        let mut reply = Vec::new();
        // A reset is as good an end as any.
        let _ = stream.read_to_end(&mut reply);
        reply
    });
    assert_eq!(replies.next().unwrap(), b"");
    let refusal = replies.next().unwrap();
    assert!(refusal.starts_with(b"\0\x2d\x0b\0\0\0\x0c\0x11prof: the authorization data"));
    assert_eq!(replies.next().unwrap(), b"");
}

#[test]
fn recording_failures_are_explained() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace.mcap");
    let said = |config: RecordConfig| record(&config, |_| ()).unwrap_err().to_string();
    let no_command = said(config(&path, 317, &["/no/such/program"]));
    assert!(
        no_command.starts_with("cannot run /no/such/program: "),
        "{no_command}"
    );
    let no_folder = said(config(&dir.path().join("no/trace"), 317, &["true"]));
    assert!(
        no_folder.starts_with("cannot write the trace "),
        "{no_folder}"
    );
    let mut elsewhere = config(&path, 317, &["true"]);
    elsewhere.target = Target::Display(":339".to_owned());
    let unreachable = said(elsewhere.clone());
    assert!(
        unreachable.starts_with("cannot connect to display :339: "),
        "{unreachable}"
    );
    elsewhere.target = Target::Display("nonsense".to_owned());
    assert!(matches!(
        record(&elsewhere, |_| ()),
        Err(RecordError::DisplayName(_))
    ));
}
