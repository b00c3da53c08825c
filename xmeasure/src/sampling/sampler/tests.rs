//! The sampler and the fit against a server of known costs.

use std::io;

use super::{Readings, sample};
use crate::fit::samples::samples;
use crate::fit::transport::BothClocks;
use crate::plan::Plan;
use crate::sampling::job::Job;
use crate::simulated::{Quirks, Simulated, connected, truth};
use crate::workloads::transport;
use crate::workloads::workload::{Phase, Sync, Workload};

/// Requests that need no resources on the server, by their opcodes (protocol, Encoding).
const UNGRAB_POINTER: u8 = 27;
const UNGRAB_KEYBOARD: u8 = 32;
const BELL: u8 = 104;

fn request(opcode: u8) -> Vec<u8> {
    let words: u16 = match opcode {
        UNGRAB_POINTER | UNGRAB_KEYBOARD => 2,
        _ => 1,
    };
    let [low, high] = words.to_ne_bytes();
    let mut bytes = vec![opcode, 0, low, high];
    bytes.resize(usize::from(words) * 4, 0);
    bytes
}

fn repeated(opcode: u8) -> Workload {
    Workload::repeated(&request(opcode), Sync::RoundTrip)
}

fn cycle() -> Workload {
    let phase = |opcode| Phase::new(vec![request(opcode); 50], Sync::RoundTrip);
    Workload::cycle([UNGRAB_POINTER, UNGRAB_KEYBOARD].map(phase))
}

/// A server with these quirks, and readings of `loads` and the transport loads.
fn prepared(quirks: Quirks, loads: Vec<Workload>) -> (Simulated, Readings) {
    let (mut client, tracker, transport) = connected(|client| transport::loads(client).unwrap());
    let mut server = Simulated::new(&truth(), &client, tracker);
    server.quirks = quirks;
    let mut described = |load: Workload| (client.tracker.describe(&load), load);
    let transport = transport.map(|load| {
        let (operations, load) = described(load);
        Job::always(load, operations)
    });
    let jobs = loads.into_iter().map(|load| {
        let (operations, load) = described(load);
        Job::new(load, operations)
    });
    let jobs = jobs.collect();
    (server, Readings::new(transport, jobs))
}

fn quick() -> Plan {
    Plan {
        quick: true,
        ..Plan::default()
    }
}

fn close(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() < 1e-3 * expected.max(0.01),
        "{found} instead of {expected}"
    );
}

#[test]
fn known_costs_are_recovered() {
    let quirks = Quirks {
        refuses: Some(BELL),
        ..Quirks::default()
    };
    let loads = vec![repeated(UNGRAB_POINTER), cycle(), repeated(BELL)];
    let (mut server, mut readings) = prepared(quirks, loads);
    let plan = quick();
    let mut steps = 0;
    sample(&mut server, &mut readings, &plan, &mut |_, _| {
        steps += 1;
    })
    .unwrap();
    // The refused load is not retried; the others are in every pass.
    let others = readings.jobs().count() - 1;
    assert_eq!(steps, others * plan.passes() + 1);
    let refused = readings.requests.iter().map(|job| job.refused);
    assert_eq!(
        refused.collect::<Vec<_>>(),
        [None, None, Some((1, BELL, 0))]
    );

    let transport = BothClocks::new(&readings);
    let (costs, truth) = (transport.costs().unwrap(), truth().transport.unwrap());
    let both = [
        (costs.wakeup, truth.wakeup),
        (costs.byte_read, truth.byte_read),
        (costs.reply, truth.reply),
        (costs.event, truth.event),
        (costs.byte_written.unwrap(), truth.byte_written.unwrap()),
    ];
    for (found, expected) in both {
        close(found.cpu_us.unwrap().0, expected.cpu_us.unwrap().0);
        assert_eq!(found.wall_us, None);
    }
    let times = samples(&readings, &transport).into_iter().map(|sample| {
        let name = sample.operation.request.as_str();
        (name, sample.cpu.unwrap().centre)
    });
    for (name, time) in times {
        let expected = match name {
            "NoOperation" | "GetInputFocus" => 0.01,
            "GetProperty" => 0.4,
            "ChangeProperty" => 0.5,
            "UngrabPointer" => 2.0,
            "UngrabKeyboard" => 7.0,
            other => panic!("{other}"),
        };
        close(time, expected);
    }
}

#[test]
fn readings_before_a_server_crash_are_kept() {
    let quirks = Quirks {
        dies_after: Some(100),
        ..Quirks::default()
    };
    let (mut server, mut readings) = prepared(quirks, vec![repeated(UNGRAB_POINTER)]);
    let error = sample(&mut server, &mut readings, &quick(), &mut |_, _| {}).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    assert!(readings.transport.no_operation.is_read());
    let transport = BothClocks::new(&readings);
    close(transport.cpu.unwrap().centre.byte_read, 0.0001);
}
