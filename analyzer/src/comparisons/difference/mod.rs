//! Changes between two versions of a program, from one or more recordings of each.
//!
//! [`figures`] takes one recording through the pipeline and keeps a few hundred figures; [`chance`] finds
//! the differences that are more than chance; the result is a document (docs/REFERENCE.md).

pub(crate) mod chance;
pub(crate) mod figures;
mod report;

pub use chance::{LEVEL, Sample, chances};
pub use figures::{Figures, FiguresOfRun, Quantity};
pub use report::{Difference, DifferenceRow, SideReport, ValuesReport};
