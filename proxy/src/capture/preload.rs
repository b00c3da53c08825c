//! Libraries of x11prof that a program loads before all other libraries.

use std::ffi::OsString;
use std::path::Path;

/// Returns the value of LD_PRELOAD that makes a program load `library`, in addition to the libraries that the user
/// preloads.
pub(crate) fn preloaded(library: &Path) -> OsString {
    let mut preload = library.to_owned().into_os_string();
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        preload.push(":");
        preload.push(others);
    }
    preload
}
