//! A budget: the limits of a program in a file next to it, and the figures of a recording.
//!
//! Counts of requests and round trips are the same in each run of a program that does the same, so a gate
//! on them does not fail by chance.

mod counts;
mod file;
mod verdict;

pub use counts::BudgetCounts;
pub use file::{Budget, BudgetError};
pub use verdict::{BudgetLine, BudgetVerdict, Found};
