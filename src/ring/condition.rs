//! The conditions for writing a ring to a file: `record --when`.

use std::fmt;
use std::str::FromStr;

/// A condition of `--when`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Condition {
    /// An episode took longer than this number of milliseconds.
    Episode(f64),
    /// A client delayed the server for longer than this number of milliseconds.
    Stall(f64),
    /// `x11prof mark` added a mark to the recording.
    Mark,
    /// The recorder received SIGUSR1.
    Signal,
}

/// The possible conditions of `--when`, for error messages.
const FORMS: &str = "'episode > 200ms', 'stall > 50ms', mark or signal";

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Condition, String> {
        let text = text.trim();
        match text {
            "mark" => return Ok(Condition::Mark),
            "signal" => return Ok(Condition::Signal),
            _ => {}
        }
        let Some((what, than)) = text.split_once('>') else {
            return Err(match text {
                "episode" | "stall" => format!("longer than what? As in '{text} > 100ms'"),
                _ => format!("expected {FORMS}"),
            });
        };
        let make = match what.trim() {
            "episode" => Condition::Episode,
            "stall" => Condition::Stall,
            _ => return Err(format!("expected {FORMS}")),
        };
        Ok(make(milliseconds(than.trim())?))
    }
}

/// Parses a duration such as `200ms` or `0.2s`. Returns milliseconds.
fn milliseconds(text: &str) -> Result<f64, String> {
    let (number, factor) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(number), _) => (number, 1.0),
        (None, Some(number)) => (number, 1000.0),
        (None, None) => return Err(format!("{text:?} has no unit: 200ms, 0.2s")),
    };
    let number: Option<f64> = number.trim().parse().ok();
    let ms = number.map(|number| number * factor);
    ms.filter(|ms| *ms > 0.0 && ms.is_finite())
        .ok_or_else(|| format!("{text:?} is no time above 0: 200ms, 0.2s"))
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::Episode(ms) => write!(f, "episode > {ms}ms"),
            Condition::Stall(ms) => write!(f, "stall > {ms}ms"),
            Condition::Mark => f.write_str("mark"),
            Condition::Signal => f.write_str("signal"),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::Condition;

    #[test]
    fn conditions_are_parsed() {
        let of = |text: &str| text.parse::<Condition>();
        assert_eq!(of("episode > 200ms"), Ok(Condition::Episode(200.0)));
        assert_eq!(of("episode>0.2s"), Ok(Condition::Episode(200.0)));
        assert_eq!(of(" stall >  50 ms "), Ok(Condition::Stall(50.0)));
        assert_eq!(of("mark"), Ok(Condition::Mark));
        assert_eq!(of("signal"), Ok(Condition::Signal));
        for (text, part) in [
            ("episode", "longer than what"),
            ("episode > 200", "no unit"),
            ("episode > -1ms", "above 0"),
            ("stall > soonms", "above 0"),
            ("grab > 5ms", "expected"),
            ("", "expected"),
        ] {
            let error = of(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
        assert_eq!(of("stall > 50ms").unwrap().to_string(), "stall > 50ms");
    }
}
