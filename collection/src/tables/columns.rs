//! What tables are made of: columns of integers and of text.

/// What a column holds.
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
    /// Its name. The end `_ns` says nanoseconds.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// Whether a value may be missing.
    pub optional: bool,
}

/// A table.
#[derive(Debug, Clone, Copy)]
pub struct Schema {
    /// Its name, and that of its folder.
    pub name: &'static str,
    /// Its columns. Version, user and date are no columns of the files: their folders say them.
    pub columns: &'static [Column],
}

/// A value of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell<'a> {
    /// None.
    Null,
    /// An integer.
    Integer(i64),
    /// Text.
    Text(&'a str),
}

impl<'a> Cell<'a> {
    /// A count or a time; what does not fit is the largest that does.
    pub fn number(value: u64) -> Cell<'a> {
        Cell::Integer(i64::try_from(value).unwrap_or(i64::MAX))
    }

    /// Text, where there is some.
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
