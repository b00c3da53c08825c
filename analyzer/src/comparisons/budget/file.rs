//! Reads the file with the limits of a budget (TOML).

use std::collections::BTreeMap;

use serde::Deserialize;

/// The limits of a program's costs, from a budget file. Figures without an entry have no limit.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Budget {
    /// Selects the clients whose name contains this text, or the client with this number; all clients if absent.
    pub client: Option<String>,
    /// The round-trip time of the network for which network limits apply, in milliseconds; 50 if absent.
    pub rtt_ms: Option<f64>,
    /// The limits for the whole recording.
    pub total: TotalLimits,
    /// The limits for the start-up of the program.
    pub start_up: StartUpLimits,
    /// Maximum number of requests of each kind, by name of the request.
    pub requests: BTreeMap<String, u64>,
    /// Maximum number of round trips for each kind of request, by name of the request.
    pub round_trips: BTreeMap<String, u64>,
}

/// The limits for the whole recording; `None` for no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TotalLimits {
    /// The maximum number of requests of the program.
    pub requests: Option<u64>,
    /// Maximum number of bytes of requests.
    pub bytes: Option<u64>,
    /// Maximum number of round trips (replies that the client waits for).
    pub round_trips: Option<u64>,
    /// The maximum number of round trips that only synchronize (XSync).
    pub synchronisations: Option<u64>,
    /// Maximum number of unnecessarily repeated requests.
    pub duplicates: Option<u64>,
    /// Maximum number of resources that still exist at the end.
    pub resources_left: Option<u64>,
    /// Maximum time that a link of `rtt_ms` adds by the simulated forecast, in milliseconds.
    pub network_ms: Option<f64>,
    /// Maximum server time of all clients as in `report`, in milliseconds.
    pub server_ms: Option<f64>,
}

/// The limits for the start-up, summed over all connections of the program; `None` for no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StartUpLimits {
    /// Maximum number of requests during start-up.
    pub requests: Option<u64>,
    /// Maximum number of bytes of requests during start-up.
    pub bytes: Option<u64>,
    /// Maximum number of round trips (replies that the client waits for) during start-up.
    pub round_trips: Option<u64>,
    /// Maximum number of round trips during start-up that only synchronise (XSync).
    pub synchronisations: Option<u64>,
    /// Maximum time that a link of `rtt_ms` adds to start-up by the simulated forecast, in milliseconds.
    pub network_ms: Option<f64>,
    /// Maximum time until the first frame of the slowest connection, in milliseconds.
    pub latency_ms: Option<f64>,
}

/// An error in a budget file, with its reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct BudgetError {
    line: usize,
    what: String,
}

impl Budget {
    /// Parses the text of a budget file.
    pub fn parse(text: &str) -> Result<Budget, BudgetError> {
        let budget: Budget = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            BudgetError {
                line: line_at(text, at),
                what: in_words(error.message()),
            }
        })?;
        let times = [
            ("rtt_ms", budget.rtt_ms),
            ("network_ms", budget.total.network_ms),
            ("server_ms", budget.total.server_ms),
            ("network_ms", budget.start_up.network_ms),
            ("latency_ms", budget.start_up.latency_ms),
        ];
        for (name, value) in times {
            if value.is_some_and(|value| !value.is_finite() || value < 0.0) {
                return Err(wrong(
                    text,
                    name,
                    format!("{name}: expected a number of milliseconds from 0 on"),
                ));
            }
        }
        if budget.client.is_some() && budget.total.server_ms.is_some() {
            let what = "server_ms counts all clients: remove server_ms or client";
            return Err(wrong(text, "server_ms", what.to_owned()));
        }
        match budget.limits() {
            0 => Err(BudgetError {
                line: 1,
                what:
                    "the file sets no limit; expected one such as round_trips = 60 under [start_up]"
                        .to_owned(),
            }),
            _ => Ok(budget),
        }
    }

    /// The request names in the budget.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let names = self.requests.keys().chain(self.round_trips.keys());
        names.map(String::as_str)
    }

    /// The error of a budget file with this text for a name that no request has. `meant` is the most similar name.
    pub fn unknown_name(text: &str, name: &str, meant: &str) -> BudgetError {
        let what = format!("no request has the name {name:?}; did you mean {meant:?}?");
        wrong(text, name, what)
    }

    fn limits(&self) -> usize {
        let (total, start_up) = (&self.total, &self.start_up);
        let counts = [
            total.requests,
            total.bytes,
            total.round_trips,
            total.synchronisations,
            total.duplicates,
            total.resources_left,
            start_up.requests,
            start_up.bytes,
            start_up.round_trips,
            start_up.synchronisations,
        ];
        let times = [
            total.network_ms,
            total.server_ms,
            start_up.network_ms,
            start_up.latency_ms,
        ];
        counts.iter().flatten().count()
            + times.iter().flatten().count()
            + self.requests.len()
            + self.round_trips.len()
    }
}

fn line_at(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}

/// Returns an error at the first line of `text` that begins with `key`. `what` describes the error.
fn wrong(text: &str, key: &str, what: String) -> BudgetError {
    let is = |line: &str| {
        line.trim_start()
            .trim_start_matches(['"', '\''])
            .starts_with(key)
    };
    BudgetError {
        line: text.lines().position(is).map_or(1, |at| at + 1),
        what,
    }
}

/// Returns the TOML library's error message without names of Rust types.
fn in_words(message: &str) -> String {
    message
        .replace("expected u64", "expected a whole number from 0 on")
        .replace("expected f64", "expected a number of milliseconds")
        .replace(
            "expected a map",
            "expected a table, such as [round_trips] and below it GetProperty = 20",
        )
        .replace("expected struct TotalLimits", "expected a table of limits")
        .replace(
            "expected struct StartUpLimits",
            "expected a table of limits",
        )
        .replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::Budget;

    fn error(text: &str) -> String {
        Budget::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn limits_are_parsed_and_unknown_requests_reported() {
        let text = "rtt_ms = 100\n[start_up]\nround_trips = 60\n[requests]\n\"RANDR:GetScreenResources\" = 0\n";
        let budget = Budget::parse(text).unwrap();
        assert_eq!(budget.start_up.round_trips, Some(60));
        assert_eq!(budget.requests.get("RANDR:GetScreenResources"), Some(&0));
        let name = "RANDR:GetScreenResources";
        assert_eq!(budget.names().collect::<Vec<_>>(), [name]);
        assert_eq!(
            Budget::unknown_name(text, name, "InternAtom").to_string(),
            "line 5: no request has the name \"RANDR:GetScreenResources\"; did you mean \"InternAtom\"?"
        );
    }

    #[test]
    fn errors_report_the_line() {
        let misspelt = error("[start_up]\nround_trips = 1\nround_trip = 2\n");
        assert!(
            misspelt.starts_with("line 3: unknown field `round_trip`, expected one of"),
            "{misspelt}"
        );
        let negative = error("[total]\n\nrequests = -1\n");
        assert!(negative.starts_with("line 3: "), "{negative}");
        assert!(
            negative.ends_with("expected a whole number from 0 on"),
            "{negative}"
        );
        let word = error("[total]\nbytes = \"few\"\n");
        assert!(
            word.starts_with("line 2: ") && word.contains("a whole number"),
            "{word}"
        );
        let time = error("[start_up]\nnetwork_ms = -5.0\n");
        assert!(
            time.starts_with("line 2: network_ms: expected a number"),
            "{time}"
        );
        assert!(error("").contains("sets no limit"));
        assert!(error("[total\n").starts_with("line 1: "));
        let both = error("client = \"x\"\n[total]\nserver_ms = 3\n");
        assert!(
            both.starts_with("line 3: server_ms counts all clients"),
            "{both}"
        );
    }
}
