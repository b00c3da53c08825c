//! Server time as measured: the kernel's processor time of the recorded server, divided among what it
//! was for.
//!
//! The kernel says when the server ran (`runs`). What had come for it by then says for whom
//! (`division`). Prices only divide within a run, so that the total is the kernel's on every machine.

mod division;
mod fit;
mod runs;
mod share;

pub(crate) use division::{Came, Division, Question, Source, Uncalled, Work};
pub(crate) use fit::Divided;
pub use share::Basis;
pub(crate) use share::{Rate, Share};
