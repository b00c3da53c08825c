//! The value of a field of any type.

use compact_str::CompactString;

/// A value in a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number, or a resource's id.
    Number(i128),
    /// A real number (used by GLX).
    Real(f64),
    /// A Boolean.
    Bool(bool),
    /// A constant or flags by name: `COPY`, `EXPOSURE | KEY_PRESS`.
    Name(CompactString),
    /// Characters.
    Text(String),
    /// Values of one type.
    List(Vec<Value>),
    /// Named values, in the order of the protocol.
    Fields(Vec<(CompactString, Value)>),
    /// The end of a list that is too long to show. The remaining elements were not read.
    Cut,
}

impl Value {
    /// Creates a set of named values.
    pub fn fields<const N: usize>(fields: [(&str, Value); N]) -> Value {
        Value::Fields(
            fields
                .into_iter()
                .map(|(name, value)| (CompactString::new(name), value))
                .collect(),
        )
    }

    /// Converts bytes to text. X11's strings are ISO 8859-1, but many clients write UTF-8.
    pub fn of_text(bytes: &[u8]) -> Value {
        Value::Text(match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
        })
    }

    /// True if the value shows that its end was not read.
    pub(crate) fn is_cut_off(&self) -> bool {
        match self {
            Value::Cut => true,
            Value::List(list) => list.last().is_some_and(Value::is_cut_off),
            Value::Fields(fields) => fields.last().is_some_and(|(_, last)| last.is_cut_off()),
            _ => false,
        }
    }

    /// A BOOL of the wire: a number unless it is 0 or 1.
    pub(crate) fn truth(byte: u8) -> Value {
        match byte {
            0 | 1 => Value::Bool(byte == 1),
            other => Value::Number(other.into()),
        }
    }

    /// The field with this name; `None` if there is no such field or the value is not a set of fields.
    pub fn get(&self, name: &str) -> Option<&Value> {
        match self {
            Value::Fields(fields) => fields
                .iter()
                .find(|(known, _)| known == name)
                .map(|(_, value)| value),
            _ => None,
        }
    }

    /// The number; `None` if the value is not a number that fits into a CARD32.
    pub fn as_u32(&self) -> Option<u32> {
        match self {
            Value::Number(number) => u32::try_from(*number).ok(),
            _ => None,
        }
    }

    /// Removes the fields with these names.
    pub(crate) fn remove(&mut self, names: &[&str]) {
        if let Value::Fields(fields) = self {
            fields.retain(|(name, _)| !names.contains(&name.as_str()));
        }
    }

    /// The bytes of a list of bytes; `None` for other values.
    pub(crate) fn as_bytes(&self) -> Option<Vec<u8>> {
        match self {
            Value::List(list) => list
                .iter()
                .filter(|value| **value != Value::Cut)
                .map(|value| value.as_u32().and_then(|number| u8::try_from(number).ok()))
                .collect(),
            _ => None,
        }
    }
}
