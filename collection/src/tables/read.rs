//! Reads a table from a file, a few thousand rows at a time. x11prof wrote the file, or another engine merged it from
//! such files.

use std::panic::{AssertUnwindSafe, catch_unwind};

use parquet::basic::Type as Physical;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};

use super::TableError;
use super::columns::{Cell, Column, Kind, Schema};
use super::schema::{KEY, STARTED, VERSION};

/// The number of rows that are read at once.
const BATCH: usize = 4096;
/// The memory in bytes that the rows of a file of any length may use.
const FREE: u64 = 1 << 20;
/// The maximum memory for rows, in bytes for each byte of the file. The limit is needed because a few bytes of a file
/// can claim any number of rows.
const RATIO: u64 = 128;
/// The counted memory of a row, in bytes, in addition to its columns.
const ROW: u64 = 16;
/// The counted memory of each column of a row, in bytes.
const COLUMN: u64 = 8;

/// The greatest count, and the greatest duration in nanoseconds: two years.
pub(super) const MOST: i64 = 1 << 56;

/// The values of a column for a batch of rows.
enum Values {
    Integers(Vec<Option<i64>>),
    Texts(Vec<Option<ByteArray>>),
    /// The file does not have the column.
    Nothing,
}

/// The rows of a table in one file.
pub struct Rows<R: ChunkReader + 'static> {
    file: SerializedFileReader<R>,
    schema: &'static Schema,
    /// For each column of the schema, its index in the file; `None` if the file does not have the column.
    at: Vec<Option<usize>>,
    /// The maximum memory for the rows, in bytes.
    most: u64,
}

impl<R: ChunkReader + 'static> Rows<R> {
    /// Opens a file that contains a table with this schema.
    ///
    /// # Errors
    /// Returns an error if the file does not contain such a table.
    pub fn open(schema: &'static Schema, file: R) -> Result<Rows<R>, TableError> {
        caught(|| Rows::opened(schema, file))
    }

    fn opened(schema: &'static Schema, file: R) -> Result<Rows<R>, TableError> {
        let most = FREE + file.len().saturating_mul(RATIO);
        let file = SerializedFileReader::new(file)?;
        let about = file.metadata().file_metadata();
        let said = about.key_value_metadata().into_iter().flatten();
        let version = said.filter(|pair| pair.key == KEY);
        // Files merged by another engine have no version.
        if let Some(other) = version
            .filter_map(|pair| pair.value.as_deref())
            .find(|of| *of != VERSION)
        {
            return Err(TableError::Version(other.to_owned()));
        }
        let columns = about.schema_descr().columns();
        let mut at = Vec::new();
        for column in schema.columns {
            let found = columns.iter().position(|one| one.name() == column.name);
            if found.is_none() && !column.optional {
                return Err(TableError::Column {
                    table: schema.name,
                    column: column.name,
                });
            }
            at.push(found);
        }
        Ok(Rows {
            file,
            schema,
            at,
            most,
        })
    }

    /// Passes each row of the table to `on`, as a cell for each column in the order of the schema. `on` returns the
    /// number of bytes of text that it stores for the row.
    ///
    /// # Errors
    /// Returns an error if the file is damaged, or if its rows use too much memory. `on` has then received the rows
    /// before the error.
    pub fn each(&self, on: impl FnMut(&[Cell<'_>]) -> u64) -> Result<(), TableError> {
        caught(|| self.hand_out(on))
    }

    fn hand_out(&self, mut on: impl FnMut(&[Cell<'_>]) -> u64) -> Result<(), TableError> {
        let mut left_bytes = self.most;
        let numbers = ROW + COLUMN * self.schema.columns.len() as u64;
        for number in 0..self.file.num_row_groups() {
            let group = self.file.get_row_group(number)?;
            let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
            let mut readers = Vec::new();
            for at in &self.at {
                readers.push(at.map(|at| group.get_column_reader(at)).transpose()?);
            }
            let mut left = rows;
            while left > 0 {
                let wanted = left.min(BATCH);
                let mut values = Vec::new();
                for (reader, column) in readers.iter_mut().zip(self.schema.columns) {
                    values.push(match reader {
                        Some(reader) => batch(reader, column.kind, wanted)?,
                        None => Values::Nothing,
                    });
                }
                for row in 0..wanted {
                    let cells: Vec<Cell<'_>> = values.iter().map(|of| cell(of, row)).collect();
                    if cells.iter().zip(self.schema.columns).any(is_impossible) {
                        return Err(TableError::Damaged);
                    }
                    let left = left_bytes.checked_sub(numbers.saturating_add(on(&cells)));
                    left_bytes = left.ok_or(TableError::Damaged)?;
                }
                left -= wanted;
            }
        }
        Ok(())
    }
}

/// Converts a panic of the crate `parquet` to an error. The crate panics if numbers in a damaged file contradict each
/// other.
fn caught<T>(read: impl FnOnce() -> Result<T, TableError>) -> Result<T, TableError> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or(Err(TableError::Damaged))
}

/// True for a number in a column of counts or durations that is none.
fn is_impossible((cell, column): (&Cell<'_>, &Column)) -> bool {
    matches!(cell, Cell::Integer(number) if !(0..=MOST).contains(number)) && column.name != STARTED
}

fn cell(values: &Values, row: usize) -> Cell<'_> {
    match values {
        Values::Integers(values) => values.get(row).copied().flatten().map(Cell::Integer),
        Values::Texts(values) => {
            let value = values.get(row).and_then(Option::as_ref);
            value.and_then(|text| text.as_utf8().ok()).map(Cell::Text)
        }
        Values::Nothing => None,
    }
    .unwrap_or(Cell::Null)
}

fn batch(reader: &mut ColumnReader, kind: Kind, rows: usize) -> Result<Values, TableError> {
    Ok(match (reader, kind) {
        (ColumnReader::Int64ColumnReader(reader), Kind::Integer) => {
            Values::Integers(read(reader, rows)?)
        }
        // Another engine may have chosen a smaller integer type.
        (ColumnReader::Int32ColumnReader(reader), Kind::Integer) => {
            let values = read(reader, rows)?.into_iter();
            Values::Integers(values.map(|value| value.map(i64::from)).collect())
        }
        (ColumnReader::ByteArrayColumnReader(reader), Kind::Text) => {
            Values::Texts(read(reader, rows)?)
        }
        (_, kind) => {
            let wanted = match kind {
                Kind::Integer => Physical::INT64,
                Kind::Text => Physical::BYTE_ARRAY,
            };
            let said = format!("a column is of another type than {wanted}");
            return Err(parquet::errors::ParquetError::General(said).into());
        }
    })
}

fn read<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
) -> Result<Vec<Option<T::T>>, TableError> {
    let (mut there, mut values) = (Vec::new(), Vec::new());
    let mut done = 0;
    while done < rows {
        let (records, ..) =
            reader.read_records(rows - done, Some(&mut there), None, &mut values)?;
        if records == 0 {
            let said = "it ends before its rows do".to_owned();
            return Err(parquet::errors::ParquetError::General(said).into());
        }
        done += records;
    }
    // A column with a value in every row has no definition levels.
    if there.is_empty() {
        return Ok(values.into_iter().map(Some).collect());
    }
    let mut values = values.into_iter();
    let value = |there: i16| if there > 0 { values.next() } else { None };
    Ok(there.into_iter().map(value).collect())
}
