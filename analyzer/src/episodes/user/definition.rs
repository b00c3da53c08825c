//! The definition of an event.

/// A type of event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventDefinition {
    /// What it is called.
    pub name: String,
    /// What kind of event it is, in the user's own words.
    pub kind: String,
    /// What starts one.
    pub(crate) start: When,
    /// What ends it; `None`: its response is complete.
    pub(crate) end: Option<When>,
    /// A start of the same type on the same window goes on with the one before.
    pub(crate) reuse: bool,
    /// One that starts while another event goes on is one of its own.
    pub(crate) nested: bool,
}

/// The events of a file, in its order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventDefinitions(pub(crate) Vec<EventDefinition>);

/// What a message is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Of {
    /// An event of this name; `*` stands for any text.
    Event(String),
    /// A request of this name.
    Request(String),
}

/// Which messages start or end an event: all that is said holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct When {
    pub(crate) of: Of,
    /// The class of the window.
    pub(crate) class: Option<String>,
    /// What the window's name holds.
    pub(crate) window: Option<String>,
    /// A key by its keysym, or its code.
    pub(crate) key: Option<String>,
    pub(crate) button: Option<u32>,
    /// The name of the property, selection or message type.
    pub(crate) atom: Option<String>,
}
