//! Recordings of real programs: a client's time in an episode must not exceed the run time that the kernel reports for
//! its threads.

use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use x11prof_trace::{Control, Reader, Record, Switch, SwitchKind};

use super::*;

/// The stretches in which a thread of a process was on a processor, in nanoseconds. The process had just connected, so
/// it ran until its first switch, unless that switch starts it.
fn ran(switches: &[Switch], pid: u32) -> Vec<(u64, u64)> {
    let mut on: HashMap<u16, (u32, u32)> = HashMap::new();
    let first = switches.iter().find(|switch| switch.pid == pid);
    let ran_until = |switch: &Switch| match switch.kind {
        SwitchKind::In => 0,
        SwitchKind::Blocked | SwitchKind::Preempted => switch.time.as_nanos(),
    };
    let until = first.map_or(u64::MAX, ran_until);
    let (mut since, mut stretches) = (None, vec![(0, until)]);
    for switch in switches {
        let time = switch.time.as_nanos();
        let before = on.values().filter(|one| one.0 == pid).count();
        match switch.kind {
            SwitchKind::In => {
                on.insert(switch.cpu, (switch.pid, switch.tid));
            }
            // The switch to the next thread may be reported first.
            SwitchKind::Blocked | SwitchKind::Preempted => {
                on.retain(|cpu, (_, tid)| *cpu != switch.cpu || *tid != switch.tid);
            }
        }
        let now = on.values().filter(|one| one.0 == pid).count();
        if before == 0 && now > 0 {
            since = Some(time);
        } else if before > 0
            && now == 0
            && let Some(since) = since.take()
        {
            stretches.push((since, time));
        }
    }
    stretches.extend(since.map(|since| (since, u64::MAX)));
    stretches
}

#[test]
fn client_time_is_within_kernel_cpu_time() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data");
    let mut checked = 0;
    for name in ["gtk3-widget-factory.mcap", "xterm.mcap", "xclock.mcap"] {
        let file = File::open(data.join(name)).unwrap();
        let mut reader = Reader::new(BufReader::new(file)).unwrap();
        let (mut episodes, mut pipeline) =
            (Episodes::new(&EpisodeOptions::default()), Pipeline::new());
        let (mut switches, mut processes) = (Vec::new(), HashMap::new());
        while let Some(record) = reader.next().unwrap() {
            match &record {
                Record::Schedule(more) => switches.extend_from_slice(more),
                Record::Control(_, Control::Opened(opened)) => {
                    processes.insert(opened.connection, opened.pid);
                }
                _ => {}
            }
            pipeline.feed(record, |observation| episodes.observe(observation));
        }
        pipeline.end(|observation| episodes.observe(observation));
        switches.sort_by_key(|switch| switch.time);
        for episode in episodes.finish().episodes() {
            let Some(Some(pid)) = processes.get(&episode.client).filter(|_| episode.scheduled)
            else {
                continue;
            };
            let (start, end) = (episode.start.as_nanos(), episode.end().as_nanos());
            let ran: u64 = ran(&switches, *pid)
                .into_iter()
                .map(|(from, to)| to.min(end).saturating_sub(from.max(start)))
                .sum();
            let client = episode.parts.of(LatencyComponent::Client);
            assert!(
                client <= ran + 1000,
                "{name}: {client} > {ran}: {episode:?}"
            );
            checked += 1;
        }
    }
    assert!(checked > 20, "{checked}");
}

#[test]
fn client_does_not_run_before_the_setup_reply() {
    let mut trace = Synthetic::new();
    let Some(Record::Block(mut setup)) = trace.records.pop() else {
        panic!("the server's answer is last");
    };
    // The recorder starts to record the switches while the client already waits.
    trace.control(Control::Capture {
        pid: CLIENT_PID,
        capture: "switches".to_owned(),
        why: None,
    });
    let mut all = Scheduled { trace, now: 0 };
    all.at(100 * MS);
    setup.time = Timestamp::from_nanos(1_000_000_000 + 100_000_000);
    all.trace.records.push(Record::Block(setup));
    all.client(100 * MS + 50, SwitchKind::In);
    all.at(101 * MS).client_sends(&[poly_fill_rectangle(1)]);
    all.client(101 * MS + 50, SwitchKind::Blocked);
    all.waits(101 * MS + 50, POLL);
    all.at(900 * MS).end();
    let episodes = found(&all.trace);
    let parts = &episodes.first().expect("its start").parts;
    assert_eq!(parts.of(LatencyComponent::Client) / 1000, 950);
    assert_eq!(parts.server() / 1000, 100 * MS + 50);
}
