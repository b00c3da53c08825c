//! The user's own operations (docs/OPERATIONS.md): their file, their expressions, and what they
//! make of a request.

mod definition;
mod expression;
mod file;

pub use definition::Definitions;
pub use file::DefinitionError;
