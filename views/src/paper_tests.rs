//! Tests that the arithmetic of the paper's tables is reproduced on a trace with the published counts and bytes.

use x11prof_cost_model::{Network, ServerParameters, Substitutions, built_in};

use x11prof_analyzer::{
    Comparison, Pipeline, Profile, ProfileReport, Statistics, StatisticsReport, percent,
};

use crate::{Page, comparison, profile, statistics};
use x11prof_analyzer::testing::*;

fn query_font() -> Vec<u8> {
    request(47, 0, &[BASE + 1])
}

/// PolyText8 of one string of `length` characters: 16 bytes and the string with its 2, padded.
fn poly_text8(length: u8) -> Vec<u8> {
    let mut item = vec![length, 0];
    item.resize(2 + usize::from(length), b'x');
    item.resize(item.len().next_multiple_of(4), 0);
    let text = item
        .chunks_exact(4)
        .map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]));
    let words: Vec<u32> = [ROOT, BASE + 2, 0].into_iter().chain(text).collect();
    request(74, 0, &words)
}

/// Tables 2 and 5: 508 PolyFillRectangle of 21368 bytes in all, 7389 PolyText8 of 168964, 5 MapSubwindows, 23
/// MapWindow, 16 QueryFont, in 8580 requests of 206548 bytes. The rows that the paper omits are represented by 12
/// more round trips, which follow from its grand total of network time, and NoOperation.
fn xtex() -> Synthetic {
    let mut trace = Synthetic::new();
    let mut sequence = 0_u16;
    let mut send = |trace: &mut Synthetic, message: Vec<u8>, replied: bool| {
        sequence = sequence.wrapping_add(1);
        trace.wait(100).client_sends(&[message]);
        if replied {
            trace.wait(100).server_sends(&[reply(sequence)]);
        }
    };
    for n in 0..508 {
        send(
            &mut trace,
            poly_fill_rectangle(if n < 385 { 4 } else { 3 }),
            false,
        );
    }
    for n in 0..7389 {
        send(&mut trace, poly_text8(if n < 5296 { 6 } else { 2 }), false);
    }
    for _ in 0..5 {
        send(&mut trace, request(9, 0, &[ROOT]), false);
    }
    for _ in 0..23 {
        send(&mut trace, map_window(ROOT), false);
    }
    for _ in 0..16 {
        send(&mut trace, query_font(), true);
    }
    for _ in 0..12 {
        send(&mut trace, get_input_focus(), true);
    }
    for n in 0..627 {
        send(&mut trace, no_operation(if n < 192 { 7 } else { 6 }), false);
    }
    trace.end();
    trace
}

/// A server without cost data.
fn unknown_server() -> ServerParameters {
    ServerParameters::from_toml("format = 1\n[server]\nname = \"unknown\"\n").unwrap()
}

fn report(network: &str) -> ProfileReport {
    let mut profile = Profile::new(&unknown_server(), &Substitutions::default());
    let summary = xtex().run(&mut profile);
    ProfileReport::new(
        "xtex.mcap",
        &summary,
        &profile,
        &Network::parse(network).unwrap(),
    )
}

#[test]
fn table_2_network_times_match_exactly() {
    let report = report("100KB/s,10ms");
    let line = |name: &str| {
        let line = report
            .requests
            .iter()
            .find(|line| line.name == name)
            .unwrap();
        (line.count, line.bytes, line.network_ms)
    };
    assert_eq!(line("PolyFillRectangle"), (508, 21368, 213.68));
    assert_eq!(line("PolyText8"), (7389, 168_964, 1689.64));
    assert_eq!(line("QueryFont"), (16, 128, 161.28));
    assert_eq!(line("MapSubwindows"), (5, 40, 0.4));
    assert_eq!(line("MapWindow"), (23, 184, 1.84));
    assert_eq!((report.total.count, report.total.bytes), (8580, 206_548));
    // 37.88 % of 6191.332 ms; transport is not in the paper.
    let requests = report.total.network_ms - report.transport.network_ms;
    assert!((requests - 2345.48).abs() < 1e-6, "{requests}");
}

#[test]
fn message_shares_match_table_2() {
    let report = report("100KB/s,10ms");
    let shares = [
        ("PolyFillRectangle", 508, "5.92%"),
        ("PolyText8", 7389, "86.12%"),
        ("MapSubwindows", 5, "0.06%"),
        ("MapWindow", 23, "0.27%"),
        ("QueryFont", 16, "0.19%"),
    ];
    let text = profile::text(&report, &Page::default().whole());
    for (name, count, share) in shares {
        let mut lines = report.requests.iter();
        let line = lines.find(|line| line.name == name).unwrap();
        let of_count = format!("{:.2}%", line.percent_of_count);
        assert_eq!((line.count, of_count.as_str()), (count, share));
        let mut rows = text
            .lines()
            .filter(|row| row.starts_with(&format!("{name} ")));
        let row = rows.next().unwrap();
        assert!(row.contains(&format!(" {count} ")), "{row}");
    }
    assert_eq!(report.total.count, 8580);
}

#[test]
fn table_3_network_share_matches() {
    let report = report("1000000KB/s,0ms");
    let requests = report.total.network_ms - report.transport.network_ms;
    // The paper's total is 3846.058 ms.
    assert_eq!(format!("{:.2}%", percent(requests, 3846.058)), "0.01%");
}

/// The statistics of the same trace.
fn of_messages(only: &[&str]) -> StatisticsReport {
    let mut statistics = Statistics::new(only.iter().map(|name| (*name).to_owned()).collect());
    let mut pipeline = Pipeline::new();
    pipeline.run_records(xtex().records, |observation| {
        statistics.observe(observation)
    });
    StatisticsReport::new("xtex.mcap", &statistics, false)
}

#[test]
fn table_5_matches_exactly() {
    let text = statistics::text(&of_messages(&["PolyText8"]), &Page::default().whole());
    let lines = [
        ("PolyFillRectangle", "21368 bytes (10.35%)", "508 (5.92%)"),
        ("PolyText8", "168964 bytes (81.80%)", "7389 (86.12%)"),
        ("MapSubwindows", "40 bytes (0.02%)", "5 (0.06%)"),
        ("MapWindow", "184 bytes (0.09%)", "23 (0.27%)"),
        ("QueryFont", "128 bytes (0.06%)", "16 (0.19%)"),
        ("Grand Total", "206548 bytes", "8580"),
    ];
    for (name, bytes, number) in lines {
        let line = text
            .lines()
            .find(|line| line.starts_with(&format!("{name} ")) && line.contains("bytes"))
            .unwrap();
        assert!(line.contains(bytes) && line.ends_with(number), "{line}");
    }
}

/// Tables 4 and 6 print times and sizes of the paper's own trace. This trace has the same number of messages and
/// bytes, so the counts and mean sizes match the paper.
#[test]
fn tables_4_and_6_layout_matches_snapshot() {
    let report = of_messages(&["PolyText8"]);
    let requests = &report.categories[0].bytes;
    assert_eq!(requests.number, 8580);
    assert_eq!(format!("{:.2}", requests.mean.unwrap()), "24.07");
    insta::assert_snapshot!(
        "tables_4_and_6",
        statistics::text(&report, &Page::default().whole())
    );
}

#[test]
fn table_7_layout_matches_snapshot() {
    let servers = ["sun4-ipc", "decstation-3100", "hp9000-350"].map(|name| {
        let known = built_in().iter().find(|known| known.name == name).unwrap();
        known.parameters().unwrap()
    });
    let network = Network::parse("none").unwrap();
    let reports: Vec<ProfileReport> = servers
        .iter()
        .map(|server| {
            let mut profile = Profile::new(server, &Substitutions::default());
            let summary = xtex().run(&mut profile);
            ProfileReport::new("xtex.mcap", &summary, &profile, &network)
        })
        .collect();
    let comparison = Comparison::new(&reports);
    // The op-sizes of Xtex are not published, so the test can compare only the layout.
    let total: u64 = comparison.requests.iter().map(|line| line.count).sum();
    assert_eq!(total, 8580);
    insta::assert_snapshot!(
        "table_7",
        comparison::text(
            &comparison,
            &Page {
                rows: 5,
                ..Page::default()
            }
        )
    );
}

#[test]
fn no_network_means_no_network_time() {
    let report = report("none");
    assert_eq!(report.total.network_ms, 0.0);
    assert_eq!(report.total.time_ms, report.total.server_ms);
}

/// The first report is that of the recording.
#[test]
fn replays_are_compared_with_those_of_the_first_server() {
    let reports = [(); 4].map(|()| report("none"));
    let first = vec![10.0, 10.1, 9.9, 10.05, 9.95];
    let slower = first.iter().map(|ms| ms * 1.1).collect();
    let same = vec![10.02, 9.97, 10.1, 9.9, 10.0];
    let replays = vec![
        (None, first),
        (Some("build/Xvfb".to_owned()), slower),
        (None, same),
    ];
    let comparison = Comparison::new(&reports).with_replays(replays);
    let change = |at: usize| comparison.servers[at].replays.change_percent;
    assert_eq!((change(0), change(1)), (None, None));
    assert!((change(2).unwrap() - 10.0).abs() < 1e-9);
    let text = comparison::replayed(&comparison, &Page::default());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for line in [
        " (build/Xvfb): ",
        ", the median of 5 replays from 10.9 ms to 11.1 ms",
        "; a real difference from ",
        "; no real difference from ",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let single = Comparison::new(&reports).with_replays(vec![(None, vec![1.0]), (None, vec![2.0])]);
    assert_eq!(single.servers[2].replays.change_percent, None);
}

#[test]
fn comparison_shows_requests_without_cost_data() {
    let reports = [report("100KB/s,10ms"), report("none")];
    let comparison = Comparison::new(&reports);
    assert_eq!(comparison.servers.len(), 2);
    assert_eq!(comparison.servers[0].no_cost, 8580);
    assert_eq!(comparison.requests[0].name, "PolyText8");
    assert_eq!(comparison.requests[0].servers[0].time_ms, 1689.64);
    assert_eq!(comparison.requests[0].servers[1].time_ms, 0.0);
    let text = comparison::text(&comparison, &Page::default());
    assert!(
        text.contains("no cost data") || text.contains("No cost"),
        "{text}"
    );
}
