//! Changes between two versions of a program, from one or more recordings of each.
//!
//! [`figures`] processes one recording with the pipeline and keeps a few hundred figures; [`chance`] finds the
//! significant differences. The result is a document (docs/REFERENCE.md).

pub(crate) mod chance;
pub(crate) mod figures;
mod report;

pub use chance::{LEVEL, Sample, chances};
pub use figures::{Figures, FiguresOfRun, Quantity};
pub use report::{Difference, DifferenceRow, SideReport, ValuesReport};
