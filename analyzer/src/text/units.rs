//! Converts figures to the units of results.

use std::time::Duration;

use x11prof_cost_model::Micros;

/// A time in milliseconds, rounded to a billionth, without the noise of binary fractions.
pub(crate) fn ms(time: Micros) -> f64 {
    (time.as_ms() * 1e9).round() / 1e9
}

/// Converts a duration to milliseconds.
pub(crate) fn duration_ms(duration: Duration) -> f64 {
    ms(Micros::from_nanos(duration.as_nanos() as f64))
}

/// Converts nanoseconds to milliseconds.
pub(crate) fn nanos_ms(nanos: u64) -> f64 {
    duration_ms(Duration::from_nanos(nanos))
}

/// `1 request`, `2 requests`, `2 replies`, `2 batches`: a count with its noun.
pub fn counted(count: u64, noun: &str) -> String {
    let stem = noun
        .strip_suffix('y')
        .filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u']));
    match stem {
        _ if count == 1 => format!("1 {noun}"),
        Some(stem) => format!("{count} {stem}ies"),
        None if noun.ends_with(['s', 'x']) || noun.ends_with("ch") => format!("{count} {noun}es"),
        None => format!("{count} {noun}s"),
    }
}

/// `part` as a percentage of `whole`; 0 if `whole` is 0.
pub fn percent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 {
        100.0 * part / whole
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn count_and_noun_agree() {
        let cases = [
            (1, "request"),
            (0, "request"),
            (51, "reply"),
            (2, "delay"),
            (3, "batch"),
            (2, "glyph set"),
        ];
        assert_eq!(
            cases.map(|(count, noun)| counted(count, noun)),
            [
                "1 request",
                "0 requests",
                "51 replies",
                "2 delays",
                "3 batches",
                "2 glyph sets"
            ]
        );
    }
}
