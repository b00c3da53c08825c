//! Third-party programs (a window manager, the clipboard, a compositor) and clients that do not interact.

use serde_json::Value;

use super::session::{Report, Session, number, of_others, text};
use crate::harness::needs;

/// True if an episode or a child is of a program.
fn is_of(of: &Value, program: &str) -> bool {
    text(of, "client_name").starts_with(program)
}

/// Finds a path from an episode down through other clients: these programs, each triggered by one of these
/// requests.
fn way<'a>(report: &'a Report, from: &str, links: &[(&str, &str)]) -> Option<Vec<&'a Value>> {
    fn down<'a>(of: &'a Value, links: &[(&str, &str)]) -> Option<Vec<&'a Value>> {
        let Some(((program, request), rest)) = links.split_first() else {
            return Some(vec![of]);
        };
        let below = of_others(of).into_iter();
        let mut fits = below.filter(|one| {
            is_of(one, program) && request.split('|').any(|name| text(one, "request") == name)
        });
        fits.find_map(|one| {
            let mut way = vec![of];
            way.extend(down(one, rest)?);
            Some(way)
        })
    }
    let roots = report.episodes().into_iter().filter(|one| is_of(one, from));
    roots.filter_map(|one| down(one, links)).next()
}

/// Asserts that a parent starts before its child and ends, including its descendants, after it.
fn in_order(way: &[&Value]) -> Result<(), String> {
    let end = |of: &Value| {
        let length = of["latency_ms"].as_f64();
        number(of, "start_ms") + length.unwrap_or_else(|| number(of, "latency_ms"))
    };
    for pair in way.windows(2) {
        let [parent, child] = pair else { continue };
        if number(parent, "start_ms") > number(child, "start_ms") || end(parent) < end(child) - 0.01
        {
            return Err(format!("{parent:#} does not hold {child:#}"));
        }
    }
    Ok(())
}

fn expect(report: &Report, from: &str, links: &[(&str, &str)]) -> Result<(), String> {
    let way = way(report, from, links);
    let shown = || {
        let all = report.episodes().into_iter();
        let children = all.filter(|one| !of_others(one).is_empty());
        children.map(|one| format!("{one:#}")).collect::<String>()
    };
    let way = way.ok_or_else(|| format!("no {from} → {links:?} among {}", shown()))?;
    let names: Vec<String> = way
        .iter()
        .map(|one| format!("{} {}", text(one, "client_name"), text(one, "landmark")))
        .collect();
    println!("{}", names.join(" → "));
    in_order(&way)
}

#[test]
fn unrelated_clients_have_no_nested_episodes() {
    needs("xterm", "xterm");
    needs("xclock", "x11-apps");
    let mut session = Session::new(&[]);
    let numbers = "i=0; while :; do i=$((i+1)); echo $i; sleep 0.01; done";
    session.start("xterm", &["-e", "sh", "-c", numbers]);
    session.start("xclock", &["-update", "1", "-geometry", "+500+0"]);
    let ticker = session.start_example("ticker", &[]);
    let chain = session.start_example("chain", &["0", "key", "30,20,10,25,15,30"]);
    session.said(ticker, "ready");
    session.said(chain, "ready");
    session.person("mousemove 50 50");
    for _ in 0..6 {
        session.person("key a");
        session.look(300);
    }
    let report = session.end();
    let episodes = report.episodes();
    for program in ["xterm", "ticker", "chain"] {
        let has = |one: &&&Value| text(one, "client_name").starts_with(program);
        assert!(episodes.iter().any(|one| has(&one)), "{program}");
    }
    let with: Vec<&&Value> = episodes
        .iter()
        .filter(|one| !of_others(one).is_empty())
        .collect();
    assert!(with.is_empty(), "false children: {with:#?}");
}

#[test]
fn map_and_configure_episodes_nest_with_window_manager() -> Result<(), String> {
    needs("openbox", "openbox");
    needs("xterm", "xterm");
    let mut session = Session::new(&[]);
    session.start_window_manager();
    session.start("xterm", &["-geometry", "80x24+100+100"]);
    session.until_seen("xterm");
    session.look(400);
    for words in [["windowmove", "200", "150"], ["windowsize", "600", "300"]] {
        let mut command = session.command("xdotool");
        command.args(["search", "--class", "xterm"]).args(words);
        let mover = session.spawn(command);
        session.ended(mover);
        session.look(500);
    }
    let report = session.end();
    // If openbox is still handling the first request, it handles both together.
    expect(
        &report,
        "xterm",
        &[("openbox", "MapWindow|ConfigureWindow")],
    )?;
    // xdotool has no window and no episode, so the actions that it triggers are separate episodes.
    expect(&report, "openbox", &[("xterm", "ConfigureWindow")])
}

#[test]
fn paste_episode_includes_the_clipboard_owner() -> Result<(), String> {
    needs("xsel", "xsel");
    let mut session = Session::new(&[]);
    let text = session.path("text");
    std::fs::write(&text, vec![b'x'; 600_000]).expect("a file");
    let mut owner = session.command("sh");
    owner.args(["-c", "exec xsel -b -i -n < text"]);
    owner.current_dir(text.parent().expect("a folder"));
    session.spawn(owner);
    session.until_owned("CLIPBOARD");
    session.start("xsel", &["-b", "-o"]);
    session.look(600);
    let report = session.end();
    expect(&report, "xsel", &[("xsel", "ConvertSelection")])
}

#[test]
fn key_episodes_include_the_compositor() -> Result<(), String> {
    needs("picom", "picom");
    needs("xterm", "xterm");
    let mut session = Session::new(&[]);
    session.start("picom", &["--backend", "xrender", "--config", "/dev/null"]);
    session.until_owned("_NET_WM_CM_S0");
    session.start("xterm", &["-geometry", "80x24+0+0"]);
    session.until_seen("xterm");
    session.look(400);
    session.person("mousemove 50 50");
    for key in ["a", "b", "c", "Return"] {
        session.person(&format!("key {key}"));
        session.look(600);
    }
    let report = session.end();
    let episodes = report.episodes();
    let keys = episodes
        .iter()
        .filter(|one| text(one, "landmark").starts_with("KeyPress"));
    let with = keys.filter(|one| of_others(one).iter().any(|child| is_of(child, "picom")));
    match with.count() {
        0..=2 => Err(format!("{:#}", report.json["episodes"])),
        _ => Ok(()),
    }
}

/// A dialog and a menu that a GTK handler opens are phases of its episode and do not count towards its latency.
#[test]
fn gtk_dialog_and_menu_are_phases_of_their_episode() -> Result<(), String> {
    needs("openbox", "openbox");
    let mut session = Session::new(&[]);
    session.start_window_manager();
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/clients/toolkits/modal.py"
    );
    let program = session.start("/usr/bin/python3", &[script]);
    session.said(program, "ready");
    session.until_active();
    // The first XTEST key changes the server's keyboard; openbox reloads the keymap.
    session.person("key Shift_L");
    session.look(800);
    for key in ["a", "m"] {
        session.person(&format!("key {key}"));
        session.look(900);
        session.person("key Escape");
        session.look(400);
    }
    let report = session.end();
    opens(&report, "KeyPress a", &["modal", "transient"])?;
    opens(&report, "KeyPress m", &["grab"])?;
    expect(
        &report,
        "python3",
        &[("openbox", "MapWindow|ConfigureWindow")],
    )
}

fn opens(report: &Report, landmark: &str, hows: &[&str]) -> Result<(), String> {
    let all = report.episodes().into_iter();
    let mut of = all.filter(|one| text(one, "landmark").starts_with(landmark));
    let of = of.next().ok_or_else(|| format!("no {landmark}"))?;
    let phases = of["modal"].as_array().into_iter().flatten();
    let mut phases = phases.filter(|phase| hows.contains(&text(phase, "kind")));
    let phase = phases
        .next()
        .ok_or_else(|| format!("no {hows:?} of {of:#}"))?;
    let (long, own) = (number(phase, "duration_ms"), number(of, "latency_ms"));
    println!(
        "{landmark}: {own:.1} ms, and {} for {long:.1} ms",
        text(phase, "kind")
    );
    // The handler slept 40 ms, and the dialog or menu stayed open for 900 ms.
    let more = report.disturbed_ms;
    let right =
        (40.0..500.0 + more).contains(&own) && (600.0 - more..1500.0 + more).contains(&long);
    let thought = number(phase, "episodes") >= 1.0;
    match right && thought {
        true => Ok(()),
        false => Err(format!("{of:#}")),
    }
}

#[test]
#[ignore = "needs Java and takes long to start; cargo xtask validate nesting"]
fn swing_menu_and_dialog_are_phases_of_their_episode() -> Result<(), String> {
    needs("openbox", "openbox");
    needs("java", "default-jre");
    let mut session = Session::new(&[]);
    session.start_window_manager();
    let source = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/clients/toolkits/Menu.java"
    );
    let program = session.start("java", &[source]);
    session.said(program, "ready");
    session.look(2500);
    // The first keys reveal the role of each of its threads.
    for _ in 0..3 {
        session.person("key x");
        session.look(300);
    }
    for key in ["m", "a"] {
        session.person(&format!("key {key}"));
        session.look(900);
        session.person("key Escape");
        session.look(600);
    }
    let report = session.end();
    opens(&report, "KeyPress m", &["grab", "transient"])?;
    opens(&report, "KeyPress a", &["modal", "transient"])
}

#[test]
#[ignore = "starts a bus and an input method; cargo xtask validate nesting"]
fn typing_episode_includes_the_input_method() -> Result<(), String> {
    needs("ibus-daemon", "ibus");
    needs("dbus-run-session", "dbus-daemon");
    needs("xterm", "xterm");
    let mut session = Session::new(&[]);
    let script = "ibus-daemon --xim --panel disable --config disable & sleep 3\n\
                      XMODIFIERS=@im=ibus xterm -geometry 80x24+0+0 & sleep 30";
    let mut command = session.command("dbus-run-session");
    command.args(["timeout", "20", "sh", "-c", script]);
    session.spawn(command);
    session.look(6000);
    session.person("mousemove 50 50");
    for key in ["a", "b", "c"] {
        session.person(&format!("key {key}"));
        session.look(400);
    }
    let report = session.end();
    expect(&report, "xterm", &[("ibus-x11", "SendEvent")])
}

/// Delay of the test's input method for each key, in milliseconds.
const INPUT_METHOD_MS: f64 = 200.0;

#[test]
fn slow_input_method_is_blamed() -> Result<(), String> {
    needs("xterm", "xterm");
    let mut session = Session::new(&[]);
    let method = session.start_example("input_method", &["200"]);
    session.said(method, "ready");
    let mut command = session.command("xterm");
    command.args(["-geometry", "80x24+0+0"]);
    command.env("XMODIFIERS", "@im=x11prof").env("LC_ALL", "C");
    session.spawn(command);
    session.until_seen("xterm");
    session.look(400);
    session.person("mousemove 50 50");
    for key in ["a", "b"] {
        session.person(&format!("key {key}"));
        session.look(600);
    }
    let report = session.end();
    let all = report.episodes();
    let mut keys = all
        .iter()
        .filter(|one| text(one, "landmark").starts_with("KeyPress"));
    let key = keys.next().ok_or("no key")?;
    let (inclusive, blame) = (number(key, "latency_ms"), &key["blame"]);
    println!("{inclusive:.1} ms: {}", text(blame, "sentence"));
    let blamed = text(blame, "kind") == "other_client" && text(blame, "client") == "input_method";
    let most = INPUT_METHOD_MS + 80.0 + report.disturbed_ms;
    let near = |ms: f64| (INPUT_METHOD_MS..most).contains(&ms);
    let right = blamed && near(inclusive) && near(number(blame, "ms"));
    // The tree contains xterm's own part and the input method's; the forwarded key continues the same action.
    let tree = expect(&report, "xterm", &[("input_method", "SendEvent")]);
    match right {
        true => tree,
        false => Err(format!("{key:#}")),
    }
}
