//! Analyses many sessions together (after LagHunter: Jovic, Adamoli & Hauswirth 2011; the thesis, chapters 5 and 6).
//! The same problem of many users, sessions and versions is one *issue*, and issues are ranked by their effect on
//! users.
//!
//! `gather` processes one trace and returns a row for each episode. `tables` writes and reads such rows as Parquet
//! files (docs/REFERENCE.md). `issues` groups the rows of any number of sessions in one pass. `report` contains the
//! result. The crate does not open files; callers open files and report damaged files.

mod changes;
mod curve;
mod episode_row;
mod gather;
mod hive;
mod issues;
mod known;
mod report;
mod session;
mod tables;
mod trace_tables;

pub use curve::EDGES_MS;
pub use episode_row::{EpisodeRow, PART_NAMES};
pub use gather::Gather;
pub use hive::Partition;
pub use issues::{Issues, Selection};
pub use known::{Known, KnownError};
pub use report::{
    ByVersion, CallSiteReport, ChangeReport, CurveReport, Example, IssueReport, IssuesReport,
    KnownReport, LeftOut, PatternReport, PointReport, ProgramReport,
};
pub use session::{Latencies, Session};
pub use tables::{Cell, Column, Kind, Rows, Schema, TableError, TableWriter, schema};
pub use trace_tables::TraceTables;
