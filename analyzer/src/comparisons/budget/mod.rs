//! A budget: what a program may cost at most, in a file that is kept next to it, and what a recording of it
//! costs.
//!
//! Counts of requests and round trips are the same in each run of a program that does the same, so a gate
//! on them does not fail by chance.

mod counts;
mod file;
mod verdict;

pub use counts::BudgetCounts;
pub use file::{Budget, BudgetError};
pub use verdict::{BudgetLine, BudgetVerdict, Found};
