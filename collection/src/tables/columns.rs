//! The columns and cells of tables: integers and text.

/// The type of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Integers (Parquet's INT64).
    Integer,
    /// Text (Parquet's BYTE_ARRAY with UTF8).
    Text,
}

/// A column of a table.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// The name of the column. The suffix `_ns` means nanoseconds.
    pub name: &'static str,
    /// The type of the column's values.
    pub kind: Kind,
    /// True if rows may lack a value in this column.
    pub optional: bool,
}

/// A table: its name and its columns.
#[derive(Debug, Clone, Copy)]
pub struct Schema {
    /// The name of the table and of the folder that contains its files.
    pub name: &'static str,
    /// The columns of the table. Version, user and date are in the names of folders, not in the files.
    pub columns: &'static [Column],
}

/// The value of a row in one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell<'a> {
    /// The row has no value in this column.
    Null,
    /// An integer, such as a count or a number of nanoseconds.
    Integer(i64),
    /// A text, such as a name.
    Text(&'a str),
}

impl<'a> Cell<'a> {
    /// Creates the cell of a count or a time. A value above the maximum of an INT64 is replaced by the maximum.
    pub fn number(value: u64) -> Cell<'a> {
        Cell::Integer(i64::try_from(value).unwrap_or(i64::MAX))
    }

    /// Creates the cell of a text, or an empty cell for `None`.
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
