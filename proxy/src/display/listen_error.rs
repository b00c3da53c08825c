//! Why a display cannot be served.

use std::io;

use thiserror::Error;

/// The first number to try, above those of seats (from 0) and of ssh (from 10).
pub(crate) const FIRST_NUMBER: u32 = 80;
/// The last number to try.
pub(crate) const LAST_NUMBER: u32 = 1000;

/// Why a display could not be claimed.
#[derive(Debug, Error)]
pub enum ListenError {
    /// The requested number is already in use.
    #[error(
        "display :{number} is in use by {by}; choose another number, or none to get a free one"
    )]
    InUse {
        /// The number.
        number: u32,
        /// The process that uses the number, if known.
        by: String,
    },
    /// All numbers from the first to the last are in use.
    #[error(
        "no free display number from :{FIRST_NUMBER} to :{LAST_NUMBER}; name one with --listen"
    )]
    NoneFree,
    /// The recorder cannot listen at the address.
    #[error("cannot listen by TCP at {host}: {source}; name an address of this machine")]
    Tcp {
        /// The address that was requested.
        host: String,
        /// The system's error.
        source: io::Error,
    },
    /// The folder of the sockets cannot be trusted.
    #[error(
        "cannot listen in {path}: {why}; anyone who can change it can pose as any display there (as root: chown root {path}; chmod 1777 {path})"
    )]
    Folder {
        /// The folder.
        path: String,
        /// The problem with the folder.
        why: &'static str,
    },
    /// A lock file or socket could not be created.
    #[error("cannot listen on display :{number}: {path}: {source}")]
    Io {
        /// The number.
        number: u32,
        /// The file.
        path: String,
        /// The system's error.
        source: io::Error,
    },
}

pub(crate) fn in_use(number: u32, by: impl Into<String>) -> ListenError {
    ListenError::InUse {
        number,
        by: by.into(),
    }
}
