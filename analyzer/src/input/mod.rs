//! The user's side of a recording: marks, input by window, and the runs of a driven session.

pub(crate) mod marks;
pub(crate) mod played;
pub(crate) mod user_input;
