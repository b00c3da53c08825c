//! A program driven as a person would: a session of keys, clicks and motions, each after the effects of the one before.
//!
//! A [`Session`] is a list of actions: parsed from text, or made of recorded inputs. [`drive`] starts the program on the
//! display of the environment and gives it the actions by XTEST: the next one once the window is there and the program is
//! quiet by the kernel's clocks, not after a fixed time.
//!
//! The crate records and measures nothing: the caller marks each action in a recording. It presses keys only while
//! the focus is in the window that the session names.

mod action;
mod driver;
mod error;
mod human;
mod parse;
mod recorded;
mod session;

pub use action::{Action, Place, WindowName};
pub use driver::{DriveConfig, Driven, Pace, Subject, drive};
pub use error::{DriveError, SessionError};
pub use recorded::{InputKind, RecordedInput};
pub use session::{Session, Step};
