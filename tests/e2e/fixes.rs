//! `record --try` shows the gain of a change to a program over a slow connection, and `record --net` makes a
//! connection slow.

use std::io::Write;
use std::time::Duration;

use crate::harness::examples::example;
use crate::harness::raw::{Client, Order};
use crate::harness::slow_relay::{Slow, SlowRelay};
use crate::harness::{Place, Recording, Server, needs};
use rustix::process::Signal;

/// Half a round trip.
const DELAY: Duration = Duration::from_millis(5);
const ATOMS: usize = 100;

/// An InternAtom.
fn intern(order: Order, name: &str) -> Vec<u8> {
    let padded = name.len().next_multiple_of(4);
    let mut bytes = vec![16, 1];
    bytes.extend(order.u16((2 + padded / 4) as u16));
    bytes.extend(order.u16(name.len() as u16));
    bytes.extend([0; 2]);
    bytes.extend(name.as_bytes());
    bytes.resize(8 + padded, 0);
    bytes
}

/// Interns a hundred atoms twice, first serially and then pipelined, with other requests in between. Returns all
/// replies.
fn ask(client: &mut Client) -> Vec<Vec<u8>> {
    let names: Vec<String> = (0..ATOMS).map(|n| format!("X11PROF_KNOWN_{n}")).collect();
    let order = client.order;
    let mut replies = Vec::new();
    for _ in 0..2 {
        for name in &names {
            client
                .socket
                .write_all(&intern(order, name))
                .expect("InternAtom is sent");
            replies.push(client.reply().0);
        }
    }
    // Pipelined: GetInputFocus, atoms, NoOperation, a request without a reply, an atom.
    let mut bytes = vec![43, 0];
    bytes.extend(order.u16(1));
    names
        .iter()
        .for_each(|name| bytes.extend(intern(order, name)));
    bytes.extend([127, 0]);
    bytes.extend(order.u16(1));
    // Bell at volume 0.
    bytes.extend([104, 0x9C]);
    bytes.extend(order.u16(1));
    bytes.extend(intern(order, &names[0]));
    client.socket.write_all(&bytes).expect("all of it is sent");
    replies.extend((0..ATOMS + 2).map(|_| client.reply().0));
    replies
}

fn recorded(
    place: &Place,
    trace: &str,
    display: &str,
    order: Order,
    fixes: &[&str],
) -> (Vec<Vec<u8>>, String) {
    let mut words = vec!["--display", display];
    fixes.iter().for_each(|fix| words.extend(["--try", fix]));
    let mut recording = Recording::at(place, &place.path(trace), &words);
    let mut client = recording.raw(order);
    let replies = ask(&mut client);
    client.sync();
    drop(client);
    let status = recording.signal(Signal::TERM);
    assert!(status.success());
    (replies, recording.said())
}

#[test]
fn cached_replies_match_the_server_and_save_round_trips() {
    let server = Server::xvfb(&[]);
    let far = SlowRelay::start(&server.display, Slow::Delay(DELAY));
    let place = Place::new();
    // The atoms exist before the first measured run.
    let direct = Recording::at(
        &place,
        &place.path("first.mcap"),
        &["--display", &server.display],
    );
    let mut client = direct.raw(Order::Little);
    for n in 0..ATOMS {
        let mut name = intern(Order::Little, &format!("X11PROF_KNOWN_{n}"));
        name[1] = 0;
        client.socket.write_all(&name).expect("InternAtom is sent");
        client.reply();
    }
    for order in [Order::Little, Order::Big] {
        let (plain, said) = recorded(&place, "plain.mcap", &far.display, order, &[]);
        assert!(!said.contains("--try"), "{said}");
        let (tried, said) = recorded(
            &place,
            "tried.mcap",
            &far.display,
            order,
            &["answer-atoms", "answer-queries"],
        );
        assert_eq!(tried.len(), 3 * ATOMS + 2);
        assert_eq!(plain, tried);
        // The proxy answers the second hundred serially; an atom request that is pipelined after another request
        // with a reply must wait for that reply.
        assert!(
            said.contains("--try answer-atoms: 100 requests changed"),
            "{said}"
        );
        assert!(
            said.contains("--try answer-queries: 0 requests changed"),
            "{said}"
        );
    }
    let report = place.ok(["report", "tried.mcap", "--params", "xvfb-24"]);
    assert!(report.contains("100 requests changed"), "{report}");
    let difference = place.json(["diff", "plain.mcap", "--format", "json", "--", "tried.mcap"]);
    assert_eq!(difference["new"]["experiments"][0], "answer-atoms");
    let rows = difference["rows"].as_array().expect("rows");
    let row = |quantity: &str| {
        rows.iter()
            .find(|row| row["quantity"] == quantity)
            .expect("its row")
    };
    assert_eq!(row("changed_requests")["new"]["mean"], 100.0);
    assert_eq!(row("requests")["change"], 0.0);
    // Load on the machine only increases times.
    let [plain, tried] = ["plain.mcap", "tried.mcap"].map(|name| {
        let report = place.json(["network", name, "--format", "json"]);
        let rows = report["round_trips"].as_array().expect("rows").clone();
        let row = rows.into_iter().find(|row| row["request"] == "InternAtom");
        row.and_then(|row| row["waited_ms"].as_f64())
            .expect("a time")
    });
    let expected = ATOMS as f64 * 2.0 * DELAY.as_secs_f64() * 1e3;
    assert!(
        plain >= expected && plain > tried,
        "{plain} and {tried} of {expected} ms"
    );
    let text = place.ok(["diff", "plain.mcap", "--", "tried.mcap"]);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("the changes made by --try answer-atoms"),
        "{text}"
    );
}

#[test]
fn current_resources_experiment_avoids_output_probe() {
    needs("xrandr", "x11-xserver-utils");
    let place = Place::new();
    let run = |words: &[&str]| {
        let words = [&["record", "--server", "xvfb"], words, &["--", "xrandr"]].concat();
        let ran = place.run(words);
        (ran.stderr(), ran.succeeded())
    };
    let (_, plain) = run(&[]);
    let (said, tried) = run(&["--try", "current-resources"]);
    assert_eq!(plain, tried);
    assert!(
        said.contains("--try current-resources: 1 request changed"),
        "{said}"
    );
}

#[test]
fn unknown_experiment_lists_the_known_ones() {
    let ran = Place::new().run(["record", "--try", "faster", "--server", "xvfb"]);
    assert_eq!(ran.status(), Some(2), "{ran}");
    let said = ran.stderr();
    assert!(
        said.contains("answer-queries, answer-atoms, current-resources"),
        "{said}"
    );
}

#[test]
fn emulated_network_delays_the_program() {
    needs("xset", "x11-xserver-utils");
    let place = Place::new();
    let record = ["record", "--server", "xvfb", "--net", "1MB/s,20ms", "--"];
    place.ok(record.into_iter().chain(["xset", "q"]));
    let trips = place.json(["network", "--format", "json"]);
    let number = |name: &str| trips["total"][name].as_f64().expect("a number");
    let (count, waited) = (number("round_trips"), number("waited_ms"));
    assert!(count > 10.0 && waited >= 20.0 * count, "{trips}");
    // `--net` replaces the emulated network: a slower network takes longer, and no network takes no time.
    let start_up = |net: &str| {
        let network = place.json(["network", "--format", "json", "--net", net]);
        network["forecast"]["forecast_ms"].as_f64().expect("a time")
    };
    let recorded = number("waited_ms");
    assert!(start_up("1MB/s,40ms") > 1.5 * recorded, "{recorded}");
    assert!(start_up("none") < recorded, "{recorded}");
    let report = place.json(["report", "--params", "xvfb-24", "--format", "json"]);
    let warnings = report["warnings"].as_array().expect("warnings");
    let network = warnings
        .iter()
        .find(|warning| warning["kind"] == "emulated-network");
    assert_eq!(network.expect("it is said")["from"], "1MB/s,20ms");
    // The handlers of its server are timed all the same.
    assert_eq!(report["server"]["time_source"], "timed");
    // A client that would use MIT-SHM sends its images instead.
    let painter = example("shm_painter");
    let mut painter = place.x11prof(record.into_iter().chain([&*painter.to_string_lossy(), "1"]));
    let said = crate::harness::Finished::of(&mut painter).stderr();
    assert!(!said.contains("--try"), "{said}");
    let report = place.json(["report", "--params", "xvfb-24", "--format", "json"]);
    let names: Vec<&str> = report["requests"]
        .as_array()
        .expect("lines")
        .iter()
        .filter_map(|line| line["name"].as_str())
        .collect();
    let has = |name| names.contains(&name);
    assert!(has("PutImage") && !has("MIT-SHM:PutImage"), "{names:?}");
}
