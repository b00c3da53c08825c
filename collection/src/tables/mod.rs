//! The tables of sessions as Parquet files (docs/REFERENCE.md): their schema, writing, and reading.

mod columns;
mod read;
mod rows;
pub mod schema;
#[cfg(test)]
mod tests;
mod write;

pub use columns::{Cell, Column, Kind, Schema};
pub use read::Rows;
pub use write::TableWriter;

/// Why a table cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The file is not a valid Parquet file, or reading it failed.
    #[error("{0}")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// The contents of the file are inconsistent.
    #[error("it is damaged: what it says of itself cannot be")]
    Damaged,
    /// The file cannot be opened or written.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The file is a table of another kind: it lacks a column.
    #[error("no table of x11prof's {table}: it has no column `{column}`")]
    Column {
        /// The table.
        table: &'static str,
        /// The missing column.
        column: &'static str,
    },
    /// A table of a later version.
    #[error("tables of version {0}; this x11prof reads version {version}", version = schema::VERSION)]
    Version(String),
}
