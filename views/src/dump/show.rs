//! A message's fields as text, and as JSON.

use std::fmt::Write as _;

use compact_str::CompactString;
use serde_json::{Map, Value as Json, json};
use x11prof_protocol::Value;
use x11prof_session::{Effect, Operation, Session, Value as OperationValue};

use super::kinds::{Kind, kind};
use super::names::Names;
use crate::plain::plain;

/// The fields of a message in a line of text are cut off at this many bytes.
pub(super) const LONGEST_FIELDS: usize = 1000;
/// What is read of the fields for that: more than enough to fill the line.
pub(super) const LONGEST_READ: usize = 1 << 12;

/// Shows the fields of one message.
pub(super) struct Show<'a> {
    /// The names known.
    pub(super) names: &'a Names,
    /// Which knows those of atoms.
    pub(super) session: &'a Session,
    /// The message's name.
    pub(super) message: &'a str,
}

impl Show<'_> {
    /// `window=0x400001(xterm) property=WM_NAME(39) data="xterm"`, `drawable=0x400007(pixmap)`.
    pub(super) fn text(&self, fields: &Value) -> String {
        let mut text = String::new();
        match fields {
            Value::Fields(fields) => self.fields(&mut text, fields),
            value => self.value(&mut text, Kind::Plain, value),
        }
        if text.len() > LONGEST_FIELDS {
            text.truncate(text.floor_char_boundary(LONGEST_FIELDS));
            text.push('…');
        }
        text
    }

    fn fields(&self, text: &mut String, fields: &[(CompactString, Value)]) {
        let of_type = property_type(fields);
        for (index, (name, value)) in fields.iter().enumerate() {
            if index > 0 {
                text.push(' ');
            }
            text.push_str(name);
            text.push('=');
            self.value(text, kind(self.message, name, of_type), value);
            if text.len() > LONGEST_FIELDS {
                return;
            }
        }
    }

    fn value(&self, text: &mut String, kind: Kind, value: &Value) {
        match value {
            Value::Number(number) => self.number(text, kind, *number),
            Value::Real(number) => text.push_str(&number.to_string()),
            Value::Bool(truth) => text.push_str(&truth.to_string()),
            Value::Name(name) if name.contains(' ') => text.push_str(&name.replace(" | ", "|")),
            Value::Name(name) => text.push_str(name),
            // As JSON quotes it, so that a line stays one line.
            Value::Text(quoted) => text.push_str(&plain(&Json::from(quoted.as_str()).to_string())),
            Value::List(list) => {
                text.push('[');
                for (index, value) in list.iter().enumerate() {
                    if index > 0 {
                        text.push(',');
                    }
                    self.value(text, kind, value);
                    if text.len() > LONGEST_FIELDS {
                        return;
                    }
                }
                text.push(']');
            }
            Value::Fields(fields) => {
                text.push('{');
                self.fields(text, fields);
                text.push('}');
            }
            Value::Cut => text.push('…'),
        }
    }

    fn number(&self, text: &mut String, kind: Kind, number: i128) {
        let name = u32::try_from(number)
            .ok()
            .and_then(|number| self.names.name_or_kind(self.session, kind, number));
        // Writing to a text does not fail.
        let _ = match (kind, name, i64::try_from(number)) {
            (Kind::Id, Some(name), _) => write!(text, "{number:#x}({})", plain(name)),
            (Kind::Id, None, _) => write!(text, "{number:#x}"),
            (_, Some(name), _) => write!(text, "{}({number})", plain(name)),
            // The usual case, and the fastest.
            (_, None, Ok(number)) => {
                text.push_str(itoa::Buffer::new().format(number));
                Ok(())
            }
            (_, None, Err(_)) => write!(text, "{number}"),
        };
    }

    /// The fields as an object, and the names of the numbers in it by their paths
    /// (`"rectangles.0.x"`).
    pub(super) fn json(&self, fields: &Value) -> (Json, Map<String, Json>) {
        let mut names = Map::new();
        let json = self.json_value(Kind::Plain, fields, "", &mut names);
        (json, names)
    }

    fn json_value(
        &self,
        of: Kind,
        value: &Value,
        path: &str,
        names: &mut Map<String, Json>,
    ) -> Json {
        let below = |name: &str| match path {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        };
        match value {
            Value::Number(number) => {
                if let Some(name) = u32::try_from(*number)
                    .ok()
                    .and_then(|number| self.names.name(self.session, of, number))
                {
                    names.insert(path.to_owned(), name.into());
                }
                json_number(*number)
            }
            Value::Real(number) => Json::from(*number),
            Value::Bool(truth) => Json::from(*truth),
            Value::Name(name) => Json::from(name.as_str()),
            Value::Text(text) => Json::from(text.as_str()),
            Value::List(list) => list
                .iter()
                .enumerate()
                .map(|(index, value)| self.json_value(of, value, &below(&index.to_string()), names))
                .collect(),
            Value::Fields(fields) => {
                let of_type = property_type(fields);
                let values = fields.iter().map(|(name, value)| {
                    let of = kind(self.message, name, of_type);
                    let value = self.json_value(of, value, &below(name), names);
                    (name.to_string(), value)
                });
                Json::Object(values.collect())
            }
            Value::Cut => Json::from("…"),
        }
    }
}

/// An operation: its attributes, how many items it has, the paper's op-size, and what it does.
pub(super) fn operation(operation: &Operation) -> Json {
    let attributes = operation.attributes.iter().map(|(name, value)| {
        let value = match value {
            OperationValue::Name(name) => Json::from(name.as_str()),
            OperationValue::Number(number) => Json::from(number),
        };
        (name.to_string(), value)
    });
    let effect = match operation.effect {
        Effect::Full => "full",
        Effect::Nothing => "nothing",
        Effect::Unknown => "unknown",
    };
    json!({
        "attributes": attributes.collect::<Map<String, Json>>(),
        "items": operation.items.len(), "op_size": operation.op_size, "effect": effect,
    })
}

fn json_number(number: i128) -> Json {
    match (i64::try_from(number), u64::try_from(number)) {
        (Ok(number), _) => number.into(),
        (_, Ok(number)) => number.into(),
        _ => number.to_string().into(),
    }
}

/// The type of the property whose data are among these fields.
fn property_type(fields: &[(CompactString, Value)]) -> Option<u32> {
    fields
        .iter()
        .find(|(name, _)| name == "type")
        .and_then(|(_, value)| value.as_u32())
}

#[cfg(test)]
mod tests {
    use x11prof_protocol::Value;
    use x11prof_session::Session;

    use super::{LONGEST_FIELDS, Show, json};
    use crate::dump::names::Names;

    #[test]
    fn the_same_fields_both_ways() {
        let (names, session) = (Names::default(), Session::new());
        let show = Show {
            names: &names,
            session: &session,
            message: "ChangeProperty",
        };
        let fields = Value::fields([
            ("mode", Value::Name("REPLACE".into())),
            ("window", Value::Number(0x40_0001)),
            ("property", Value::Number(39)),
            ("type", Value::Number(4)),
            ("data", Value::List(vec![Value::Number(1), Value::Cut])),
        ]);
        assert_eq!(
            show.text(&fields),
            "mode=REPLACE window=0x400001 property=WM_NAME(39) type=ATOM(4) data=[PRIMARY(1),…]"
        );
        let (json, named) = show.json(&fields);
        assert_eq!(
            json,
            json!({"mode": "REPLACE", "window": 0x40_0001, "property": 39, "type": 4,
                "data": [1, "…"]})
        );
        assert_eq!(
            serde_json::Value::Object(named),
            json!({"property": "WM_NAME", "type": "ATOM", "data.0": "PRIMARY"})
        );
    }

    #[test]
    fn a_line_stays_a_line_and_no_longer_than_a_page() {
        let (names, session) = (Names::default(), Session::new());
        let show = Show {
            names: &names,
            session: &session,
            message: "ImageText8",
        };
        let fields = Value::fields([("string", Value::Text("a\nb\u{1b}[".into()))]);
        assert_eq!(show.text(&fields), r#"string="a\nb\u001b[""#);
        let long = Value::List(vec![Value::Number(255); 10_000]);
        let text = show.text(&long);
        assert!(text.len() <= LONGEST_FIELDS + 3 && text.ends_with('…'));
    }
}
