//! The table in `table.txt`. The file documents its syntax.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::kind::IdKind;

/// A part of a request that contains ids. Offsets assume a header of 4 bytes.
#[derive(Debug)]
pub(super) enum Field {
    At(usize, IdKind),
    /// A mask of `size` bytes at `mask` selects the 4-byte values from `values` on. The values of the bits in `bits`
    /// are ids.
    Values {
        mask: usize,
        size: usize,
        values: usize,
        bits: Vec<(u32, IdKind)>,
    },
    /// A list of elements of `size` bytes each, from offset `begin` on. Each element has ids at the offsets in `ids`.
    /// `count` is the offset and the size in bytes of the number of elements; `None` if the list extends to the end of
    /// the request.
    List {
        begin: usize,
        size: usize,
        count: Option<(usize, usize)>,
        ids: Vec<(usize, IdKind)>,
    },
    TextItems {
        begin: usize,
        character: usize,
    },
    Glyphs {
        begin: usize,
        glyph: usize,
    },
}

/// The fields with ids of all requests, by extension and opcode.
#[derive(Debug, Default)]
pub(super) struct Table {
    core: HashMap<u8, Vec<Field>>,
    extensions: HashMap<&'static str, HashMap<u8, Vec<Field>>>,
}

impl Table {
    pub(super) fn fields(&self, extension: Option<&str>, opcode: u8) -> &[Field] {
        let requests = match extension {
            Some(name) => self.extensions.get(name),
            None => Some(&self.core),
        };
        let fields = requests.and_then(|requests| requests.get(&opcode));
        fields.map_or(&[], Vec::as_slice)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        let extensions = self.extensions.values().map(HashMap::len);
        self.core.len() + extensions.sum::<usize>()
    }
}

/// The table, which is parsed on first use.
pub(super) fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table = Table::default();
        let lines = include_str!("table.txt").lines();
        for line in lines.filter(|line| !line.starts_with('#')) {
            // A test checks that every line is valid.
            let _ = read(line, &mut table);
        }
        table
    })
}

fn read(line: &'static str, table: &mut Table) -> Option<()> {
    let mut words = line.split(' ');
    let (extension, opcode) = (words.next()?, words.next()?.parse().ok()?);
    let fields = words.skip(1).map(field).collect::<Option<Vec<Field>>>()?;
    let requests = match extension {
        "-" => &mut table.core,
        name => table.extensions.entry(name).or_default(),
    };
    requests.insert(opcode, fields);
    Some(())
}

fn field(word: &str) -> Option<Field> {
    let rest = word.get(1..)?;
    Some(match word.get(..1)? {
        "m" => {
            let (mask, rest) = rest.split_once('@')?;
            let ((mask, size), (values, bits)) = (pair(mask)?, rest.split_once(':')?);
            let values = values.parse().ok()?;
            let bits = ids(bits)?.into_iter();
            Field::Values {
                mask,
                size,
                values,
                bits: bits.map(|(bit, kind)| (bit as u32, kind)).collect(),
            }
        }
        "*" => {
            let (begin, rest) = rest.split_once('+')?;
            let (size, rest) = rest.split_once('[')?;
            let (count, rest) = rest.split_once("]:")?;
            Field::List {
                begin: begin.parse().ok()?,
                size: size.parse().ok()?,
                count: match count {
                    "" => None,
                    count => Some(pair(count)?),
                },
                ids: ids(rest)?,
            }
        }
        "P" => {
            let (begin, character) = pair(rest)?;
            Field::TextItems { begin, character }
        }
        "G" => {
            let (begin, glyph) = pair(rest)?;
            Field::Glyphs { begin, glyph }
        }
        _ => {
            let (at, kind) = id(word)?;
            Field::At(at, kind)
        }
    })
}

fn pair(text: &str) -> Option<(usize, usize)> {
    let (a, b) = text.split_once(':')?;
    Some((a.parse().ok()?, b.parse().ok()?))
}

fn ids(text: &str) -> Option<Vec<(usize, IdKind)>> {
    text.split(',').map(id).collect()
}

fn id(word: &str) -> Option<(usize, IdKind)> {
    let kind = match word.get(..1)? {
        "r" => IdKind::Resource,
        "a" => IdKind::Atom,
        "t" => IdKind::Time,
        "v" => IdKind::Visual,
        "f" => IdKind::PictFormat,
        _ => return None,
    };
    Some((word.get(1..)?.parse().ok()?, kind))
}

#[cfg(test)]
mod tests {
    use super::{Table, read};

    #[test]
    fn every_table_line_parses() {
        let lines = include_str!("table.txt").lines();
        let mut table = Table::default();
        for line in lines.filter(|line| !line.starts_with('#')) {
            assert_eq!(read(line, &mut table), Some(()), "{line}");
        }
    }
}
