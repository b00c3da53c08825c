//! A budget: the limits of a program in a file, compared with the figures of a recording.
//!
//! Counts of requests and round trips are equal in each run of a deterministic program, so a gate on them does not fail
//! by chance.

mod counts;
mod file;
mod verdict;

pub use counts::BudgetCounts;
pub use file::{Budget, BudgetError};
pub use verdict::{BudgetLine, BudgetVerdict, Found};
