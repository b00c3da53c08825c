//! Operations that the user defines. A user defines the cost attributes and op-sizes of requests that a session does
//! not support, or that the user wants to count differently (the Xprof paper's action templates).

use std::collections::HashMap;

use rustc_hash::FxHashMap;
use x11prof_protocol::{Body, Extensions, Request, Symbol};

use crate::definitions::expression::{Bytes, Expression};
use crate::geometry::target::Effect;
use crate::operations::operation::{Attribute, Attributes, Operation, Value};

/// The user's definitions of operations, by request.
#[derive(Debug, Clone, Default)]
pub struct Definitions {
    pub(crate) all: Vec<Definition>,
    pub(crate) by_name: FxHashMap<Symbol, usize>,
    pub(crate) by_opcode: HashMap<(Symbol, u8), usize>,
}

/// A user's definition of the operation of one kind of request. A field that is `None` keeps the value that the session
/// computes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Definition {
    pub(crate) op_size: Option<Expression>,
    pub(crate) items: Option<Items>,
    pub(crate) attributes: Option<Vec<(Attribute, Chosen)>>,
}

/// A list at the end of a request, whose elements are the items of the operation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Items {
    /// The offset of the list's first byte, counted from the first byte of the request's header.
    pub(crate) from: usize,
    /// The length of an element of the list in bytes; not 0.
    pub(crate) every: usize,
    /// The op-size of one element.
    pub(crate) size: Expression,
}

/// The value of an attribute, as the user defined it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Chosen {
    pub(crate) value: Expression,
    /// The names of the values; `None` if the values are numbers.
    pub(crate) names: Option<Vec<(i64, Symbol)>>,
}

/// The length of a request's header in bytes.
pub(crate) const HEADER: usize = 4;

impl Definitions {
    /// True if the file has no definitions.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// If the user defined the operation of `request`, applies the definition to `operation`.
    pub(crate) fn redefine(
        &self,
        operation: &mut Operation,
        request: &Request<'_>,
        extensions: &Extensions,
    ) {
        if let Some(definition) = self.find(request, extensions) {
            definition.apply(operation, request);
        }
    }

    fn find(&self, request: &Request<'_>, extensions: &Extensions) -> Option<&Definition> {
        let by_opcode = || {
            let extension = extensions.by_major(request.major)?;
            self.by_opcode.get(&(extension.name, request.minor))
        };
        let index = self.by_name.get(&request.name).or_else(by_opcode)?;
        self.all.get(*index)
    }
}

impl Definition {
    fn apply(&self, operation: &mut Operation, request: &Request<'_>) {
        let body = Body::of(request);
        let bytes = Bytes::Request(request, body);
        let mut known = true;
        let mut size_of = |expression: &Expression, bytes: &Bytes<'_>| {
            let value = expression.value(bytes).and_then(size);
            known &= value.is_some();
            value.unwrap_or(0.0)
        };
        let op_size = self
            .op_size
            .as_ref()
            .map(|op_size| size_of(op_size, &bytes));
        if let Some(items) = &self.items {
            operation.items.clear();
            for element in body.list(items.from - HEADER, items.every) {
                let element = Bytes::Element(request, element);
                operation.items.push(size_of(&items.size, &element));
            }
            operation.op_size = operation.items.iter().sum();
            known &= body.is_whole();
        }
        if let Some(op_size) = op_size {
            if self.items.is_none() {
                operation.items.clear();
                operation.items.push(op_size);
            }
            operation.op_size = op_size;
        }
        if self.items.is_some() || op_size.is_some() {
            operation.effect = if known { Effect::Full } else { Effect::Unknown };
        }
        if let Some(attributes) = &self.attributes {
            set(&mut operation.attributes, attributes, &bytes);
        }
    }
}

fn set(attributes: &mut Attributes, chosen: &[(Attribute, Chosen)], bytes: &Bytes<'_>) {
    attributes.clear();
    for (name, chosen) in chosen {
        let Some(number) = chosen.value.value(bytes) else {
            continue;
        };
        let value = match &chosen.names {
            None => u32::try_from(number).ok().map(Value::Number),
            Some(names) => names
                .iter()
                .find(|(known, _)| *known == number)
                .map(|(_, name)| Value::Name(*name)),
        };
        if let Some(value) = value {
            attributes.set(*name, value);
        }
    }
}

/// Converts a number to an op-size; `None` if it is negative, or too large to be exact.
fn size(number: i64) -> Option<f64> {
    const EXACT: i64 = 1 << 53;
    (0..EXACT).contains(&number).then_some(number as f64)
}
