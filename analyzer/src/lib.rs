//! x11prof analyzer.
