//! Why a display cannot be served.

use std::io;

use thiserror::Error;

/// The first number that we try: above those of seats (0 on) and of ssh (10 on).
pub(crate) const FIRST_NUMBER: u32 = 80;
/// The last number that we try.
pub(crate) const LAST_NUMBER: u32 = 1000;

/// Why a display could not be claimed.
#[derive(Debug, Error)]
pub enum ListenError {
    /// The number requested is another's.
    #[error(
        "display :{number} is in use by {by}; choose another number, or none to get a free one"
    )]
    InUse {
        /// The number.
        number: u32,
        /// The process that has it, if known.
        by: String,
    },
    /// The numbers from the first to the last are all taken.
    #[error(
        "no free display number from :{FIRST_NUMBER} to :{LAST_NUMBER}; name one with --listen"
    )]
    NoneFree,
    /// The address cannot be listened at.
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
        /// The fault of the folder.
        why: &'static str,
    },
    /// A lock file or socket could not be made.
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
