//! Parses files in which the user defines operations (TOML), and reports errors.

use std::collections::BTreeMap;

use serde::Deserialize;
use x11prof_protocol::Symbol;

use crate::definitions::definition::{Chosen, Definition, Definitions, HEADER, Items};
use crate::definitions::expression::{Expression, Field};

/// The supported version of the format.
const FORMAT: u32 = 1;

/// The reasons why a file of operations cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DefinitionError {
    /// The text is not valid TOML, or has unknown keys.
    #[error("not a file of operations: line {line}: {message}")]
    Toml {
        /// The number of the line with the error, from 1.
        line: usize,
        /// The problem, as a sentence.
        message: String,
    },
    /// The file has this format version, which is not supported.
    #[error("operations of format {0}; this x11prof reads format {FORMAT}")]
    Format(u32),
    /// A definition in the file is wrong.
    #[error("operation {number} ({request}): {why}")]
    Operation {
        /// The number of the definition in the file, counted from 1.
        number: usize,
        /// The request that the definition names; empty if it names none.
        request: String,
        /// The problem, as a sentence.
        why: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: u32,
    #[serde(default)]
    operation: Vec<OperationEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OperationEntry {
    request: Option<String>,
    extension: Option<String>,
    minor: Option<u8>,
    op_size: Option<String>,
    items: Option<ItemsEntry>,
    attributes: Option<BTreeMap<String, AttributeEntry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ItemsEntry {
    from: usize,
    every: usize,
    size: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum AttributeEntry {
    Number(String),
    Listed {
        value: String,
        names: Vec<String>,
    },
    Named {
        value: String,
        names: BTreeMap<String, String>,
    },
}

impl Definitions {
    /// Parses a file of definitions in TOML (docs/REFERENCE.md).
    ///
    /// # Errors
    ///
    /// The file is not valid. The error contains the position and the problem.
    pub fn parse(text: &str) -> Result<Definitions, DefinitionError> {
        parse(text)
    }
}

fn parse(text: &str) -> Result<Definitions, DefinitionError> {
    let file: File = toml::from_str(text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start));
        DefinitionError::Toml {
            line: 1 + before.unwrap_or_default().matches('\n').count(),
            message: error.message().replace('\n', " "),
        }
    })?;
    if file.format != FORMAT {
        return Err(DefinitionError::Format(file.format));
    }
    let mut definitions = Definitions::default();
    for (number, entry) in (1..).zip(&file.operation) {
        add(&mut definitions, entry).map_err(|why| DefinitionError::Operation {
            number,
            request: entry.name(),
            why,
        })?;
    }
    Ok(definitions)
}

fn add(definitions: &mut Definitions, entry: &OperationEntry) -> Result<(), String> {
    let index = definitions.all.len();
    let twice = match (&entry.request, &entry.extension, entry.minor) {
        (Some(name), None, None) => definitions.by_name.insert(Symbol::new(name), index),
        (None, Some(extension), Some(minor)) => definitions
            .by_opcode
            .insert((Symbol::new(extension), minor), index),
        _ => return Err("give either request, or extension and minor".to_owned()),
    };
    if twice.is_some() {
        return Err("the request is defined twice".to_owned());
    }
    let of_request = |text: &String| {
        let expression = Expression::parse(text)?;
        match expression.find_field(&|field: Field| field.is_in_header()) {
            None => Ok(expression),
            Some(field) => Err(format!(
                "in \"{text}\": byte {} is the header's; the fields begin at 4",
                field.at
            )),
        }
    };
    let attributes = entry.attributes.as_ref().map(|attributes| {
        attributes
            .iter()
            .map(|(name, attribute)| {
                let (value, names) = attribute.parts()?;
                let value = of_request(value)?;
                Ok((Symbol::new(name), Chosen { value, names }))
            })
            .collect::<Result<Vec<_>, String>>()
    });
    let definition = Definition {
        op_size: entry.op_size.as_ref().map(of_request).transpose()?,
        items: entry.items.as_ref().map(items).transpose()?,
        attributes: attributes.transpose()?,
    };
    if definition.op_size.is_none() && definition.items.is_none() && definition.attributes.is_none()
    {
        return Err("it defines nothing: give op_size, items or attributes".to_owned());
    }
    definitions.all.push(definition);
    Ok(())
}

fn items(entry: &ItemsEntry) -> Result<Items, String> {
    if entry.from < HEADER {
        return Err(format!(
            "items from byte {}: the fields begin at 4",
            entry.from
        ));
    }
    if entry.every == 0 {
        return Err("items every 0 bytes".to_owned());
    }
    Ok(Items {
        from: entry.from,
        every: entry.every,
        size: Expression::parse(&entry.size)?,
    })
}

/// The expression for an attribute's value as text, and the names of the values; `None` if the values are numbers.
type Parts<'a> = (&'a String, Option<Vec<(i64, Symbol)>>);

impl AttributeEntry {
    fn parts(&self) -> Result<Parts<'_>, String> {
        match self {
            AttributeEntry::Number(value) => Ok((value, None)),
            AttributeEntry::Listed { value, names } => {
                let names = (0..).zip(names.iter().map(|name| Symbol::new(name)));
                Ok((value, Some(names.collect())))
            }
            AttributeEntry::Named { value, names } => {
                let number = |(number, name): (&String, &String)| {
                    let number = number
                        .parse()
                        .map_err(|_| format!("names: {number} is no number"))?;
                    Ok((number, Symbol::new(name)))
                };
                let names = names.iter().map(number).collect::<Result<_, String>>()?;
                Ok((value, Some(names)))
            }
        }
    }
}

impl OperationEntry {
    /// The name of the request, for messages.
    fn name(&self) -> String {
        match (&self.request, &self.extension, self.minor) {
            (Some(request), _, _) => request.clone(),
            (None, Some(extension), Some(minor)) => format!("{extension}:{minor}"),
            _ => "no request".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    fn error(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn errors_name_the_operation() {
        assert_eq!(
            error("format = 2"),
            "operations of format 2; this x11prof reads format 1"
        );
        let nothing = error("format = 1\n[[operation]]\nrequest = \"FOO:1\"");
        assert_eq!(
            nothing,
            "operation 1 (FOO:1): it defines nothing: give op_size, items or attributes"
        );
        let neither = error("format = 1\n[[operation]]\nminor = 3\nop_size = \"1\"");
        assert_eq!(
            neither,
            "operation 1 (no request): give either request, or extension and minor"
        );
        let header = error("format = 1\n[[operation]]\nrequest = \"A\"\nop_size = \"u16@2\"");
        assert_eq!(
            header,
            "operation 1 (A): in \"u16@2\": byte 2 is the header's; the fields begin at 4"
        );
        let one = "[[operation]]\nrequest = \"A\"\nop_size = \"1\"\n";
        assert_eq!(
            error(&format!("format = 1\n{one}{one}")),
            "operation 2 (A): the request is defined twice"
        );
        let typo = error("format = 1\n[[operation]]\nrequest = \"A\"\nopsize = \"1\"");
        assert!(
            typo.contains("line 4: ") && typo.contains("opsize"),
            "{typo}"
        );
    }
}
