//! Parses the numbers in sentences and table rows of text output.

/// A number in a text, with its precision.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Number {
    /// The value of the number; times are in milliseconds.
    pub(super) value: f64,
    /// The rounding error: half a unit of the last printed digit.
    bound: f64,
}

impl Number {
    /// True if `value`, rounded to the printed digits, is this number.
    pub(super) fn is(self, value: f64) -> bool {
        (self.value - value).abs() <= self.bound * 1.001
    }
}

/// The number at index `place` among the numbers in the forty words after the text `after`; `None` if there is none.
pub(super) fn number(words: &str, after: &str, place: usize) -> Option<Number> {
    let (_, rest) = words.split_once(after)?;
    let tokens: Vec<&str> = rest
        .split(' ')
        .filter(|word| !word.is_empty())
        .take(40)
        .collect();
    let read = |(at, token): (usize, &&str)| {
        // A client's number is part of its name.
        if at > 0 && tokens[at - 1] == "(client" {
            return None;
        }
        let bare = token.trim_matches(['(', ')', ',', '.', ';', ':', '%']);
        let value: f64 = bare.parse().ok()?;
        let decimals = bare
            .split_once('.')
            .map_or(0, |(_, decimals)| decimals.len());
        let unit = tokens
            .get(at + 1)
            .map(|unit| unit.trim_matches([',', '.', ')', ';', ':']));
        let scale = match unit {
            Some("s") => 1e3,
            Some("µs") => 1e-3,
            Some("min") => 6e4,
            _ => 1.0,
        };
        let bound = scale * 0.5 * 10_f64.powi(-i32::try_from(decimals).ok()?);
        Some(Number {
            value: value * scale,
            bound,
        })
    };
    tokens.iter().enumerate().filter_map(read).nth(place)
}
