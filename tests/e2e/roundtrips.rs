//! `network` on public bug reports, each reproduced as a small client (`tests/clients/bug_reports.rs`): the cause
//! is within the first lines, and the counts are the known ones.

use crate::harness::examples::example;
use crate::harness::{Finished, Place, Server, needs};
use serde_json::Value;

/// Records a reproduced bug report on a private Xvfb.
fn recorded(place: &Place, words: &[&str]) {
    needs("Xvfb", "xvfb");
    let mut command = place.x11prof(["record", "--server", "xvfb", "-o", "t.mcap", "--"]);
    Finished::of(command.arg(example("bug_reports")).args(words)).succeeded();
}

/// The first seven lines of the text, joined.
fn verdict(place: &Place) -> String {
    let text = place.ok(["network", "t.mcap"]);
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    text.lines().take(7).collect::<Vec<_>>().join(" ")
}

fn report(place: &Place) -> Value {
    place.json(["network", "t.mcap", "--format", "json", "--rtt", "100"])
}

/// Asserts that the verdict and the first suggestion reduce `many` round trips to `few`. If the program is
/// preempted between two requests, the second one starts a new series, and the saving is smaller.
fn brings(report: &Value, verdict: &str, many: u64, few: u64) {
    let first = &report["suggestions"][0];
    let saved = first["round_trips"].as_u64().expect("a number");
    assert!((many / 2..=many - few).contains(&saved), "{first:#}");
    let becomes = |left: u64| format!("{} round trips become {left}", saved + left);
    let mut left = 1..=many - saved;
    assert!(
        left.any(|left| verdict.contains(&becomes(left))),
        "{verdict}"
    );
}

/// xkbcommon/libxkbcommon#216: 78 round trips, reduced to 3.
#[test]
fn serial_keymap_name_requests_can_be_pipelined() {
    let place = Place::new();
    recorded(&place, &["keymap"]);
    let before = report(&place);
    assert_eq!(before["total"]["round_trips"], 78, "{before:#}");
    let first = &before["suggestions"][0];
    assert_eq!(first["kind"], "serial", "{first:#}");
    let verdict = verdict(&place);
    assert!(verdict.contains(" GetAtomName"), "{verdict}");
    brings(&before, &verdict, 78, 3);

    // The fixed program has the predicted number of round trips.
    recorded(&place, &["keymap", "together"]);
    let after = report(&place);
    assert_eq!(after["total"]["round_trips"], 3, "{after:#}");
    assert_eq!(after["total"]["pipelined"], 75, "{after:#}");
}

/// davatorium/rofi#2299: 8 round trips for each window.
#[test]
fn serial_window_property_requests_can_be_pipelined() {
    let place = Place::new();
    recorded(&place, &["windows", "12"]);
    let found = report(&place);
    // Two more: the atom and the window list.
    assert_eq!(found["total"]["round_trips"], 2 + 8 * 12, "{found:#}");
    let verdict = verdict(&place);
    assert!(
        verdict.contains("GetProperty") && verdict.contains("in batches"),
        "{verdict}"
    );
    brings(&found, &verdict, 98, 3);
}

/// bencevans/screenshot-desktop#303: one probe of the outputs.
#[test]
fn output_probe_is_found() {
    let place = Place::new();
    let server = Server::xvfb(&[]);
    let display = server.display.as_str();
    let mut command = place.x11prof(["record", "--display", display, "-o", "t.mcap", "--"]);
    let pid = server.pid().to_string();
    Finished::of(command.arg(example("bug_reports")).args(["probe", &pid])).succeeded();
    let verdict = verdict(&place);
    assert!(
        verdict.contains("Use RANDR:GetScreenResourcesCurrent"),
        "{verdict}"
    );
    assert!(verdict.contains("it probes the outputs"), "{verdict}");
    let found = report(&place);
    // With 100 ms per round trip, caching the replies saves about as much.
    let suggestions = found["suggestions"].as_array().expect("a list");
    let slow = suggestions.iter().find(|one| one["kind"] == "slow");
    let slow = slow.unwrap_or_else(|| panic!("{found:#}"));
    assert!(
        slow["saves_ms"].as_f64().expect("a time") > 350.0,
        "{slow:#}"
    );
}

/// XQuartz#397: the same colour before each text.
#[test]
fn equal_questions_for_a_colour_are_found() {
    let place = Place::new();
    recorded(&place, &["colours", "40"]);
    let first = &report(&place)["suggestions"][0];
    assert_eq!(
        (first["kind"].as_str(), first["count"].as_u64()),
        (Some("duplicates"), Some(39)),
        "{first:#}"
    );
    let saves = first["saves_ms"].as_f64().expect("a time");
    assert!((3800.0..4100.0).contains(&saves), "{first:#}");
}

/// vim/vim#7259: the event takes the round trip of the synchronisation, with or without one.
#[test]
fn a_wait_for_an_event_takes_a_round_trip() {
    let place = Place::new();
    for words in [&["selections", "20"][..], &["selections", "20", "sync"]] {
        recorded(&place, words);
        let found = report(&place);
        let time = |name: &str| found["forecast"][name].as_f64().expect("a time");
        let longer = time("forecast_ms") - time("local_ms");
        // The setup takes two, and each selection one.
        assert!((2150.0..2450.0).contains(&longer), "{words:?}: {found:#}");
        let suggestions = found["suggestions"].as_array().expect("a list");
        let mut of = suggestions.iter().map(|one| one["kind"].as_str());
        assert!(of.all(|kind| kind != Some("synchronisation")), "{found:#}");
    }
}

/// The report, `network` with and without `--start-up`, and `episodes` forecast the same start-up.
#[test]
fn pages_forecast_the_same_start_up() {
    let place = Place::new();
    recorded(&place, &["window", "5"]);
    let start_up = |words: &str| {
        let report = place.json(
            words
                .split(' ')
                .chain(["--format", "json", "--net", "dsl", "t.mcap"]),
        );
        report["forecast"]["start_ups"][0]["forecast_ms"].as_f64()
    };
    let expected = start_up("report");
    assert!(expected.is_some_and(|ms| ms > 350.0), "{expected:?}");
    for words in [
        "report --start-up",
        "network",
        "network --start-up",
        "network --client bug_reports",
    ] {
        assert_eq!(start_up(words), expected, "{words}");
    }
    let words = "episodes --net dsl --format json t.mcap";
    let episodes = place.json(words.split(' '));
    let all = episodes["episodes"].as_array().expect("a list");
    let found = all.iter().find(|one| one["landmark"] == "Start-up");
    let latency = found.and_then(|one| one["latency_ms"].as_f64());
    let apart = latency.zip(expected).map(|(a, b)| (a - b).abs());
    assert!(
        apart.is_some_and(|ms| ms < 0.01),
        "{latency:?} {expected:?}"
    );
}

/// A script starts a program when the previous one has ended, also over a slower link.
#[test]
fn programs_one_after_the_other_are_forecast_one_after_the_other() {
    let place = Place::new();
    let program = example("bug_reports");
    let program = program.to_string_lossy();
    let session = |script: &str| {
        place.ok([
            "record", "--server", "xvfb", "-o", "t.mcap", "--", "sh", "-c", script,
        ]);
        let words = ["network", "t.mcap", "--rtt", "100", "--format", "json"];
        place.json(words)["forecast"]["forecast_ms"].as_f64()
    };
    let once = session(&format!("{program} window 5")).expect("a forecast");
    let three = session(&format!(
        "{program} window 5; {program} window 5; {program} window 5"
    ));
    let ratio = three.expect("a forecast") / once;
    // On a busy machine, the recorder may notice the end of a program after the start of the next one.
    assert!((1.8..=3.3).contains(&ratio), "{ratio}");
}

/// The last bytes of a start-up count in its report as in `network --start-up`, and later bytes do not.
#[test]
fn start_up_has_the_same_network_time_on_both_pages() {
    let place = Place::new();
    recorded(&place, &["window", "5"]);
    let over = |words: &str| {
        let net = ["--start-up", "--net", "dsl", "--format", "json", "t.mcap"];
        let page = place.json(std::iter::once(words).chain(net));
        let causes = page["forecast"]["causes"].as_array().expect("causes");
        let sum: f64 = causes.iter().filter_map(|one| one["ms"].as_f64()).sum();
        (sum, page)
    };
    let (expected, _) = over("network");
    let (sum, report) = over("report");
    let total = report["total"]["network_ms"].as_f64().expect("a time");
    let same = |a: f64| (a - expected).abs() < 0.01;
    assert!(same(sum) && same(total), "{sum} {total} {expected}");
}

/// brndnmtthws/conky#1886: requests whenever the pointer moves.
#[test]
fn round_trips_on_pointer_motion_are_found() {
    let place = Place::new();
    recorded(&place, &["motion", "20"]);
    let verdict = verdict(&place);
    assert!(verdict.contains("when the pointer moves"), "{verdict}");
    // A preempted client sends its requests late, so some are not attributed to their motion event.
    let led = |trips: usize| verdict.contains(&format!("motion events caused {trips} round trips"));
    assert!((40..=80).any(led), "{verdict}");
}

#[test]
fn start_up_round_trips_are_reproducible() {
    let place = Place::new();
    for _ in 0..10 {
        recorded(&place, &["window", "5"]);
        let found = report(&place);
        let start = &found["start_ups"][0];
        assert_eq!(
            (&start["round_trips"], &start["since"]),
            (&5.into(), &"process".into()),
            "{start:#}"
        );
        let parts = start["parts"].as_object().expect("parts");
        let sum: f64 = parts.values().filter_map(Value::as_f64).sum();
        let latency = start["latency_ms"].as_f64().expect("a latency");
        assert!((sum - latency).abs() < 1e-3, "{start:#}");
        assert_eq!(found["total"]["round_trips"], 8, "{found:#}");
    }
    let found = place.json(["network", "t.mcap", "--start-up", "--format", "json"]);
    assert_eq!(
        (&found["total"]["round_trips"], &found["rtt_ms"]),
        (&5.into(), &50.0.into())
    );
    let rows = place.ok(["network", "t.mcap", "--format", "csv"]);
    assert!(rows.contains("start-up,InternAtom,request,5,"), "{rows}");
    let ran = place.run(["network", "t.mcap", "--client", "nobody"]);
    ran.failed_with_one_line(2);
}

#[test]
fn round_trip_count_matches_x11perf() {
    needs("x11perf", "x11-apps");
    let place = Place::new();
    let record = ["record", "--server", "xvfb", "-o", "t.mcap", "--"];
    let perf = ["x11perf", "-prop", "-reps", "300", "-repeat", "2"];
    Finished::of(&mut place.x11prof(record.iter().chain(&perf))).succeeded();
    let found = report(&place);
    let rows = found["round_trips"].as_array().expect("rows");
    let properties = rows
        .iter()
        .find(|row| row["request"] == "GetProperty")
        .expect("GetProperty");
    // One more: Xlib reads the display's resources.
    // A reply that is there before x11perf gets a processor is not waited for.
    let near = |count: &Value, all: u64| (all - 5..=all).contains(&count.as_u64().unwrap_or(0));
    assert!(near(&properties["count"], 601), "{properties:#}");
    // The same property each time: all but the first of those.
    let duplicates = found["duplicates"].as_array().expect("duplicates");
    let again = duplicates
        .iter()
        .find(|row| row["request"] == "GetProperty")
        .expect("GetProperty");
    assert!(near(&again["count"], 599), "{again:#}");
}

#[test]
fn budget_limits_round_trips() {
    let place = Place::new();
    recorded(&place, &["window", "5"]);
    let check = |budget: &str| {
        place.write("budget.toml", budget.as_bytes());
        place.run([
            "check",
            "t.mcap",
            "--budget",
            "budget.toml",
            "--junit",
            "junit.xml",
        ])
    };
    let kept = check(
        "client = \"bug_reports\"\n[start_up]\nround_trips = 5\nnetwork_ms = 500\n[total]\nduplicates = 0\nresources_left = 2\n\
         [round_trips]\nInternAtom = 8\n",
    );
    assert_eq!(kept.status(), Some(0), "{kept}");
    assert!(
        kept.stdout().starts_with("5 limits kept, 0 over\n"),
        "{kept}"
    );

    let over = check("[start_up]\nround_trips = 4\n[requests]\n\"RANDR:GetScreenResources\" = 0\n");
    assert_eq!(over.status(), Some(1), "{over}");
    assert!(
        over.stdout()
            .starts_with("over: start_up.round_trips: 5 found, 4 allowed\n"),
        "{over}"
    );
    let junit = std::fs::read_to_string(place.path("junit.xml")).expect("JUnit XML");
    assert!(junit.contains("tests=\"2\" failures=\"1\""), "{junit}");

    // The server's time is the report's.
    let report = place.json(["report", "--format", "json", "t.mcap"]);
    let server_ms = report["total"]["server_ms"].as_f64().expect("a number");
    let limit = |ms: f64| check(&format!("[total]\nserver_ms = {ms}\n")).status();
    assert_eq!(
        (limit(server_ms * 1.001), limit(server_ms * 0.999)),
        (Some(0), Some(1))
    );

    // An error is no finding and has exit status 2.
    place
        .run(["check", "missing.mcap", "--budget", "budget.toml"])
        .failed_with_one_line(2);
    let misspelt = check("[requests]\nInternAtm = 3\n").failed_with_one_line(2);
    assert!(misspelt.ends_with("budget.toml: line 2: no request has the name \"InternAtm\"; did you mean \"InternAtom\"?"), "{misspelt}");
    let wrong = check("[start_up]\nround_trips = \"few\"\n").failed_with_one_line(2);
    assert!(
        wrong.contains("line 2: ") && wrong.contains("a whole number"),
        "{wrong}"
    );
}
