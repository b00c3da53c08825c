//! What landmarks, windows and places are called: made of titles, of which a session may have any number.
//!
//! A `Symbol` lives as long as the program, and there is room for some ten thousand of them. A label lives as long as
//! whoever has it.

use std::fmt;
use std::sync::Arc;

/// A name that is shared, and freed with the last who has it.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label(Arc<str>);

impl Label {
    /// Of this text.
    pub fn new(text: &str) -> Label {
        Label(text.into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
