//! Callers of synthetic traces.

use x11prof_trace::{ConnectionId, Control, Direction, StackFrame};

use super::{Callers, CallersReport, FunctionReport, program_functions};
use crate::callers::code_stacks::CodeStacks;
use crate::pipeline::Pipeline;
use crate::testing::*;

fn named(frame: &StackFrame) -> Vec<FunctionReport> {
    let function = |name, inlined| FunctionReport {
        name: Some(name),
        module: frame.file.clone(),
        line: None,
        inlined,
        interpreted: false,
    };
    let inlined = "<x11rb::Connection as core::Any>::wait".to_owned();
    vec![
        function(inlined, true),
        function(format!("f{}", frame.address), false),
    ]
}

fn observed(trace: &Synthetic) -> (Callers, CodeStacks) {
    let (mut callers, mut stacks) = (Callers::default(), CodeStacks::default());
    Pipeline::new().run_records(trace.records.iter().cloned(), |observation| {
        callers.observe(observation, |_| true);
        stacks.observe(observation);
    });
    (callers, stacks)
}

fn report(trace: &Synthetic) -> Option<CallersReport> {
    let (callers, stacks) = observed(trace);
    callers.report(&stacks, named)
}

/// The stack with this number: in the library, in a function of the program, in its first one.
fn stack(number: u32, function: u64) -> Control {
    let frames = [
        ("/lib/libxcb.so.1", 5),
        ("/bin/app", function),
        ("/bin/app", 1),
    ];
    let frames = frames.map(|(file, address)| StackFrame {
        file: file.to_owned(),
        address,
        function: None,
    });
    Control::Stack {
        stack: number,
        frames: frames.into(),
        whole: number > 0,
    }
}

#[test]
fn wait_stacks_match_waits_in_either_order() {
    let mut trace = Synthetic::new();
    trace.control(stack(0, 20)).control(stack(1, 30));
    let on_stack = |trace: &mut Synthetic, stack: u32, at_ns: u64| {
        trace.control(Control::WaitStack {
            connection: ConnectionId(1),
            at_ns,
            stack,
            took_ns: 2000,
        });
    };
    for (sequence, number, is_before) in [
        (1_u16, 0, true),
        (2, 1, false),
        (3, 1, false),
        (4, 9, false),
    ] {
        trace.client_sends(&[get_input_focus()]).wait(500);
        let at = 1_000_000_000 + 501_000 * u64::from(sequence);
        if is_before {
            on_stack(&mut trace, number, at);
        }
        trace.wait(1).block(Direction::ToClient, &reply(sequence));
        if !is_before {
            on_stack(&mut trace, number, at);
        }
    }
    trace.end();
    let report = report(&trace).unwrap();
    assert_eq!(
        (report.round_trips, report.looked_at, report.whole),
        (4, 3, 2)
    );
    assert_eq!(report.looking_ms, 0.008);
    let callers = report.callers.iter();
    let callers: Vec<_> = callers
        .map(|one| {
            (
                one.waits,
                one.functions[0].name.clone().unwrap(),
                one.functions.len(),
            )
        })
        .collect();
    assert_eq!(
        callers,
        [(2, "f30".to_owned(), 3), (1, "f20".to_owned(), 3)]
    );
    assert_eq!(report.callers[0].requests[0].request, "GetInputFocus");
    // The second wait alone.
    let at = 1_000_000_000 + 501_000 * 2;
    let (observed, stacks) = observed(&trace);
    let second = observed.between(ConnectionId(1), (at - 5, at), &stacks, named);
    let second: Vec<_> = second
        .iter()
        .map(|one| (one.waits, one.waited_ms))
        .collect();
    assert_eq!(second, [(1, 0.501)]);
    let other = observed.between(ConnectionId(2), (0, u64::MAX), &stacks, named);
    assert_eq!(other, []);
}

#[test]
fn library_frames_are_skipped_by_name_or_file() {
    let registry = "/home/ann/.cargo/registry/src/index.crates.io-1/";
    for (name, line, is_skipped) in [
        ("x11rb::Stream::write", String::new(), true),
        (
            "flush",
            format!("{registry}x11rb-protocol-0.14.0/src/a.rs:1"),
            true,
        ),
        (
            "start",
            "/rustc/59807616/library/std/src/rt.rs:5".to_owned(),
            true,
        ),
        (
            "draw",
            format!("{registry}core-graphics-0.1.0/src/a.rs:2"),
            false,
        ),
        ("draw", "/home/ann/x11rb/src/std.rs:2".to_owned(), false),
    ] {
        let function = |name: &str, line: String| FunctionReport {
            name: Some(name.to_owned()),
            module: "app".to_owned(),
            line: Some(line),
            inlined: false,
            interpreted: false,
        };
        let inner = function(name, line);
        let frames = [StackFrame {
            file: "/bin/app".to_owned(),
            address: 1,
            function: None,
        }];
        let all = [inner.clone(), function("main", String::new())];
        let functions = program_functions(&frames, |_| all.to_vec());
        assert_eq!(functions.len(), if is_skipped { 1 } else { 2 }, "{inner:?}");
    }
}

#[test]
fn recording_without_stacks_has_no_callers() {
    let mut trace = Synthetic::new();
    trace.client_sends(&[get_input_focus()]).wait(500);
    trace.server_sends(&[reply(1)]).end();
    assert_eq!(report(&trace), None);
}
