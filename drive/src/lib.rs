//! Drives a program as a user would: sends keys, clicks and motions, each after the effects of the previous one.
//!
//! A [`Session`] is a list of actions, parsed from text or made from recorded inputs. [`drive`] starts the program on
//! the display of the environment and sends the actions through XTEST. Each action follows when its window is visible
//! and the program is idle according to the kernel's clocks, not after a fixed time.
//!
//! The crate does not record or measure. The caller marks each action in a recording. Keys are pressed only while the
//! window that the session names has the focus.

mod action;
mod driver;
mod error;
mod parse;
mod recorded;
mod session;

pub use action::{Action, Place, WindowName};
pub use driver::{DriveConfig, Driven, Pace, RelayedClients, Subject, drive};
pub use error::{DriveError, SessionError};
pub use recorded::{InputKind, RecordedInput};
pub use session::{Session, Step};
