//! Episodes as text and CSV, and the messages of the worst episodes.

mod all;
mod bursts;
mod chart;
mod csv;
mod events;
mod landmarks;
mod marks;
mod patterns;
mod text;
mod timeline;
mod words;
mod worst;

pub use csv::csv;
pub use events::{events_csv, events_xml};
pub use text::{Show, slowest_action, text, verdict_lines};
pub use timeline::Timeline;
