//! Patterns that a user types for names of messages (`dump`, `stats`, what-if rules) and clients.

pub use x11prof_session::matches;
use x11prof_trace::Opened;

/// True if the name contains `text`, ignoring case.
pub(crate) fn holds(name: &str, text: &str) -> bool {
    name.to_lowercase().contains(&text.to_lowercase())
}

/// True if `typed` is the number of this client, or a part of its name. A number does not match names.
pub(crate) fn means(typed: &str, opened: &Opened) -> bool {
    let name = opened.name.as_deref().unwrap_or_default();
    match typed.parse::<u32>() {
        Ok(number) => number == opened.connection.0 || name == typed,
        Err(_) => name.contains(typed),
    }
}
