//! Issues of many sessions, as text and as HTML pages.

mod chart;
mod pages;
mod text;

pub use pages::{INDEX, PAGES, file_name, index, issue};
pub use text::text;
