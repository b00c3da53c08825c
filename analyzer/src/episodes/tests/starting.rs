//! Start-ups: the same figures as in `report`.

use super::*;
use crate::episodes::Episode;
use crate::pipeline::Observation;
use crate::pipeline::start_up::StartUpReport;
use crate::testing_display::Display;

pub(super) const WINDOW: u32 = BASE + 9;

pub(super) fn create_window() -> Vec<u8> {
    let words = [WINDOW, ROOT, 0, 100 | 100 << 16, 1 << 16, 0, 0];
    request(1, 8, &words)
}

fn fill() -> Vec<u8> {
    request(70, 0, &[WINDOW, BASE + 2, 0, 10 | 10 << 16])
}

/// The episodes of client 1, and its start-up.
fn both(records: &[Record]) -> (Vec<Episode>, StartUpReport) {
    let mut episodes = Episodes::new(&EpisodeOptions::default());
    let mut start_up = None;
    Pipeline::new().run_records(records.iter().cloned(), |observation| {
        if let Observation::Started(one) = observation
            && one.connection == 1
        {
            start_up = Some((*one).clone());
        }
        episodes.observe(observation);
    });
    let findings = episodes.finish();
    let of_one = findings.episodes().into_iter();
    let of_one = of_one.filter(|one| one.client == ConnectionId(1));
    (of_one.cloned().collect(), start_up.expect("its start-up"))
}

#[test]
fn start_up_spans_pauses_until_the_first_frame() {
    let mut display = Display::new();
    // When its process started, in nanoseconds.
    for record in &mut display.records {
        if let Record::Control(time, Control::Opened(opened)) = record
            && opened.connection == ConnectionId(1)
        {
            opened.started_ns = Some(time.as_nanos() - 50_000_000);
        }
    }
    display.sends(1, 10.0, get_input_focus());
    display.gets(1, 11.0, reply(1));
    display.sends(1, 400.0, create_window());
    display.sends(1, 401.0, map_window(WINDOW));
    display.sends(1, 800.0, fill());
    display.sends(1, 2000.0, query_font());
    display.control(5000.0, Control::Ended { exit_status: None });
    let (episodes, start_up) = both(&display.records);
    let found: Vec<_> = episodes
        .iter()
        .map(|one| (one.landmark.as_str(), one.latency(), one.round_trips))
        .collect();
    assert_eq!(start_up.latency_ms, Some(850.0));
    assert_eq!(found[0], ("Start-up", 850_000_000, start_up.round_trips));
    assert_eq!(found[1..], [("Timer or file", 0, 0)]);
    let path = episodes[0].path.iter().map(|link| link.nanos);
    assert_eq!(path.sum::<u64>(), 850_000_000);
}

#[test]
fn start_up_without_a_frame_is_named_nothing_shown() {
    let mut display = Display::new();
    display.sends(1, 10.0, get_input_focus());
    display.gets(1, 11.0, reply(1));
    display.control(5000.0, Control::Ended { exit_status: None });
    let (episodes, start_up) = both(&display.records);
    assert_eq!(start_up.latency_ms, None);
    let names: Vec<_> = episodes.iter().map(|one| one.landmark.as_str()).collect();
    assert_eq!(names, ["Connected, nothing shown"]);
    assert!(episodes[0].shape().starts_with(names[0]));
}

#[test]
fn window_manager_work_counts_once_in_start_up() {
    let mut display = Display::new();
    let about = |code: u8, words: [u32; 2]| {
        let mut event = expose(0);
        event[0] = code;
        for (at, word) in [4, 8].into_iter().zip(words) {
            event[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        event
    };
    const MAP_REQUEST: u8 = 20;
    const MAP_NOTIFY: u8 = 19;
    display.sends(1, 10.0, create_window());
    display.sends(1, 11.0, map_window(WINDOW));
    display.gets(2, 12.0, about(MAP_REQUEST, [ROOT, WINDOW]));
    display.sends(2, 150.0, map_window(WINDOW));
    display.gets(1, 151.0, about(MAP_NOTIFY, [WINDOW, WINDOW]));
    display.sends(1, 170.0, fill());
    display.sends(1, 2000.0, query_font());
    display.control(5000.0, Control::Ended { exit_status: None });
    let (episodes, start_up) = both(&display.records);
    assert_eq!(start_up.latency_ms, Some(170.0));
    let first = &episodes[0];
    assert_eq!(
        (first.landmark.as_str(), first.latency()),
        ("Start-up", 170_000_000)
    );
    assert_eq!(first.parts.of(LatencyComponent::Others), 0);
    // Nothing else of these 170 ms counts.
    let counted = episodes.iter().filter(|one| !one.is_led_to());
    let during = counted.filter(|one| one.start < first.end()).count();
    assert_eq!(during, 1, "{episodes:?}");
}

#[test]
fn no_free_cpu_is_part_of_off_cpu_and_not_of_waits_for_replies() {
    let mut all = Scheduled::new();
    all.client(100 * MS, SwitchKind::In);
    all.at(120 * MS).client_sends(&[get_input_focus()]);
    all.client(120 * MS, SwitchKind::Preempted);
    all.at(150 * MS).server_sends(&[reply(2)]);
    all.client(200 * MS, SwitchKind::In);
    let window = [create_window(), map_window(WINDOW)];
    all.at(210 * MS).client_sends(&window);
    all.client(220 * MS, SwitchKind::Preempted);
    all.client(300 * MS, SwitchKind::In);
    all.at(310 * MS).client_sends(&[fill()]);
    all.client(320 * MS, SwitchKind::Blocked);
    all.waits(320 * MS, POLL);
    all.at(900 * MS).end();
    let (episodes, start_up) = both(&all.trace.records);
    assert_eq!(
        (start_up.waited_ms, start_up.own_processor_ms),
        (30.0, 130.0)
    );
    let off_cpu = start_up.components()[1];
    // From 1 to 100 ms the client waited for work.
    assert_eq!(off_cpu, ("off-CPU", 229.0));
    let none = LatencyComponent::OffCpu(Cause::Processor);
    let one = episodes
        .iter()
        .find(|one| one.landmark.as_str() == "Start-up");
    let one = one.unwrap_or_else(|| panic!("{episodes:?}"));
    let parts = (one.parts.of(none), one.parts.off_cpu());
    assert_eq!(parts, (130_000_000, 229_000_000), "{episodes:?}");
    let path = one.path.iter().filter(|step| step.owner == none);
    let path: u64 = path.map(|step| step.nanos).sum();
    assert_eq!(path, 130_000_000, "{:?}", one.path);
}
