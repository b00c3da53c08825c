//! The user's own operations (docs/REFERENCE.md): their file, their expressions, their effect on a request's
//! operation.

mod definition;
mod expression;
mod file;

pub use definition::Definitions;
pub use file::DefinitionError;
