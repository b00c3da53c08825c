//! x11prof proxy.
