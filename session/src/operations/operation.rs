//! A request as an operation: its kind, the attributes that determine its cost, and its sizes.
//!
//! Calibration stores costs under an operation, and the analysis looks them up under the same operation.

use std::fmt;

use x11prof_protocol::Symbol;

use crate::geometry::target::Effect;

/// The name of an attribute, spelled as in the paper: `gxmode`, `linestyle`, `fontname`.
pub type Attribute = Symbol;

/// The value of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Value {
    /// A name: `GXcopy`, `FillSolid`, `6x13`.
    Name(Symbol),
    /// A number: a line width, a depth.
    Number(u32),
}

impl Value {
    /// Parses `text` as a value: a decimal number, otherwise a name.
    pub fn parse(text: &str) -> Value {
        text.parse()
            .map_or_else(|_| Value::Name(Symbol::new(text)), Value::Number)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Name(name) => name.fmt(f),
            Value::Number(number) => number.fmt(f),
        }
    }
}

/// The attributes of an operation, each name once, sorted by name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Attributes(Vec<(Attribute, Value)>);

impl Attributes {
    /// An empty list of attributes.
    pub fn new() -> Attributes {
        Attributes::default()
    }

    /// Sets `name` to `value`.
    pub fn set(&mut self, name: Attribute, value: Value) {
        match self.0.binary_search_by(|(known, _)| known.cmp(&name)) {
            Ok(at) => self.0[at].1 = value,
            Err(at) => self.0.insert(at, (name, value)),
        }
    }

    /// Sets `name`, which must sort after all existing names.
    pub(crate) fn append(&mut self, name: Attribute, value: Value) {
        debug_assert!(self.0.last().is_none_or(|(last, _)| *last < name));
        self.0.push((name, value));
    }

    /// Sets `name`, which must sort after all existing names, if there is a value.
    pub(crate) fn append_name(&mut self, name: Attribute, value: impl Into<Option<Symbol>>) {
        if let Some(value) = value.into() {
            self.append(name, Value::Name(value));
        }
    }

    /// The value of `name`.
    pub fn get(&self, name: Attribute) -> Option<Value> {
        self.0
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| *value)
    }

    /// Removes `name`.
    pub fn remove(&mut self, name: Attribute) {
        self.0.retain(|(known, _)| *known != name);
    }

    /// The attributes and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Attribute, Value)> + '_ {
        self.0.iter().copied()
    }

    /// True if there are no attributes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes all attributes, but keeps the storage.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

/// Prints `gxmode=GXcopy linewidth=0`, sorted by name.
impl fmt::Display for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, value)) in self.iter().enumerate() {
            if index > 0 {
                f.write_str(" ")?;
            }
            write!(f, "{name}={value}")?;
        }
        Ok(())
    }
}

/// A request as an operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    /// The request's name.
    pub request: Symbol,
    /// The attributes that determine its cost.
    pub attributes: Attributes,
    /// The size of each item after clipping, in the request's unit (pixels, characters, bytes). Empty for a request
    /// without items, which has only its fixed cost.
    pub items: Vec<f64>,
    /// The paper's op-size of the whole request (Table 1): area, line length, string length.
    pub op_size: f64,
    /// The effect: whether the request does its work.
    pub effect: Effect,
}

impl Operation {
    /// An operation with no attributes and one item of size 0, as most requests have.
    pub fn new(request: Symbol) -> Operation {
        Operation {
            request,
            attributes: Attributes::new(),
            items: vec![0.0],
            op_size: 0.0,
            effect: Effect::Full,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Attributes, Value};

    #[test]
    fn attributes_are_sorted_by_name() {
        let mut attributes = Attributes::new();
        attributes.set("linewidth".into(), Value::parse("0"));
        attributes.set("gxmode".into(), Value::parse("GXcopy"));
        attributes.set("linewidth".into(), Value::Number(3));
        assert_eq!(attributes.to_string(), "gxmode=GXcopy linewidth=3");
        assert_eq!(attributes.get("linewidth".into()), Some(Value::Number(3)));
    }
}
