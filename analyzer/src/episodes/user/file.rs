//! Files of user-defined events: the TOML format and its errors.

use serde::Deserialize;
use toml::Spanned;

use super::definition::{EventDefinition, EventDefinitions, MessageMatch, MessageName};

/// The version of the format that is read.
const FORMAT: u32 = 1;
/// Maximum number of events of a file.
const MAX_EVENTS: usize = 64;

/// An error in a file of user-defined events.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct EventFileError {
    /// The number of the line that contains the error, from 1.
    pub line: usize,
    /// The error, and the text that was expected.
    pub what: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: Spanned<u32>,
    #[serde(default)]
    event: Vec<Spanned<Entry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    #[serde(rename = "type", default)]
    kind: String,
    start: Spanned<WhenEntry>,
    end: Option<Spanned<WhenEntry>>,
    #[serde(default)]
    reuse: bool,
    #[serde(default)]
    nested: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WhenEntry {
    event: Option<String>,
    request: Option<String>,
    class: Option<String>,
    window: Option<String>,
    key: Option<String>,
    button: Option<u32>,
    atom: Option<String>,
    property: Option<String>,
}

impl EventDefinitions {
    /// Parses a file of event definitions (docs/REFERENCE.md).
    ///
    /// # Errors
    ///
    /// The file is not valid. The error contains the position, and what was expected.
    pub fn parse(text: &str) -> Result<EventDefinitions, EventFileError> {
        let file: File = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            wrong(text, at, error.message().replace('\n', " "))
        })?;
        if *file.format.get_ref() != FORMAT {
            let what = format!("format {}; expected {FORMAT}", file.format.get_ref());
            return Err(wrong(text, file.format.span().start, what));
        }
        if file.event.is_empty() || file.event.len() > MAX_EVENTS {
            let what = format!(
                "{} events; expected 1 to {MAX_EVENTS}, each under [[event]]",
                file.event.len()
            );
            return Err(wrong(text, 0, what));
        }
        let mut all: Vec<EventDefinition> = Vec::new();
        for entry in file.event {
            let at = entry.span().start;
            let entry = entry.into_inner();
            if all.iter().any(|known| known.name == entry.name) {
                let what = format!("{:?} is defined twice; expected another name", entry.name);
                return Err(wrong(text, at, what));
            }
            let when = |when: Spanned<WhenEntry>| {
                let at = when.span().start;
                when.into_inner()
                    .into_match()
                    .map_err(|what| wrong(text, at, what))
            };
            all.push(EventDefinition {
                name: entry.name,
                kind: entry.kind,
                start: when(entry.start)?,
                end: entry.end.map(when).transpose()?,
                reuse: entry.reuse,
                nested: entry.nested,
            });
        }
        Ok(EventDefinitions(all))
    }
}

fn wrong(text: &str, at: usize, what: String) -> EventFileError {
    let before = text.get(..at).unwrap_or_default();
    EventFileError {
        line: 1 + before.matches('\n').count(),
        what,
    }
}

impl WhenEntry {
    fn into_match(self) -> Result<MessageMatch, String> {
        let of = match (self.event, self.request) {
            (Some(event), None) => MessageName::Event(event),
            (None, Some(request)) => MessageName::Request(request),
            _ => {
                return Err(
                    "expected either event = \"…\" or request = \"…\", such as event = \"KeyPress\""
                        .to_owned(),
                );
            }
        };
        if matches!(of, MessageName::Request(_)) && (self.key.is_some() || self.button.is_some()) {
            return Err("a request has no key and no button; expected event = \"…\"".to_owned());
        }
        let atom = match (self.atom, self.property) {
            (Some(_), Some(_)) => {
                return Err("expected one of atom and property, which mean the same".to_owned());
            }
            (atom, property) => atom.or(property),
        };
        Ok(MessageMatch {
            of,
            class: self.class,
            window: self.window,
            key: self.key,
            button: self.button,
            atom,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{EventDefinitions, MessageName};

    fn error(text: &str) -> String {
        EventDefinitions::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn event_definitions_are_parsed() {
        let text = "format = 1\n[[event]]\nname = \"Typing\"\ntype = \"input\"\n\
                    start = { event = \"KeyPress\", class = \"XTerm\" }\nnested = true\n";
        let EventDefinitions(all) = EventDefinitions::parse(text).unwrap();
        let [one] = all.as_slice() else { panic!() };
        assert_eq!((one.name.as_str(), one.kind.as_str()), ("Typing", "input"));
        assert_eq!(one.start.of, MessageName::Event("KeyPress".to_owned()));
        assert_eq!(
            (one.end.is_none(), one.reuse, one.nested),
            (true, false, true)
        );
    }

    #[test]
    fn errors_report_the_line_and_expected_value() {
        let head = "format = 1\n[[event]]\n";
        assert_eq!(error("format = 2\n"), "line 1: format 2; expected 1");
        assert_eq!(
            error("format = 1\n"),
            "line 1: 0 events; expected 1 to 64, each under [[event]]"
        );
        let typo = error(&format!(
            "{head}name = \"A\"\nstrat = {{ event = \"X\" }}\n"
        ));
        assert!(
            typo.starts_with("line 4: unknown field `strat`, expected"),
            "{typo}"
        );
        let neither = error(&format!(
            "{head}name = \"A\"\nstart = {{ class = \"X\" }}\n"
        ));
        assert!(
            neither.starts_with("line 4: expected either event"),
            "{neither}"
        );
        let key = error(&format!(
            "{head}name = \"A\"\nstart = {{ event = \"X\" }}\nend = {{ request = \"X\", key = \"a\" }}\n"
        ));
        assert!(key.starts_with("line 5: a request has no key"), "{key}");
        let missing = error(&format!("{head}name = \"A\"\n"));
        assert!(missing.contains("missing field `start`"), "{missing}");
        let start = "start = { event = \"X\" }\n";
        let twice = format!("{head}name = \"A\"\n{start}[[event]]\nname = \"A\"\n{start}");
        assert!(
            error(&twice).starts_with("line 5: \"A\" is defined twice"),
            "{}",
            error(&twice)
        );
        assert!(error("format = [").starts_with("line 1: "));
    }
}
