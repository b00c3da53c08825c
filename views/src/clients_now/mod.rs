//! The current activity of a display's clients: the verdict in sentences, rows for a screen, and both as text.

mod answer;
mod rows;
mod text;

pub use answer::answer;
pub use rows::{By, Order, Row, headings, rows};
pub use text::{basis, text};

use x11prof_analyzer::{ClientNow, NowReport};

use crate::plain::plain;

/// Returns the name of a client. If another client has the same name, the process id is added. A row that combines
/// several ended clients has their number.
fn name(client: &ClientNow, report: &NowReport) -> String {
    let of_name = report.clients.iter().filter(|one| one.name == client.name);
    let name = plain(&client.name);
    match (of_name.count(), client.pid, client.client) {
        _ if client.connections > 1 => format!("{name} ×{}", client.connections),
        (2.., Some(pid), _) => format!("{name} {pid}"),
        (2.., None, Some(number)) => format!("{name} ({number})"),
        _ => name.into_owned(),
    }
}
