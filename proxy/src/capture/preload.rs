//! Libraries of ours that a program loads before its own.

use std::ffi::OsString;
use std::path::Path;

/// The value of LD_PRELOAD with which a program loads `library`. What the user preloads stays.
pub(crate) fn preloaded(library: &Path) -> OsString {
    let mut preload = library.to_owned().into_os_string();
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        preload.push(":");
        preload.push(others);
    }
    preload
}
