//! Columns of tables: integers and text.

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// INT64.
    Integer,
    /// BYTE_ARRAY (UTF8).
    Text,
}

/// A column.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// The name. The suffix `_ns` means nanoseconds.
    pub name: &'static str,
    /// The type.
    pub kind: Kind,
    /// True if values may be missing.
    pub optional: bool,
}

/// A table.
#[derive(Debug, Clone, Copy)]
pub struct Schema {
    /// The name of the table and of its folder.
    pub name: &'static str,
    /// The columns. Version, user and date are in the folders' names, not in the files.
    pub columns: &'static [Column],
}

/// A value of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell<'a> {
    /// The absence of a value.
    Null,
    /// An integer.
    Integer(i64),
    /// Text.
    Text(&'a str),
}

impl<'a> Cell<'a> {
    /// A count or a time. A larger value becomes the largest possible one.
    pub fn number(value: u64) -> Cell<'a> {
        Cell::Integer(i64::try_from(value).unwrap_or(i64::MAX))
    }

    /// Text, if there is any.
    pub fn text(value: Option<&'a str>) -> Cell<'a> {
        value.map_or(Cell::Null, Cell::Text)
    }
}

pub(crate) const fn integer(name: &'static str) -> Column {
    Column {
        name,
        kind: Kind::Integer,
        optional: false,
    }
}

pub(crate) const fn text(name: &'static str) -> Column {
    Column {
        name,
        kind: Kind::Text,
        optional: false,
    }
}

pub(crate) const fn optional(column: Column) -> Column {
    Column {
        optional: true,
        ..column
    }
}
