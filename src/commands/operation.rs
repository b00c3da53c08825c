//! Parses an operation (a request with attributes) that the user typed.

use std::collections::BTreeSet;

use x11prof_cost_model::ServerParameters;
use x11prof_session::{Operation, Value};

use crate::error::CommandError;

/// Returns the operation in a text such as `PolyLine gxmode=GXcopy linewidth=0`, for `items` items of `op_size` units
/// each.
pub(super) fn operation(
    request: &str,
    op_size: f64,
    items: usize,
) -> Result<Operation, CommandError> {
    if !(0.0..=1e12).contains(&op_size) {
        return Err(CommandError::usage(
            "OPSIZE must be a number from 0 to 1e12",
        ));
    }
    let mut words = request.split_whitespace();
    let name = words
        .next()
        .ok_or_else(|| CommandError::usage("the request has no name"))?;
    let mut operation = Operation::new(name.into());
    for word in words {
        let (attribute, value) = word.split_once('=').ok_or_else(|| {
            CommandError::usage(format_args!(
                "{word}: an attribute needs the form name=value"
            ))
        })?;
        operation
            .attributes
            .set(attribute.into(), Value::parse(value));
    }
    operation.items = vec![op_size; items];
    operation.op_size = op_size * items as f64;
    Ok(operation)
}

/// Prints a warning for each attribute of `operation` that no entry of its request has in `tables`.
pub(super) fn warn_of_ignored<'a>(
    operation: &Operation,
    tables: impl IntoIterator<Item = &'a ServerParameters>,
) {
    let entries = tables.into_iter().flat_map(|table| &table.requests);
    let entries = entries.filter(|entry| operation.request.as_str() == entry.name);
    let known: BTreeSet<&str> = entries
        .flat_map(|entry| entry.attributes.keys().map(String::as_str))
        .collect();
    for (attribute, _) in operation.attributes.iter() {
        if !known.contains(attribute.as_str()) {
            let known: Vec<&str> = known.iter().copied().collect();
            let known = match known.is_empty() {
                true => "none".to_owned(),
                false => known.join(", "),
            };
            say!(
                "warning: {attribute} is ignored; the attributes of {} in the cost table are: {known}",
                operation.request
            );
        }
    }
}
