//! `diff` reports the changes between two versions of a program, and no other differences.

use crate::harness::{Place, needs};
use serde_json::Value;

/// Records a command `runs` times and returns the names of the traces.
fn record(place: &Place, name: &str, runs: usize, command: &[&str]) -> Vec<String> {
    let traces: Vec<String> = (0..runs).map(|run| format!("{name}-{run}.mcap")).collect();
    for trace in &traces {
        let words = ["record", "--server", "xvfb", "-o", trace, "--"];
        place.run(words.iter().chain(command)).succeeded();
    }
    traces
}

fn words<'a>(old: &'a [String], new: &'a [String], more: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["diff"];
    words.extend(more);
    words.extend(old.iter().map(String::as_str));
    words.push("--");
    words.extend(new.iter().map(String::as_str));
    words
}

fn row<'a>(difference: &'a Value, quantity: &str, name: &str) -> &'a Value {
    let rows = difference["rows"].as_array().expect("rows");
    rows.iter()
        .find(|row| row["quantity"] == quantity && row["name"] == name)
        .expect("its row")
}

#[test]
fn xterm_jump_scroll_is_a_significant_difference() {
    needs("xterm", "xterm");
    let place = Place::new();
    // The script queries the cursor position; xterm replies after all lines are drawn. Without the query xterm
    // exits with its child before it has read the rest of the lines.
    let script = r"seq 1 1000; stty -icanon -echo; printf '\033[6n'; read -r -d R place";
    let command = |mode| ["xterm", mode, "-e", "bash", "-c", script];
    let jumps = record(&place, "jumps", 5, &command("-j"));
    let scrolls = record(&place, "scrolls", 5, &command("+j"));
    let json = place.json(words(&jumps, &scrolls, &["--format", "json"]));
    assert_eq!(json["min_runs"], 4);
    // Smooth scrolling copies once per line; jump scrolling copies rarely, on a busy machine a few times as often.
    let copies = row(&json, "requests", "CopyArea");
    assert_eq!(copies["significant"], true, "{copies}");
    assert_eq!(copies["old"]["runs"], 5);
    assert!(copies["change"].as_f64().expect("a change") > 200.0);
    // Significant rows come first, ordered by their share of the quantity.
    let rows = json["rows"].as_array().expect("rows");
    let real = rows.iter().filter(|row| row["significant"] == true).count();
    assert_eq!(json["significant"], real);
    assert!(rows[..real].iter().all(|row| row["significant"] == true));
    let text = place.ok(words(&jumps, &scrolls, &[]));
    assert!(
        text.starts_with(&format!("{real} significant differences, such as ")),
        "{text}"
    );
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    assert!(text.lines().count() < 60, "{text}");
}

#[test]
fn client_option_limits_diff_to_one_client() {
    needs("xset", "x11-xserver-utils");
    needs("xlsatoms", "x11-utils");
    let place = Place::new();
    let both = ["sh", "-c", "xset q; xlsatoms -range 1-5"];
    let traces = record(&place, "both", 2, &both);
    let (old, new) = traces.split_at(1);
    let rows = |client: &[&str]| {
        let more = [&["--format", "json"], client].concat();
        let json = place.json(words(old, new, &more));
        json["rows"].as_array().expect("rows").clone()
    };
    let all = rows(&[]);
    let one = rows(&["--client", "xlsatoms"]);
    assert!(!one.is_empty() && one.len() < all.len(), "{one:#?}");
    let has = |name: &str| {
        let mut requests = one.iter().filter(|row| row["quantity"] == "requests");
        requests.any(|row| row["name"] == name)
    };
    // xset q queries the keyboard, and xlsatoms the names of atoms.
    assert!(has("GetAtomName") && !has("GetKeyboardControl"), "{one:#?}");
    let unknown = place.run(words(old, new, &["--client", "nobody"]));
    assert_eq!(unknown.status(), Some(2));
}

#[test]
fn repeated_runs_of_a_program_have_equal_counts() {
    needs("xset", "x11-xserver-utils");
    let place = Place::new();
    let traces = record(&place, "xset", 3, &["xset", "q"]);
    let (old, new) = traces.split_at(1);
    for new in [&new[..1], new] {
        let json = place.json(words(old, new, &["--format", "json"]));
        let rows = json["rows"].as_array().expect("rows");
        assert!(rows.len() > 10);
        let changed = rows.iter().filter(|row| {
            row["count"] == true && row["quantity"] != "episodes" && row["change"] != 0.0
        });
        assert_eq!(changed.count(), 0, "{json}");
        assert_eq!(json["significant"], Value::Null);
    }
    let text = place.ok(words(old, &new[..1], &[]));
    assert!(text.contains("one recording of each version"), "{text}");
}
