//! The value of a message's field, of any type.

use compact_str::CompactString;

/// The value of a field in a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number, which may be the id of a resource.
    Number(i128),
    /// A floating-point number (used by GLX).
    Real(f64),
    /// A value that is true or false.
    Bool(bool),
    /// A constant or flags by name, such as `COPY` or `EXPOSURE | KEY_PRESS`.
    Name(CompactString),
    /// A string of characters.
    Text(String),
    /// A list of values of one type.
    List(Vec<Value>),
    /// A structure: values with names, in the order of the protocol.
    Fields(Vec<(CompactString, Value)>),
    /// The end of a list that is too long to show. The elements after it were not read.
    Cut,
}

impl Value {
    /// Creates a value that consists of named values.
    pub fn fields<const N: usize>(fields: [(&str, Value); N]) -> Value {
        Value::Fields(
            fields
                .into_iter()
                .map(|(name, value)| (CompactString::new(name), value))
                .collect(),
        )
    }

    /// Converts bytes to a text value. X11's strings are ISO 8859-1, but many clients write UTF-8.
    pub fn of_text(bytes: &[u8]) -> Value {
        Value::Text(match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
        })
    }

    /// True if the end of the value was not read (`Value::Cut`).
    pub fn is_cut_off(&self) -> bool {
        match self {
            Value::Cut => true,
            Value::List(list) => list.last().is_some_and(Value::is_cut_off),
            Value::Fields(fields) => fields.last().is_some_and(|(_, last)| last.is_cut_off()),
            _ => false,
        }
    }

    /// The value of a BOOL on the wire: a Boolean value for 0 and 1, otherwise a number.
    pub(crate) fn truth(byte: u8) -> Value {
        match byte {
            0 | 1 => Value::Bool(byte == 1),
            other => Value::Number(other.into()),
        }
    }

    /// The field with this name. `None` if there is no field with this name, or if the value is not a structure.
    pub fn get(&self, name: &str) -> Option<&Value> {
        match self {
            Value::Fields(fields) => fields
                .iter()
                .find(|(known, _)| known == name)
                .map(|(_, value)| value),
            _ => None,
        }
    }

    /// The value as a number; `None` if the value is not a number that fits into a CARD32.
    pub fn as_u32(&self) -> Option<u32> {
        match self {
            Value::Number(number) => u32::try_from(*number).ok(),
            _ => None,
        }
    }

    /// Removes the fields with these names from a structure.
    pub(crate) fn remove(&mut self, names: &[&str]) {
        if let Value::Fields(fields) = self {
            fields.retain(|(name, _)| !names.contains(&name.as_str()));
        }
    }

    /// The value as bytes, if it is a list of bytes; `None` for other values.
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
