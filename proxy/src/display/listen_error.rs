//! The reasons why the recorder could not claim a display number.

use std::io;

use thiserror::Error;

/// The first display number to try, above the numbers of seats (from 0) and of ssh (from 10).
pub(crate) const FIRST_NUMBER: u32 = 80;
/// The last display number to try.
pub(crate) const LAST_NUMBER: u32 = 1000;

/// The reason why the recorder could not claim a display number.
#[derive(Debug, Error)]
pub enum ListenError {
    /// The requested display number is already in use.
    #[error(
        "display :{number} is in use by {by}; choose another number, or none to get a free one"
    )]
    InUse {
        /// The display number that the user requested.
        number: u32,
        /// The program that uses the number, as text.
        by: String,
    },
    /// All display numbers that the recorder tries are in use.
    #[error(
        "no free display number from :{FIRST_NUMBER} to :{LAST_NUMBER}; name one with --listen"
    )]
    NoneFree,
    /// The recorder cannot listen at the TCP address.
    #[error("cannot listen by TCP at {host}: {source}; name an address of this machine")]
    Tcp {
        /// The address that the user requested.
        host: String,
        /// The error that the system reported.
        source: io::Error,
    },
    /// The folder of the sockets cannot be trusted.
    #[error(
        "cannot listen in {path}: {why}; anyone who can change it can pose as any display there (as root: chown root {path}; chmod 1777 {path})"
    )]
    Folder {
        /// The path of the folder.
        path: String,
        /// The problem with the folder, as a part of a sentence.
        why: &'static str,
    },
    /// A lock file or socket could not be created.
    #[error("cannot listen on display :{number}: {path}: {source}")]
    Io {
        /// The number of the display on which the recorder cannot listen.
        number: u32,
        /// The path of the file.
        path: String,
        /// The error that the system reported.
        source: io::Error,
    },
}

pub(crate) fn in_use(number: u32, by: impl Into<String>) -> ListenError {
    ListenError::InUse {
        number,
        by: by.into(),
    }
}
