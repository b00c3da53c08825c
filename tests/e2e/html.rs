//! The page of `report --format html` in a browser (chromium and chromedriver): it needs no network, and its
//! controls work.

use crate::harness::browser::Browser;
use crate::harness::{Finished, Place, needs};
use serde_json::{Value, json};

const DATA: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/data/gtk3-widget-factory.mcap"
);

fn page(place: &Place) -> std::path::PathBuf {
    let page = place.path("page.html");
    let to = page.to_string_lossy();
    let servers = ["--params", "xvfb-24", "--params", "xephyr"];
    let made = ["report", "--format", "html", "-o", &to, DATA];
    place.ok(made.iter().copied().chain(servers));
    page
}

/// Rows of a table of the page.
const ROWS: &str = "const rows = (id) => [...document.querySelectorAll(`#${id} tbody tr`)];";

#[test]
fn html_report_is_navigable_and_self_contained() {
    let place = Place::new();
    needs("chromium", "chromium");
    needs("chromedriver", "chromium-driver");
    let browser = Browser::start();
    browser.open(&page(&place));
    assert_eq!(
        browser.run("return document.documentElement.dataset.ready"),
        "yes"
    );
    assert!(browser.number("return document.querySelectorAll('#verdict li').length") >= 1.0);

    // Text, JSON, CSV and the page rank requests equally.
    let ranked =
        |words: &[&str]| place.ok(["report", "--params", "xvfb-24", DATA].iter().chain(words));
    let json: Value = serde_json::from_str(&ranked(&["--format", "json"])).expect("JSON");
    let names: Vec<&str> = json["requests"]
        .as_array()
        .expect("requests")
        .iter()
        .filter_map(|line| line["name"].as_str())
        .take(8)
        .collect();
    let (text, csv) = (ranked(&[]), ranked(&["--format", "csv"]));
    let shown = browser.run(&format!(
        "{ROWS} return rows('request-table').map((row) => row.cells[0].textContent)"
    ));
    let shown = shown.as_array().expect("names").iter();
    let first = |line: &str| line.split([',', ' ']).next().unwrap_or_default().to_owned();
    let pages = [
        text.lines().map(first).collect::<Vec<_>>(),
        csv.lines()
            .filter_map(|line| Some(first(line.strip_prefix("request,")?)))
            .collect(),
        shown
            .filter_map(|name| Some(first(name.as_str()?)))
            .collect(),
    ];
    for page in pages {
        let known = page
            .iter()
            .map(String::as_str)
            .filter(|name| names.contains(name));
        assert_eq!(known.collect::<Vec<_>>(), names, "{page:?}");
    }

    // Searching shows only the rows that contain the word.
    let all = browser.number(&format!("{ROWS} return rows('request-table').length"));
    let found = browser.run(&format!(
        "{ROWS} const input = document.querySelector('#request-table input');
         input.value = 'composite'; input.dispatchEvent(new Event('input'));
         return rows('request-table').map((row) => row.cells[0].textContent)"
    ));
    let found = found.as_array().expect("names");
    assert!(!found.is_empty() && (found.len() as f64) < all, "{found:?}");
    assert!(
        found
            .iter()
            .all(|name| name.as_str().is_some_and(|name| name.contains("Composite")))
    );

    // Sorting by the number of requests, and back.
    let sorted = "const input = document.querySelector('#request-table input');
         input.value = ''; input.dispatchEvent(new Event('input'));
         const head = [...document.querySelectorAll('#request-table th button')].find((one) => one.textContent === 'Count');
         head.click();
         const numbers = rows('request-table').map((row) => Number(row.cells[head.parentElement.cellIndex].textContent.replaceAll(',', '')));
         return [head.parentElement.getAttribute('aria-sort'), numbers]";
    for (direction, ordered) in [("descending", true), ("ascending", false)] {
        let sorted = browser.run(&format!("{ROWS} {sorted}"));
        assert_eq!(sorted[0], direction);
        let numbers: Vec<f64> = sorted[1]
            .as_array()
            .expect("numbers")
            .iter()
            .filter_map(Value::as_f64)
            .collect();
        assert_eq!(numbers.len() as f64, all);
        assert!(
            numbers.is_sorted_by(|a, b| if ordered { a >= b } else { a <= b }),
            "{numbers:?}"
        );
    }

    // A request's histograms.
    assert!(
        browser.number(&format!(
            "{ROWS} rows('request-table')[0].click();
        return document.querySelectorAll('#request-detail svg rect').length"
        )) >= 1.0
    );

    // The slider and a click in the chart set the threshold, which filters the episodes.
    let slide = |value: u32| {
        browser.number(&format!(
            "{ROWS} const slider = document.getElementById('threshold');
            slider.value = '{value}'; slider.dispatchEvent(new Event('input'));
            return rows('episode-table').length"
        ))
    };
    let (every, few) = (slide(0), slide(600));
    assert!(every > few, "{every} {few}");
    let clicked = browser.run(
        "const over = document.querySelector('#cumulative .u-over'), box = over.getBoundingClientRect();
         const at = { clientX: box.left + box.width / 4, clientY: box.top + 5, pointerId: 1, buttons: 1, bubbles: true };
         over.setPointerCapture = () => {};
         const before = document.getElementById('threshold-ms').textContent;
         over.dispatchEvent(new PointerEvent('pointerdown', at));
         return [before, document.getElementById('threshold-ms').textContent]",
    );
    assert_ne!(clicked[0], clicked[1]);

    // Selecting a landmark filters the episodes; selecting an episode shows its parts and messages.
    slide(0);
    let narrowed = browser.run(&format!(
        "{ROWS} rows('landmark-table')[0].click();
        const landmark = rows('landmark-table')[0].cells[0].textContent;
        const left = new Set(rows('episode-table').map((row) => row.cells[1].textContent));
        rows('episode-table')[0].click();
        return [landmark, [...left], document.querySelector('#episode-detail h3').textContent,
            document.querySelectorAll('#episode-detail pre, #episode-detail p').length]"
    ));
    assert_eq!(narrowed[1], json!([narrowed[0]]));
    assert!(
        narrowed[2]
            .as_str()
            .is_some_and(|title| title.starts_with(narrowed[0].as_str().expect("a name")))
    );

    // Selecting a pattern filters as well; selecting it again clears the filter.
    let patterns = browser.run(&format!(
        "{ROWS} const count = () => rows('episode-table').length;
         rows('landmark-table')[0].click();
         const all = count(); rows('pattern-table')[0].click();
         const some = count(); rows('pattern-table')[0].click();
         return [rows('pattern-table').length, all, some, count()]"
    ));
    let patterns: Vec<f64> = patterns
        .as_array()
        .expect("numbers")
        .iter()
        .filter_map(Value::as_f64)
        .collect();
    assert!(
        patterns[0] > 1.0 && patterns[2] < patterns[1],
        "{patterns:?}"
    );
    assert_eq!(patterns[1], patterns[3]);

    // Every button, input and drawing has an accessible name.
    let nameless = browser.run(
        "const named = (one) => (one.getAttribute('aria-label') || one.textContent || one.title || '').trim()
             || one.labels?.length;
         return [...document.querySelectorAll('button, input, canvas, svg, [role=img], table, nav, section')]
             .filter((one) => !named(one) && !one.getAttribute('aria-labelledby')
                 && !(one.className === 'bar' && !one.children.length))
             .map((one) => one.outerHTML.slice(0, 80))",
    );
    assert_eq!(nameless, json!([]));

    // The timeline zooms with keys and the wheel, and resets to the full range.
    let zoomed = browser.run(
        "const line = document.getElementById('timeline'), length = () => line.shown().to - line.shown().from;
         const key = (key) => line.dispatchEvent(new KeyboardEvent('keydown', { key }));
         const all = length(); key('+'); const near = length();
         line.dispatchEvent(new WheelEvent('wheel', { deltaY: -1, cancelable: true })); const nearer = length();
         key('0'); return [all, near, nearer, length()]",
    );
    let zoomed: Vec<f64> = zoomed
        .as_array()
        .expect("lengths")
        .iter()
        .filter_map(Value::as_f64)
        .collect();
    assert!(
        zoomed[0] > zoomed[1] && zoomed[1] > zoomed[2] && zoomed[3] == zoomed[0],
        "{zoomed:?}"
    );

    // Each server has a column.
    let heads = "return [...document.querySelectorAll('#compare-table th')].map((head) => head.textContent)";
    assert_eq!(browser.run(heads).as_array().map(Vec::len), Some(4));

    // The round trips and the suggestions are listed.
    assert!(browser.number(&format!("{ROWS} return rows('roundtrip-table').length")) > 1.0);
    let suggestions = "return document.querySelectorAll('#advice ol li').length";
    assert!(browser.number(suggestions) >= 1.0);

    // `t` switches between the light and the dark theme.
    let themed = browser.run(
        "const back = () => getComputedStyle(document.body).backgroundColor, before = back();
        dispatchEvent(new KeyboardEvent('keydown', { key: 't' })); return [before, back()]",
    );
    assert_ne!(themed[0], themed[1]);

    // No element is wider than the window, in a wide and in a narrow window.
    for width in [1280, 520] {
        browser.resize(width);
        let excess =
            "return document.documentElement.scrollWidth - document.documentElement.clientWidth";
        assert_eq!(browser.number(excess), 0.0, "at {width}");
    }

    // The browser logged no error and made no network request.
    let errors: Vec<Value> = browser.log("browser");
    assert!(
        errors.iter().all(|line| line["level"] != "SEVERE"),
        "{errors:#?}"
    );
    for line in browser.log("performance") {
        let message = line["message"].as_str().expect("a message");
        let message: Value = serde_json::from_str(message).expect("JSON");
        if message["message"]["method"] == "Network.requestWillBeSent" {
            let url = message["message"]["params"]["request"]["url"]
                .as_str()
                .expect("a URL");
            assert!(
                url.starts_with("file:") || url.starts_with("data:"),
                "{url}"
            );
        }
    }
}

#[test]
fn incompatible_options_are_refused() {
    let place = Place::new();
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/xterm.mcap");
    let two = place.run(["report", "--params", "xvfb-24", "--params", "xephyr", data]);
    assert_eq!(two.output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&two.output.stderr);
    assert!(said.contains("x11prof compare"), "{said}");
    let text = place.run(["report", "--open", data]);
    assert_eq!(text.output.status.code(), Some(2));
}

#[test]
fn html_report_shows_program_functions() {
    needs("chromium", "chromium");
    needs("chromedriver", "chromium-driver");
    needs("xterm", "xterm");
    let place = Place::new();
    place.ok("record --server xvfb --stacks=requests -- xterm -e true".split(' '));
    place.ok(["report", "--format", "html", "-o", "page.html"]);
    let report = place.json(["report", "--format", "json"]);
    let browser = Browser::start();
    browser.open(&place.path("page.html"));
    assert_eq!(
        browser.run("return document.getElementById('code').hidden"),
        false
    );
    const PAGE: &str = "const about = () => document.getElementById('icicle-about').textContent;
         const boxes = () => [...document.querySelectorAll('#icicle button')];
         const choose = (at) => { const of = document.querySelector('#icicle-tools select');
           of.selectedIndex = at; of.dispatchEvent(new Event('change')); return about(); };";
    let reported = |script: &str| {
        let reported = browser.run(&format!("{PAGE} {script}"));
        reported.as_str().map(str::to_owned).unwrap_or_default()
    };
    // The flame graph contains all requests and round trips.
    let requests = &report["total"]["count"];
    assert_eq!(
        reported("return choose(1)"),
        format!("all: {requests}, 100 % of all")
    );
    let trips = place.json(["network", "--format", "json"]);
    let trips = &trips["callers"]["sampled"];
    assert_eq!(
        reported("return choose(3)"),
        format!("all: {trips}, 100 % of all")
    );
    // Clicking a function zooms to its full width.
    let chosen = "const open = () => boxes().find((one) => one.title.startsWith('XtOpenDisplay '));
         const before = open().style.width; open().click(); return `${before}, ${open().style.width}`";
    let widths = reported(chosen);
    assert!(
        widths.ends_with(", 100%") && !widths.starts_with("100%"),
        "{widths}"
    );
    let found = reported(
        "const input = document.querySelector('#icicle-tools input');
         input.value = 'xtopendisplay'; input.dispatchEvent(new Event('input')); return about()",
    );
    assert!(
        found.starts_with("Found: ") && found != "Found: 0.0 % of all",
        "{found}"
    );
}

#[test]
fn injected_script_does_not_run() {
    needs("chromium", "chromium");
    needs("chromedriver", "chromium-driver");
    let place = Place::new();
    let (page, other) = (page(&place), place.path("other.html"));
    let written = std::fs::read_to_string(&page).expect("a page");
    let planted = "<script>window.planted = 'inline'</script>\
                   <script nonce=\"0000000000000000\">window.planted = 'nonce'</script>\
                   <script src=\"data:text/javascript,window.planted='source'\"></script>\
                   <img src=\"data:,\" onerror=\"window.planted = 'handler'\">\
                   <a id=\"link\" href=\"javascript:window.planted='link'\">x</a>";
    let (before, after) = written.split_once("<body>").expect("a body");
    std::fs::write(&other, format!("{before}<body>{planted}{after}")).expect("a page");
    let browser = Browser::start();
    browser.open(&other);
    let found = browser.run(
        "document.getElementById('link').click();
         return [document.documentElement.dataset.ready, window.planted ?? null]",
    );
    assert_eq!(found, json!(["yes", null]));
    // The browser follows a link after the script that clicks it has returned.
    assert_eq!(browser.run("return window.planted ?? null"), json!(null));
    // The browser logs five refusals: three scripts, a handler and a link.
    let refused = browser.log("browser").into_iter();
    let refused = refused.filter(|line| line["message"].to_string().contains("script-src"));
    assert_eq!(refused.count(), 5);
}

/// Without -o, the page has the name of the recording, which the user did not choose.
#[test]
fn opened_page_replaces_only_pages_of_x11prof() {
    let place = Place::new();
    let trace = place.path("notes.mcap");
    std::fs::copy(
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/xclock.mcap"),
        trace,
    )
    .expect("a file");
    place.write("notes.html", b"mine");
    let run = || {
        let mut run = place.x11prof(["report", "notes.mcap", "--format", "html", "--open"]);
        // No browser is started.
        Finished::of(run.env("PATH", "/nonexistent"))
    };
    let line = run().failed_with_one_line(1);
    assert!(line.contains("no page of x11prof"), "{line}");
    assert_eq!(
        std::fs::read(place.path("notes.html")).expect("a file"),
        b"mine"
    );
    std::fs::remove_file(place.path("notes.html")).expect("a file");
    place.write("profile", b"mine");
    std::os::unix::fs::symlink("profile", place.path("notes.html")).expect("a link");
    run().failed_with_one_line(1);
    assert_eq!(
        std::fs::read(place.path("profile")).expect("a file"),
        b"mine"
    );
    std::fs::remove_file(place.path("notes.html")).expect("a link");
    for _ in 0..2 {
        let ended = run();
        assert!(ended.stderr().contains("the page is written"), "{ended}");
    }
}
