//! Checks that apply to every output: no share is above 100 %, no duration or count is negative, and quantiles ascend.

use serde_json::Value;

use super::outcome::Audit;

/// Groups of fields whose values must ascend in this order, such as percentiles.
const RISING: [&[&str]; 5] = [
    &["min_ms", "p50_ms", "p75_ms", "p95_ms", "p98_ms", "max_ms"],
    &["min_ms", "mean_ms", "max_ms"],
    &["min", "median", "max"],
    &["min", "mode", "max"],
    &["low_ms", "time_ms", "high_ms"],
];

/// Percentages that may exceed 100 %, because several processes run at the same time.
const LARGER: [&str; 2] = ["percent_of_wall", "client_percent"];

/// Checks the figures of an output recursively. `place` is the path of `value`, for messages.
pub(super) fn figures(place: &str, value: &Value, audit: &mut Audit) {
    match value {
        Value::Object(fields) => {
            for order in RISING {
                let known: Vec<(&str, f64)> = order
                    .iter()
                    .filter_map(|name| Some((*name, fields.get(*name)?.as_f64()?)))
                    .collect();
                for pair in known.windows(2) {
                    let holds = pair[0].1 <= pair[1].1 * (1.0 + 1e-9) + 1e-6;
                    audit.note(holds, place, pair[0], "more than", pair[1]);
                }
            }
            for (name, value) in fields {
                let place = format!("{place} {name}");
                bounds(name, &place, value, audit);
                figures(&place, value, audit);
            }
        }
        Value::Array(list) => {
            for (number, value) in list.iter().enumerate() {
                if value.is_object() {
                    figures(&format!("{place} {number}"), value, audit);
                }
            }
        }
        _ => {}
    }
}

fn bounds(name: &str, place: &str, value: &Value, audit: &mut Audit) {
    if let Value::Array(list) = value {
        for value in list.iter().filter(|value| value.is_number()) {
            bounds(name, place, value, audit);
        }
    }
    let Some(number) = value.as_f64() else { return };
    let is_share = name.starts_with("percent") || name.ends_with("_percent");
    if is_share && !LARGER.contains(&name) {
        audit.note(
            number <= 100.0001,
            place,
            ("it", number),
            "more than",
            ("all", 100.0),
        );
    }
    // A process may have started before its recording, so start times may be negative.
    let is_length = name.ends_with("_ms") && !name.contains("start_ms");
    if is_share || is_length || name == "count" {
        audit.note(
            number >= 0.0,
            place,
            ("it", number),
            "less than",
            ("nothing", 0.0),
        );
    }
}

/// Checks the percentages in the text output `words`. `place` is the name of the output, for messages.
pub(super) fn words(place: &str, words: &str, audit: &mut Audit) {
    let mut before: Vec<&str> = Vec::new();
    for word in words.split(' ') {
        let is_share = word.trim_end_matches([',', '.', ')', ';', ':']) == "%";
        let number = before
            .last()
            .and_then(|number| number.trim_start_matches('(').parse().ok());
        if let (true, Some(number)) = (is_share, number) {
            let last = &before[before.len().saturating_sub(6)..];
            let figure = format!("{place} \"{} %\"", last.join(" "));
            let holds = (0.0..=100.0).contains(&number);
            audit.note(holds, &figure, ("it", number), "more than", ("all", 100.0));
        }
        before.push(word);
    }
}
