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
    /// The file is no Parquet file, or a damaged one, or the disk failed.
    #[error("{0}")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// A file that contradicts itself.
    #[error("it is damaged: what it says of itself cannot be")]
    Damaged,
    /// The file cannot be opened or written.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// A table of another kind.
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
