//! Issues of many sessions: text, pages.

mod text;

pub use text::text;
