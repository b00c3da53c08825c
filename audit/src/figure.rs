//! Evaluates the figures that the paths in `checks.txt` select.
//!
//! `report:requests[].count` is the sum of the counts of all requests in the output of `report`. `[name=X]` selects the
//! elements with that name, `[name=null]` selects the elements without a name, and `[0]` selects the first element.
//! `[.]` selects the elements of a list of numbers. `max PATH` is the largest value, and `len PATH` is the number of
//! values. `A + B`, `A - B` and `A * B` are the sum, the difference and the product. True counts as 1. A path without a
//! report refers to the current element.

use serde_json::Value;

/// The figure that `expression` describes; `None` if a part of a path is missing or unknown. `page` returns an output
/// by its name.
pub(super) fn evaluate<'a>(
    expression: &str,
    page: &impl Fn(&str) -> Option<&'a Value>,
) -> Option<f64> {
    let mut words = expression.split(' ').filter(|word| !word.is_empty());
    let mut sum = 0.0;
    let mut sign = 1.0;
    let mut function = "";
    let mut last = 0.0;
    while let Some(word) = words.next() {
        match word {
            "+" => sign = 1.0,
            "-" => sign = -1.0,
            "*" => {
                let product = last * term(words.next()?, "", page)?;
                sum += product - last;
                last = product;
            }
            "max" | "len" => function = word,
            word => {
                last = sign * term(word, function, page)?;
                sum += last;
                function = "";
            }
        }
    }
    Some(sum)
}

fn term<'a>(word: &str, function: &str, page: &impl Fn(&str) -> Option<&'a Value>) -> Option<f64> {
    if let Ok(number) = word.parse() {
        return Some(number);
    }
    let (name, path) = word.split_once(':').unwrap_or(("", word));
    let root = page(name)?;
    let found = all(root, path)?;
    let numbers = || found.iter().map(|value| number(value));
    match function {
        "len" => Some(found.len() as f64),
        "max" => numbers().try_fold(0.0, |max: f64, value| Some(max.max(value?))),
        _ => numbers().try_fold(0.0, |sum, value| Some(sum + value?)),
    }
}

fn number(value: &Value) -> Option<f64> {
    value
        .as_f64()
        .or(value.as_bool().map(|is| f64::from(u8::from(is))))
}

/// The values at `path`, relative to `root`; `None` if a field is missing.
pub(super) fn all<'a>(root: &'a Value, path: &str) -> Option<Vec<&'a Value>> {
    let mut found = vec![root];
    for step in path.split('.').filter(|step| !step.is_empty()) {
        let (field, choice) = match step.split_once('[') {
            Some((field, choice)) => (field, Some(choice.trim_end_matches(']'))),
            None => (step, None),
        };
        if !field.is_empty() {
            found = found
                .into_iter()
                .map(|value| value.get(field))
                .collect::<Option<_>>()?;
        }
        if let Some(choice) = choice {
            let lists: Option<Vec<_>> = found.into_iter().map(Value::as_array).collect();
            let lists = lists?.into_iter();
            found = match (choice.split_once('='), choice.parse::<usize>()) {
                (Some((key, wanted)), _) => {
                    let is = |one: &&Value| same(one.get(key).unwrap_or(&Value::Null), wanted);
                    lists.flatten().filter(is).collect()
                }
                (None, Ok(place)) => lists.filter_map(|list| list.get(place)).collect(),
                (None, Err(_)) => lists.flatten().collect(),
            };
        }
    }
    Some(found)
}

fn same(value: &Value, wanted: &str) -> bool {
    match value {
        Value::String(text) => text == wanted,
        Value::Null => wanted == "null",
        other => number(other).is_some_and(|number| wanted.parse() == Ok(number)),
    }
}
