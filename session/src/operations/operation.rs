//! A request as an operation: the name of the request, the attributes that determine its cost, and its sizes.
//!
//! Calibration stores costs under an operation, and the analysis looks them up under the same operation.

use std::fmt;

use x11prof_protocol::Symbol;

use crate::geometry::target::Effect;

/// The name of an attribute, spelled as in the paper: `gxmode`, `linestyle`, `fontname`.
pub type Attribute = Symbol;

/// The value of an attribute: a number or a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Value {
    /// A name, such as `GXcopy`, `FillSolid` or `6x13`.
    Name(Symbol),
    /// A number, such as a line width or a depth.
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

/// The attributes of an operation, sorted by name. Each name occurs once.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Attributes(Vec<(Attribute, Value)>);

impl Attributes {
    /// Creates an empty list of attributes.
    pub fn new() -> Attributes {
        Attributes::default()
    }

    /// Sets the attribute `name` to `value`.
    pub fn set(&mut self, name: Attribute, value: Value) {
        match self.0.binary_search_by(|(known, _)| known.cmp(&name)) {
            Ok(at) => self.0[at].1 = value,
            Err(at) => self.0.insert(at, (name, value)),
        }
    }

    /// Sets the attribute `name`, which must sort after all existing names.
    pub(crate) fn append(&mut self, name: Attribute, value: Value) {
        debug_assert!(self.0.last().is_none_or(|(last, _)| *last < name));
        self.0.push((name, value));
    }

    /// Sets the attribute `name`, which must sort after all existing names; does nothing if there is no value.
    pub(crate) fn append_name(&mut self, name: Attribute, value: impl Into<Option<Symbol>>) {
        if let Some(value) = value.into() {
            self.append(name, Value::Name(value));
        }
    }

    /// The value of the attribute `name`; `None` if the attribute is absent.
    pub fn get(&self, name: Attribute) -> Option<Value> {
        self.0
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| *value)
    }

    /// Removes the attribute with this name, if there is one.
    pub fn remove(&mut self, name: Attribute) {
        self.0.retain(|(known, _)| *known != name);
    }

    /// The attributes with their values, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (Attribute, Value)> + '_ {
        self.0.iter().copied()
    }

    /// True if the operation has no attributes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes all attributes, but keeps the memory of the list.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

/// Prints attributes such as `gxmode=GXcopy linewidth=0`, sorted by name.
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

/// A request as an operation, which determines its cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    /// The name of the request.
    pub request: Symbol,
    /// The attributes that determine the cost of the request.
    pub attributes: Attributes,
    /// The size of each item after clipping, in the request's unit (pixels, characters, bytes). Empty for a request
    /// without items, which only has a fixed cost.
    pub items: Vec<f64>,
    /// The op-size of the whole request (the paper's Table 1): area, line length or string length, in the request's
    /// unit.
    pub op_size: f64,
    /// The effect of the request on its drawable: whether the server does the work.
    pub effect: Effect,
}

impl Operation {
    /// Creates an operation without attributes and with one item of size 0, as most requests have.
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
