//! Parses a parameter file in TOML to `ServerParameters`, with errors that contain the line.

use serde::Deserialize;
use toml::de::{DeTable, DeValue, Deserializer, ValueDeserializer};

use crate::validation::{Flaw, validate};
use crate::{FORMAT, ServerParameters};

/// The reasons why a parameter file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// The text is not TOML, or a field is missing, unknown or of the wrong type.
    #[error("{}{message}", at_line(*.line))]
    Syntax {
        /// The line of the error, counted from 1; `None` if unknown.
        line: Option<usize>,
        /// The problem, as a sentence.
        message: String,
    },
    /// The text is TOML, but not a parameter file.
    #[error(
        "this is no server parameter file: it does not say `format = {FORMAT}` \
         (x11prof calibrate writes one)"
    )]
    Foreign,
    /// The version of the file is not supported.
    #[error(
        "the file is of format {found}, and this x11prof reads format {FORMAT}: \
         take a newer x11prof, or measure again"
    )]
    Version {
        /// The version number in the file.
        found: i64,
    },
    /// A figure in the file is invalid.
    #[error("{}{entry}: {message}", at_line(*.line))]
    Invalid {
        /// The line of the error, counted from 1; `None` if unknown.
        line: Option<usize>,
        /// The entry with the error: a request with its attributes, or a part of transport.
        entry: String,
        /// The problem and its remedy.
        message: String,
    },
}

fn at_line(line: Option<usize>) -> String {
    line.map_or_else(String::new, |line| format!("line {line}: "))
}

impl ServerParameters {
    /// Parses and checks a parameter file in TOML (docs/REFERENCE.md).
    pub fn from_toml(text: &str) -> Result<ServerParameters, ParameterError> {
        // The version is checked first, because a newer format may have fields that are unknown here.
        let document = DeTable::parse(text).map_err(|error| syntax(text, &error))?;
        if let Some(version) = document.get_ref().get("format") {
            let version = i64::deserialize(ValueDeserializer::from(version.clone()));
            let found = version.map_err(|error| syntax(text, &error))?;
            if found != i64::from(FORMAT) {
                return Err(ParameterError::Version { found });
            }
        } else {
            return Err(ParameterError::Foreign);
        }
        let parameters = ServerParameters::deserialize(Deserializer::from(document))
            .map_err(|error| syntax(text, &error))?;
        match validate(&parameters) {
            Ok(()) => Ok(parameters),
            Err(flaw) => Err(ParameterError::Invalid {
                line: line_of_flaw(text, &flaw),
                entry: flaw.entry,
                message: flaw.message,
            }),
        }
    }
}

/// The message of the TOML parser in one line, with its position.
fn syntax(text: &str, error: &toml::de::Error) -> ParameterError {
    let mut message = error.message().trim_end().replace('\n', ", ");
    if message.starts_with("unknown field") {
        message.push_str("; if another version of x11prof wrote the file, measure again");
    }
    ParameterError::Syntax {
        line: error.span().map(|span| line_at(text, span.start)),
        message,
    }
}

pub(crate) fn line_at(text: &str, byte: usize) -> usize {
    let before = text.as_bytes().iter().take(byte);
    1 + before.filter(|byte| **byte == b'\n').count()
}

/// Returns the number of the line with `flaw`, from 1: the line of the point, or of the request if the flaw is in no
/// point. `None` if the flaw is in no request.
fn line_of_flaw(text: &str, flaw: &Flaw) -> Option<usize> {
    let document = DeTable::parse(text).ok()?;
    let requests = document.get_ref().get("request")?;
    let request = requests.get_ref().as_array()?.get(flaw.request?)?;
    let point = flaw
        .point
        .and_then(|point| point_of(request.get_ref(), point));
    Some(line_at(text, point.unwrap_or_else(|| request.span().start)))
}

fn point_of(request: &DeValue<'_>, point: usize) -> Option<usize> {
    let points = request.as_table()?.get("points")?.get_ref().as_array()?;
    Some(points.get(point)?.span().start)
}

#[cfg(test)]
mod tests {
    use super::ParameterError;
    use crate::{AttributeValue, Micros, ServerParameters};

    const HEAD: &str = "format = 1\n[server]\nname = \"test\"\n";

    fn error(text: &str) -> String {
        ServerParameters::from_toml(text).unwrap_err().to_string()
    }

    #[test]
    fn parameter_file_is_parsed() {
        let file = ServerParameters::from_toml(&format!(
            "{HEAD}[[request]]\nname = \"PolyLine\"\n\
             attributes = {{ gxmode = \"GXcopy\", linewidth = 0 }}\n\
             fixed = {{ cpu_us = 0.5 }}\n\
             points = [\n  {{ size = 1, cpu_us = 1 }},\n  {{ size = 2.5, cpu_us = 3.5, spread = 0.1 }},\n]\n"
        ))
        .unwrap();
        let entry = &file.requests[0];
        assert_eq!(entry.attributes["linewidth"], AttributeValue::Number(0));
        assert_eq!(
            entry.attributes["gxmode"],
            AttributeValue::Name("GXcopy".into())
        );
        assert_eq!(entry.points[0].cpu_us, Some(Micros(1.0)));
        assert_eq!(entry.points[1].size, 2.5);
    }

    #[test]
    fn foreign_and_malformed_files_are_rejected() {
        assert_eq!(
            ServerParameters::from_toml(""),
            Err(ParameterError::Foreign)
        );
        assert_eq!(
            ServerParameters::from_toml("[package]\nname = \"other\"\n"),
            Err(ParameterError::Foreign)
        );
        assert_eq!(
            ServerParameters::from_toml("format = 7\nnews = true\n"),
            Err(ParameterError::Version { found: 7 })
        );
        assert!(error("\u{0}\u{1}binary").starts_with("line 1: "));
        assert!(error("format = 1\n[server\nname = 1").starts_with("line 2: "));
        assert!(error("format = 1\n").contains("server"));
    }

    #[test]
    fn unknown_fields_name_their_line() {
        let text = format!("{HEAD}[[request]]\nname = \"NoOperation\"\nprice = 3\npoints = []\n");
        let error = error(&text);
        assert!(
            error.starts_with("line 6: unknown field `price`"),
            "{error}"
        );
        assert!(error.ends_with("measure again"), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }

    #[test]
    fn invalid_values_name_their_line_and_entry() {
        let text = format!(
            "{HEAD}[[request]]\nname = \"PolyLine\"\nattributes = {{ linewidth = 0 }}\npoints = [\n\
             {{ size = 10, wall_us = 1 }},\n{{ size = 10, wall_us = 2 }},\n]\n"
        );
        let error = error(&text);
        assert!(
            error.starts_with("line 9: PolyLine linewidth=0: "),
            "{error}"
        );
    }

    #[test]
    fn documented_example_round_trips() {
        let example = include_str!("../../docs/examples/parameters.toml");
        let parameters = ServerParameters::from_toml(example).unwrap();
        assert_eq!(parameters.to_toml(), example);
    }

    #[test]
    fn truncated_file_is_an_error_or_a_prefix() {
        let text = crate::built_in()[0].toml;
        let whole = ServerParameters::from_toml(text).unwrap();
        let mut files = 0;
        for length in (0..text.len()).filter(|at| text.is_char_boundary(*at)) {
            if let Ok(cut) = ServerParameters::from_toml(&text[..length]) {
                // The last entry may lack points.
                let complete = cut.requests.len().saturating_sub(1);
                assert_eq!(cut.requests[..complete], whole.requests[..complete]);
                files += 1;
            }
        }
        assert!(
            (1..text.len() / 4).contains(&files),
            "{files} cuts are files"
        );
    }
}
