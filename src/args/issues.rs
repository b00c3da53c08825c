//! The arguments of the analyses of many sessions.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::values::milliseconds;

/// The arguments of `issues`.
#[derive(Debug, Args)]
pub(crate) struct Issues {
    /// Recordings, tables (of `export --to parquet` or `record --tables-only`), and folders of them;
    /// names of folders such as version=1.2/user=ann give version and user
    #[arg(value_name = "FOLDER|FILE", required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// The latency from which an episode counts
    /// [default: 100, of keys 150, of the pointer 195]
    #[arg(long, value_name = "MS", value_parser = milliseconds)]
    pub(crate) threshold: Option<f64>,
    /// A TOML file that says which issues are accepted, and which have a bug's number (docs/REFERENCE.md)
    #[arg(long, value_name = "FILE")]
    pub(crate) known: Option<PathBuf>,
    /// The two versions to compare, the older one first [default: the last two]
    #[arg(long, value_name = "OLD,NEW", value_parser = versions)]
    pub(crate) compare: Option<[String; 2]>,
    /// Show what the episodes of each issue did, and where its worst one is
    #[arg(long)]
    pub(crate) details: bool,
    /// Show all issues, also accepted ones, not the fifteen worst alone
    #[arg(long)]
    pub(crate) all: bool,
    /// The form of the result
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: IssuesFormat,
    /// Write the result to FILE instead of standard output; of html, to the folder FILE, which is made
    #[arg(short, long, value_name = "FILE", required_if_eq("format", "html"))]
    pub(crate) output: Option<PathBuf>,
}

/// The form of the list of issues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum IssuesFormat {
    /// For people
    Text,
    /// For programs; versioned
    Json,
    /// Pages for a browser: the list, and one for each issue
    Html,
}

/// The arguments of `sql`.
#[derive(Debug, Args)]
pub(crate) struct Sql {
    /// The query, or @FILE
    #[arg(value_name = "QUERY")]
    pub(crate) query: String,
    /// The folder of the tables
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
    /// The form of the result
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: SqlFormat,
}

/// The form of a query's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SqlFormat {
    /// For people
    Text,
    /// For programs
    Json,
    /// For spreadsheets
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
