//! The fields of a message as text and as JSON.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use compact_str::CompactString;
use serde::ser::{Serialize, SerializeMap, SerializeStruct, Serializer};
use serde_json::Value as Json;
use x11prof_protocol::{NumberKind, Value};
use x11prof_session::{Attributes, Effect, Operation, Session, Value as OperationValue};

use super::names::Names;
use crate::plain::plain;

/// Maximum length of a message's fields in a line of text, in bytes.
pub(super) const LONGEST_FIELDS: usize = 1000;
/// The number of bytes of debug text from which the fields for a line of text are decoded. A line cannot show more
/// fields.
pub(super) const LONGEST_READ: usize = 1 << 12;

/// Formats the fields of one message.
pub(super) struct Show<'a> {
    /// The names of windows and other ids.
    pub(super) names: &'a Names,
    /// The session, for the names of atoms.
    pub(super) session: &'a Session,
    /// The name of the message.
    pub(super) message: &'a str,
}

impl Show<'_> {
    /// The fields as text, such as `window=0x400001(xterm) property=WM_NAME(39) data="xterm"` or
    /// `drawable=0x400007(pixmap)`.
    pub(super) fn text(&self, fields: &Value) -> String {
        let mut text = String::new();
        match fields {
            Value::Fields(fields) => self.fields(&mut text, fields),
            value => self.value(&mut text, NumberKind::Plain, value),
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
            self.value(
                text,
                NumberKind::of_field(self.message, name, of_type),
                value,
            );
            if text.len() > LONGEST_FIELDS {
                return;
            }
        }
    }

    fn value(&self, text: &mut String, kind: NumberKind, value: &Value) {
        match value {
            Value::Number(number) => self.number(text, kind, *number),
            Value::Real(number) => text.push_str(&number.to_string()),
            Value::Bool(truth) => text.push_str(&truth.to_string()),
            Value::Name(name) if name.contains(' ') => text.push_str(&name.replace(" | ", "|")),
            Value::Name(name) => text.push_str(name),
            // The text is quoted as in JSON, so that it stays on one line.
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

    fn number(&self, text: &mut String, kind: NumberKind, number: i128) {
        let name = u32::try_from(number)
            .ok()
            .and_then(|number| self.names.name_or_kind(self.session, kind, number));
        // Writing to a String cannot fail.
        let _ = match (kind, name, i64::try_from(number)) {
            (NumberKind::Id, Some(name), _) => write!(text, "{number:#x}({})", plain(name)),
            (NumberKind::Id, None, _) => write!(text, "{number:#x}"),
            (_, Some(name), _) => write!(text, "{}({number})", plain(name)),
            (NumberKind::Fixed, None, Ok(number)) => write!(text, "{}", number as f64 / 65536.0),
            // The usual case, and the fastest.
            (_, None, Ok(number)) => {
                text.push_str(itoa::Buffer::new().format(number));
                Ok(())
            }
            (_, None, Err(_)) => write!(text, "{number}"),
        };
    }
}

/// A value of a message, which is decoded while it is serialised as JSON. The fields of objects are in alphabetical
/// order.
#[derive(Clone, Copy)]
pub(super) struct Shown<'a, 'p> {
    show: &'a Show<'a>,
    of: NumberKind,
    value: &'a Value,
    path: Path<'p>,
    named: &'a Named<'a>,
}

/// The names of numbers in a message, by the path of the number (`"rectangles.0.x"`).
pub(super) type Named<'a> = RefCell<BTreeMap<String, &'a str>>;

/// The path of a value among the nested fields of a message.
#[derive(Clone, Copy)]
enum Path<'a> {
    Root,
    Field(&'a Path<'a>, &'a str),
    Item(&'a Path<'a>, usize),
}

impl<'a> Shown<'a, '_> {
    /// The fields of a message, for serialisation. Serialising them stores the names of numbers in `named`.
    pub(super) fn new(show: &'a Show<'a>, fields: &'a Value, named: &'a Named<'a>) -> Self {
        Shown {
            show,
            of: NumberKind::Plain,
            value: fields,
            path: Path::Root,
            named,
        }
    }

    /// Returns a nested value at `path`, for printing. `of` is the meaning of the value's numbers.
    fn below<'p>(&self, of: NumberKind, value: &'a Value, path: Path<'p>) -> Shown<'a, 'p> {
        let Shown { show, named, .. } = *self;
        Shown {
            show,
            of,
            value,
            path,
            named,
        }
    }
}

impl Serialize for Shown<'_, '_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Show {
            names,
            session,
            message,
        } = self.show;
        match self.value {
            Value::Number(number) => {
                let name = u32::try_from(*number).ok();
                let name = name.and_then(|number| names.name(session, self.of, number));
                if let Some(name) = name {
                    self.named.borrow_mut().insert(self.path.to_string(), name);
                }
                match (i64::try_from(*number), u64::try_from(*number)) {
                    (Ok(number), _) if self.of == NumberKind::Fixed => {
                        to.serialize_f64(number as f64 / 65536.0)
                    }
                    (Ok(number), _) => to.serialize_i64(number),
                    (_, Ok(number)) => to.serialize_u64(number),
                    _ => to.collect_str(number),
                }
            }
            Value::Real(number) => to.serialize_f64(*number),
            Value::Bool(truth) => to.serialize_bool(*truth),
            Value::Name(name) => to.serialize_str(name),
            Value::Text(text) => to.serialize_str(text),
            Value::List(list) => {
                to.collect_seq(list.iter().enumerate().map(|(index, value)| {
                    self.below(self.of, value, Path::Item(&self.path, index))
                }))
            }
            Value::Fields(fields) => {
                let of_type = property_type(fields);
                let mut fields: Vec<_> = fields.iter().collect();
                fields.sort_unstable_by_key(|(name, _)| name);
                to.collect_map(fields.into_iter().map(|(name, value)| {
                    let of = NumberKind::of_field(message, name, of_type);
                    let path = Path::Field(&self.path, name);
                    (name.as_str(), self.below(of, value, path))
                }))
            }
            Value::Cut => to.serialize_str("…"),
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Path::Field(above, _) | Path::Item(above, _) = self
            && !matches!(above, Path::Root)
        {
            write!(f, "{above}.")?;
        }
        match self {
            Path::Root => Ok(()),
            Path::Field(_, name) => f.write_str(name),
            Path::Item(_, index) => write!(f, "{index}"),
        }
    }
}

/// An operation for serialisation: its attributes, number of items, op-size, and effect.
pub(super) struct ShownOperation<'a>(pub(super) &'a Operation);

impl Serialize for ShownOperation<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let effect = match self.0.effect {
            Effect::Full => "full",
            Effect::Nothing => "nothing",
            Effect::Unknown => "unknown",
        };
        let mut operation = to.serialize_struct("Operation", 4)?;
        operation.serialize_field("attributes", &ShownAttributes(&self.0.attributes))?;
        operation.serialize_field("effect", effect)?;
        operation.serialize_field("items", &self.0.items.len())?;
        operation.serialize_field("op_size", &self.0.op_size)?;
        operation.end()
    }
}

struct ShownAttributes<'a>(&'a Attributes);

impl Serialize for ShownAttributes<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        for (name, value) in self.0.iter() {
            match value {
                OperationValue::Name(value) => {
                    map.serialize_entry(name.as_str(), value.as_str())?
                }
                OperationValue::Number(value) => map.serialize_entry(name.as_str(), &value)?,
            }
        }
        map.end()
    }
}

/// Returns the atom of the property type in these fields.
fn property_type(fields: &[(CompactString, Value)]) -> Option<u32> {
    fields
        .iter()
        .find(|(name, _)| name == "type")
        .and_then(|(_, value)| value.as_u32())
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use x11prof_protocol::Value;
    use x11prof_session::Session;

    use super::{LONGEST_FIELDS, Named, Show, Shown};
    use crate::dump::names::Names;

    #[test]
    fn text_and_json_have_the_same_fields() {
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
        let named = Named::default();
        let json = serde_json::to_string(&Shown::new(&show, &fields, &named)).unwrap();
        assert_eq!(
            json,
            r#"{"data":[1,"…"],"mode":"REPLACE","property":39,"type":4,"window":4194305}"#
        );
        assert_eq!(
            json!(named),
            json!({"property": "WM_NAME", "type": "ATOM", "data.0": "PRIMARY"})
        );
    }

    #[test]
    fn field_text_stays_on_one_line_of_bounded_length() {
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
