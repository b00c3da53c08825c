//! Templates of requests.

use super::expression::Expression;
use crate::server::wire;

/// A request whose fields may depend on the number of the request.
#[derive(Debug, Clone)]
pub(super) struct Request {
    /// The name of the request as in a parameter file.
    pub(super) name: String,
    /// The first two bytes of the request.
    pub(super) head: [Expression; 2],
    /// The fields after the header.
    pub(super) fields: Vec<Field>,
}

/// A part of a request.
#[derive(Debug, Clone)]
pub(super) enum Field {
    /// A number, its length in bytes, and how often the field is repeated.
    Number(Expression, i64, Expression),
    /// Text, and how often the field is repeated.
    Text(Vec<u8>, Expression),
    /// The number of items, and the fields of each item.
    Items(Expression, Vec<Field>),
    /// Padding up to the next multiple of four bytes.
    Align,
}

impl Request {
    /// The bytes of the request number `number`, which creates the resource `id`.
    pub(super) fn bytes(&self, number: i64, id: u32) -> Vec<u8> {
        let mut indexes = vec![number, id.into()];
        let head = self.head.each_ref();
        let [first, second] = head.map(|part| part.value(&indexes) as u8);
        let mut bytes = vec![first, second, 0, 0];
        write(&self.fields, &mut indexes, &mut bytes);
        wire::with_length(bytes)
    }
}

fn write(fields: &[Field], indexes: &mut Vec<i64>, bytes: &mut Vec<u8>) {
    let often = |times: &Expression, indexes: &[i64]| times.value(indexes).max(0) as usize;
    for field in fields {
        match field {
            Field::Number(value, width, times) => {
                let value = value.value(indexes);
                for _ in 0..often(times, indexes) {
                    match width {
                        1 => bytes.push(value as u8),
                        2 => bytes.extend((value as u16).to_ne_bytes()),
                        _ => bytes.extend((value as u32).to_ne_bytes()),
                    }
                }
            }
            Field::Text(text, times) => bytes.extend(text.repeat(often(times, indexes))),
            Field::Items(count, fields) => {
                for item in 0..count.value(indexes) {
                    indexes.push(item);
                    write(fields, indexes, bytes);
                    indexes.pop();
                }
            }
            Field::Align => bytes.resize(bytes.len().next_multiple_of(4), 0),
        }
    }
}
