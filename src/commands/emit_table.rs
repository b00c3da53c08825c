//! The output of a report in the format that the user chose.

use std::path::Path;

use crate::args::TableFormat;
use crate::error::Outcome;
use crate::output::{emit_all, emit_json, emit_text};

/// Writes the report `value` in a format to the file `to`, or to standard output. `text` and `csv` make the other formats.
pub(crate) fn emit_table(
    to: Option<&Path>,
    format: TableFormat,
    value: &impl serde::Serialize,
    text: impl FnOnce() -> String,
    csv: impl FnOnce() -> String,
) -> Outcome {
    match format {
        TableFormat::Text => emit_text(to, &text()),
        TableFormat::Json => emit_json(to, value),
        TableFormat::Csv => emit_text(to, &csv()),
        TableFormat::All => emit_all(to, value, [("txt", text()), ("csv", csv())]),
    }
}
