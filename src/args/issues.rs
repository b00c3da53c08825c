//! The arguments of the analyses of many sessions.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::values::milliseconds;

/// The arguments of `issues`.
#[derive(Debug, Args)]
pub(crate) struct Issues {
    /// Recordings, tables, and folders of them
    ///
    /// Tables come from `export --to parquet` or `record --tables-only`. Folder names such as version=1.2/user=ann set
    /// version and user. Links to folders in a folder are skipped.
    #[arg(value_name = "FOLDER|FILE", required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// The latency from which an episode counts (see `episodes`)
    #[arg(long, value_name = "MS", value_parser = milliseconds)]
    pub(crate) threshold: Option<f64>,
    /// A TOML file with accepted issues and bug numbers (docs/REFERENCE.md)
    #[arg(long, value_name = "FILE")]
    pub(crate) known: Option<PathBuf>,
    /// The two versions to compare, the older one first [default: the last two]
    #[arg(long, value_name = "OLD,NEW", value_parser = versions)]
    pub(crate) compare: Option<[String; 2]>,
    /// Show what the episodes of each issue did, and where the slowest one is
    #[arg(long)]
    pub(crate) details: bool,
    /// Show all issues, including accepted ones, instead of the fifteen worst
    #[arg(long)]
    pub(crate) all: bool,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: IssuesFormat,
    /// The file to write; for html, a folder
    #[arg(short, long, value_name = "FILE", required_if_eq("format", "html"))]
    pub(crate) output: Option<PathBuf>,
}

/// The form of the list of issues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum IssuesFormat {
    /// Text for a terminal
    Text,
    /// JSON, with a version number
    Json,
    /// HTML pages: the list, and one page per issue
    Html,
}

/// The arguments of `sql`.
#[derive(Debug, Args)]
pub(crate) struct Sql {
    /// The SQL query, or @FILE
    #[arg(value_name = "QUERY")]
    pub(crate) query: String,
    /// The folder of the tables
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: SqlFormat,
}

/// The form of a query's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SqlFormat {
    /// Text for a terminal
    Text,
    /// JSON
    Json,
    /// CSV
    Csv,
}

fn versions(text: &str) -> Result<[String; 2], String> {
    match text.split_once(',') {
        Some((old, new)) if !old.is_empty() && !new.is_empty() && old != new => {
            Ok([old.to_owned(), new.to_owned()])
        }
        _ => Err("expected two versions, such as 1.1,1.2".to_owned()),
    }
}
