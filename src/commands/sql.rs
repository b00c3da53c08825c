//! `x11prof sql`: runs a query over the tables of many sessions in an installed DuckDB.

use std::io::{self, ErrorKind, IsTerminal};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};

use x11prof_collection::schema;
use x11prof_proxy::end_with_this_process;
use x11prof_stacks::program;
use x11prof_views::plain_lines;

use crate::args::{Sql, SqlFormat};
use crate::error::{CommandError, Outcome};
use crate::output::emit_text;
use crate::say::say_all;
use crate::text_file::text;

/// A Python program that runs a query with the duckdb package. Its arguments are the views and the query.
const PYTHON: &str = include_str!("../../sql/query.py");

/// The exit status of [`PYTHON`] if Python's package is missing.
const NO_DUCKDB: i32 = 69;

/// Runs the query.
pub(crate) fn run(arguments: &Sql) -> Outcome {
    let query = match arguments.query.strip_prefix('@') {
        Some(file) => text(Path::new(file), "query")?,
        None => arguments.query.clone(),
    };
    let views = views(&arguments.folder)?;
    let (option, name) = match arguments.format {
        SqlFormat::Text => ("-box", "text"),
        SqlFormat::Json => ("-json", "json"),
        SqlFormat::Csv => ("-csv", "csv"),
    };
    let mut command = program("duckdb");
    command.args([option, "-c", &views, "-c", &query]);
    if let Some(done) = ran(command)? {
        return Ok(done);
    }
    // Neither Python (-I) nor a wrapper of it (pyenv) may read code or settings from the current folder, to which the
    // query's paths are relative. An active virtual environment is used.
    let folder = std::env::current_dir().map_err(CommandError::failed)?;
    let mut command = program("python3");
    command
        .args(["-I", "-c", PYTHON, name, &views, &query])
        .arg(folder)
        .current_dir("/");
    if let Some(done) = ran(command)? {
        return Ok(done);
    }
    Err(CommandError::failed(
        "no DuckDB is installed; get its command from https://duckdb.org/install, or Python's package: pip install duckdb",
    ))
}

/// Runs `command` and returns its exit status. `None` if the program or Python's duckdb package is missing. Removes
/// control characters from the output, if a terminal shows it.
fn ran(mut command: Command) -> Result<Option<ExitCode>, CommandError> {
    if io::stdout().is_terminal() {
        command.stdout(Stdio::piped());
    }
    let child = end_with_this_process(command.stderr(Stdio::piped())).spawn();
    let done = match child.and_then(Child::wait_with_output) {
        Ok(done) if done.status.code() == Some(NO_DUCKDB) => return Ok(None),
        Ok(done) => done,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(CommandError::failed(format_args!("DuckDB: {error}"))),
    };
    say_all(&String::from_utf8_lossy(&done.stderr));
    let shown = emit_text(None, &plain_lines(&String::from_utf8_lossy(&done.stdout)))?;
    Ok(Some(match done.status.success() {
        true => shown,
        false => ExitCode::FAILURE,
    }))
}

/// Returns `path` as a pattern of DuckDB that matches this path only, for a string of SQL.
fn literal(path: &str) -> String {
    let mut pattern = String::with_capacity(path.len());
    for letter in path.chars() {
        match letter {
            '\'' => pattern.push_str("''"),
            '*' | '?' | '[' => pattern.extend(['[', letter, ']']),
            other => pattern.push(other),
        }
    }
    pattern
}

/// Returns the SQL statements that create a view for each table in `folder`.
fn views(folder: &Path) -> Result<String, CommandError> {
    let mut views = String::new();
    for table in schema::ALL {
        let files = folder.join(table.name);
        if !files.is_dir() {
            continue;
        }
        let files = literal(&files.to_string_lossy());
        // Versions stay text, because 1.10 differs from 1.1.
        views.push_str(&format!(
            "CREATE VIEW {} AS SELECT * FROM read_parquet('{files}/**/*.parquet', hive_partitioning = true, \
             hive_types_autocast = false, union_by_name = true);\n",
            table.name
        ));
    }
    match views.is_empty() {
        true => Err(CommandError::file(
            folder,
            "the folder has no tables; write them with: x11prof export --to parquet TRACE -o FOLDER",
        )),
        false => Ok(views),
    }
}

#[cfg(test)]
mod tests {
    use super::literal;

    #[test]
    fn folder_names_are_no_patterns() {
        assert_eq!(literal("/it's/a[1]*?"), "/it''s/a[[]1][*][?]");
    }
}
