//! The table in `names.txt`: names of messages that `x11rb-protocol` lacks. The file documents its syntax.

use std::collections::HashMap;
use std::sync::OnceLock;

/// The extension name for the core protocol in the table.
pub(crate) const CORE: &str = "-";

/// The name of an extension's request with this minor opcode, and true if it has a reply; `None` if it is not in the
/// table.
pub(crate) fn request(extension: &str, minor: u8) -> Option<(&'static str, bool)> {
    let name = name("request", extension, minor.into())?;
    Some(match name.strip_suffix('*') {
        Some(name) => (name, true),
        None => (name, false),
    })
}

/// The name of an event, by its number relative to the extension's first event code, or by the XKB type; `None` if it
/// is not in the table.
pub(crate) fn event(extension: &str, number: u8) -> Option<&'static str> {
    name("event", extension, number.into())
}

/// The name of an extension's GenericEvent, by its event type; `None` if it is not in the table.
pub(crate) fn generic_event(extension: &str, number: u16) -> Option<&'static str> {
    name("generic", extension, number)
}

/// The name of an error, by its number relative to the extension's first error code; `None` if it is not in the table.
pub(crate) fn error(extension: &str, number: u8) -> Option<&'static str> {
    name("error", extension, number.into())
}

/// The names of an extension's events and errors in the table.
pub(crate) fn events_and_errors(extension: &str) -> impl Iterator<Item = &'static str> {
    ["event", "generic", "error"]
        .into_iter()
        .flat_map(|kind| names(kind, extension))
        .copied()
        .filter(|name| *name != "-")
}

fn name(kind: &str, extension: &str, number: u16) -> Option<&'static str> {
    let name = *names(kind, extension).get(usize::from(number))?;
    (name != "-").then_some(name)
}

/// Names by extension and number; `-` for a number without a name.
type Names = HashMap<&'static str, Vec<&'static str>>;

fn names(kind: &str, extension: &str) -> &'static [&'static str] {
    static TABLE: OnceLock<HashMap<&str, Names>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let mut table: HashMap<_, Names> = HashMap::new();
        let lines = include_str!("names.txt").lines();
        for line in lines.filter(|line| !line.starts_with('#')) {
            let mut words = line.split(' ');
            if let (Some(kind), Some(extension)) = (words.next(), words.next()) {
                let names = table.entry(kind).or_default();
                names.entry(extension).or_default().extend(words);
            }
        }
        table
    });
    let names = table.get(kind).and_then(|names| names.get(extension));
    names.map_or(&[], Vec::as_slice)
}
