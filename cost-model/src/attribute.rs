//! Converts the attributes of an entry in a parameter file to the attributes of an operation.

use x11prof_session::{Attributes, Value};

use crate::{AttributeValue, RequestCosts};

/// A name that consists of digits is converted to a number.
impl From<&AttributeValue> for Value {
    fn from(value: &AttributeValue) -> Value {
        match value {
            AttributeValue::Number(number) => Value::Number(*number),
            AttributeValue::Name(name) => Value::parse(name),
        }
    }
}

impl From<Value> for AttributeValue {
    fn from(value: Value) -> AttributeValue {
        match value {
            Value::Number(number) => AttributeValue::Number(number),
            Value::Name(name) => AttributeValue::Name(name.as_str().to_owned()),
        }
    }
}

impl RequestCosts {
    /// The attributes of the entry, in the form of an operation's attributes.
    pub fn attribute_set(&self) -> Attributes {
        let mut attributes = Attributes::new();
        for (name, value) in &self.attributes {
            attributes.set(name.as_str().into(), Value::from(value));
        }
        attributes
    }
}

#[cfg(test)]
mod tests {
    use x11prof_session::Value;

    use crate::{AttributeValue, RequestCosts};

    #[test]
    fn numeric_name_is_read_as_a_number() {
        let mut entry = RequestCosts::default();
        entry
            .attributes
            .insert("linewidth".into(), AttributeValue::Name("10".into()));
        entry
            .attributes
            .insert("gxmode".into(), AttributeValue::Name("GXcopy".into()));
        assert_eq!(
            entry.attribute_set().get("linewidth".into()),
            Some(Value::Number(10))
        );
        assert_eq!(
            entry.attribute_set().to_string(),
            "gxmode=GXcopy linewidth=10"
        );
        assert_eq!(
            AttributeValue::from(Value::Number(10)),
            AttributeValue::Number(10)
        );
    }
}
