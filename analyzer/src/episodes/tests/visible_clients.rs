//! Episodes that no user waits for.

use super::*;
use crate::episodes::EpisodesReport;
use crate::recording::trace_summary::TraceSummary;
use crate::testing_display::Display;

/// The report with these options, and the clients of the emitted episodes.
fn report(display: &Display, client: Option<&str>) -> (EpisodesReport, Vec<ConnectionId>) {
    let options = EpisodeOptions {
        client: client.map(str::to_owned),
        ..EpisodeOptions::default()
    };
    let (mut episodes, mut pipeline) = (Episodes::new(&options), Pipeline::new());
    let (mut summary, mut reported) = (TraceSummary::default(), Vec::new());
    pipeline.run_records(display.records.iter().cloned(), |observation| {
        summary.observe(observation);
        episodes.observe(observation);
        reported.extend(episodes.settled().map(|episode| episode.client));
    });
    episodes.end();
    reported.extend(episodes.settled().map(|episode| episode.client));
    let findings = episodes.findings;
    (EpisodesReport::new("it", &summary, &findings), reported)
}

/// The panel sends requests occasionally but shows no window. The editor shows none either.
fn driver() -> Display {
    let mut display = Display::new();
    for second in 0..3_u16 {
        let at = f64::from(second) * 1000.0 + 300.0;
        display.sends(2, at - 299.0, get_input_focus());
        display.gets(2, at - 1.0, reply(second + 1));
    }
    display
}

#[test]
fn clients_without_visible_output_are_omitted() {
    let mut display = driver();
    display.gets(1, 4000.0, key_press(0, 0));
    display.sends(1, 4005.0, poly_fill_rectangle(1));
    display.control(5000.0, Control::Ended { exit_status: None });
    let (found, reported) = report(&display, None);
    // The start-up of the client that draws is reported once it draws.
    assert!(
        reported.iter().all(|client| *client == ConnectionId(1)),
        "{reported:?}"
    );
    assert!(!reported.is_empty());
    assert_eq!(found.summary.count, reported.len() as u64);
    assert!(found.summary.left_out >= 3, "{:?}", found.summary);
    let (asked, _) = report(&display, Some("panel"));
    assert_eq!(
        asked.summary.count,
        found.summary.left_out - 1,
        "{:?}",
        asked.summary
    );
    assert_eq!(asked.summary.left_out, 0);
}

#[test]
fn all_clients_count_without_any_visible_output() {
    let mut display = driver();
    display.control(5000.0, Control::Ended { exit_status: None });
    let (found, reported) = report(&display, None);
    assert_eq!(
        (found.summary.count, found.summary.left_out),
        (reported.len() as u64, 0)
    );
    assert!(reported.contains(&ConnectionId(2)), "{reported:?}");
}
