//! Operations that the user defines (docs/REFERENCE.md): their file, their expressions, and their effect on a request's
//! operation.

mod definition;
mod expression;
mod file;

pub use definition::Definitions;
pub use file::DefinitionError;
