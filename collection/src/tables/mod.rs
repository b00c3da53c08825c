//! The tables of sessions as Parquet files (docs/REFERENCE.md): the schemas, a writer and a reader.

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

/// The reasons why a table cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The file is not a valid Parquet file, or reading it failed.
    #[error("{0}")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// The contents of the file contradict each other.
    #[error("it is damaged: what it says of itself cannot be")]
    Damaged,
    /// The file cannot be opened or written.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The file does not contain the expected table: it lacks a column.
    #[error("no table of x11prof's {table}: it has no column `{column}`")]
    Column {
        /// The name of the expected table.
        table: &'static str,
        /// The name of the missing column.
        column: &'static str,
    },
    /// The file contains a table of this version, which is not supported.
    #[error("tables of version {0}; this x11prof reads version {version}", version = schema::VERSION)]
    Version(String),
}
