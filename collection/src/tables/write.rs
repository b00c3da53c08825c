//! Writes the rows of a table into a Parquet file.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use super::TableError;
use super::columns::{Cell, Column, Kind, Schema};
use super::schema::{EPISODES, KEY, LATENCIES, SESSIONS, VERSION};

/// The maximum number of rows in memory.
const ROWS: usize = 20_000;

/// The values of a column, and for each row a 1 if the row has a value, otherwise a 0.
enum Values {
    Integers(Vec<i64>, Vec<i16>),
    Texts(Vec<ByteArray>, Vec<i16>),
}

/// Writes the rows of one table into a Parquet file.
pub struct TableWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    schema: &'static Schema,
    columns: Vec<Values>,
    rows: usize,
}

impl<W: Write + Send> TableWriter<W> {
    /// Creates a table without rows, which is written to `out`.
    ///
    /// # Errors
    /// Returns the errors of `out`.
    pub fn new(schema: &'static Schema, out: W) -> Result<TableWriter<W>, TableError> {
        let fields = schema
            .columns
            .iter()
            .map(|column| Ok(Arc::new(field(column)?)));
        let fields: Result<Vec<_>, TableError> = fields.collect();
        let root = Type::group_type_builder(schema.name)
            .with_fields(fields?)
            .build()?;
        let version = KeyValue::new(KEY.to_owned(), VERSION.to_owned());
        let properties = WriterProperties::builder()
            .set_compression(compression(schema)?)
            .set_key_value_metadata(Some(vec![version]))
            .set_created_by(concat!("x11prof ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        Ok(TableWriter {
            file: SerializedFileWriter::new(out, Arc::new(root), Arc::new(properties))?,
            schema,
            columns: empty(schema),
            rows: 0,
        })
    }

    /// Adds a row to the table: a cell for each column, in the order of the schema.
    ///
    /// # Errors
    /// Returns the errors of the output.
    pub fn row<'a>(&mut self, cells: impl IntoIterator<Item = Cell<'a>>) -> Result<(), TableError> {
        for (values, cell) in self.columns.iter_mut().zip(cells) {
            match (values, cell) {
                (Values::Integers(values, there), Cell::Integer(value)) => {
                    values.push(value);
                    there.push(1);
                }
                (Values::Texts(values, there), Cell::Text(value)) => {
                    values.push(value.as_bytes().to_vec().into());
                    there.push(1);
                }
                (Values::Integers(_, there) | Values::Texts(_, there), _) => there.push(0),
            }
        }
        self.rows += 1;
        match self.rows {
            ROWS => self.flush(),
            _ => Ok(()),
        }
    }

    /// Writes the remaining rows and the end of the file. Returns the output.
    ///
    /// # Errors
    /// Returns the errors of the output.
    pub fn finish(mut self) -> Result<W, TableError> {
        self.flush()?;
        Ok(self.file.into_inner()?)
    }

    fn flush(&mut self) -> Result<(), TableError> {
        if self.rows == 0 {
            return Ok(());
        }
        self.rows = 0;
        let columns = std::mem::replace(&mut self.columns, empty(self.schema));
        let mut group = self.file.next_row_group()?;
        for (values, column) in columns.into_iter().zip(self.schema.columns) {
            match values {
                Values::Integers(values, there) => {
                    write::<Int64Type, W>(&mut group, &values, &there, column)?;
                }
                Values::Texts(values, there) => {
                    write::<ByteArrayType, W>(&mut group, &values, &there, column)?;
                }
            }
        }
        group.close()?;
        Ok(())
    }
}

/// Returns the compression for a table. The tables that are read for every session use Snappy, which has no start-up
/// cost. The decoder of zstd detects the processor type for each column of each file. Under a hypervisor, this
/// detection took two thirds of the time for reading ten thousand sessions.
fn compression(schema: &Schema) -> Result<Compression, TableError> {
    let small = [&SESSIONS, &EPISODES, &LATENCIES];
    Ok(match small.iter().any(|one| one.name == schema.name) {
        true => Compression::SNAPPY,
        false => Compression::ZSTD(ZstdLevel::try_new(3)?),
    })
}

fn write<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    there: &[i16],
    column: &Column,
) -> Result<(), TableError> {
    if let Some(mut writer) = group.next_column()? {
        let there = column.optional.then_some(there);
        writer.typed::<T>().write_batch(values, there, None)?;
        writer.close()?;
    }
    Ok(())
}

fn empty(schema: &Schema) -> Vec<Values> {
    let columns = schema.columns.iter();
    columns
        .map(|column| match column.kind {
            Kind::Integer => Values::Integers(Vec::new(), Vec::new()),
            Kind::Text => Values::Texts(Vec::new(), Vec::new()),
        })
        .collect()
}

fn field(column: &Column) -> Result<Type, TableError> {
    let (physical, logical) = match column.kind {
        Kind::Integer => (Physical::INT64, None),
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let repetition = match column.optional {
        true => Repetition::OPTIONAL,
        false => Repetition::REQUIRED,
    };
    Ok(Type::primitive_type_builder(column.name, physical)
        .with_repetition(repetition)
        .with_logical_type(logical)
        .build()?)
}
