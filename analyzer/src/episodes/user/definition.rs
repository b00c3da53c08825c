//! The definition of an event.

/// A type of event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventDefinition {
    /// The name.
    pub name: String,
    /// The kind of event, as named by the user.
    pub kind: String,
    /// The messages that start an instance.
    pub(crate) start: MessageMatch,
    /// The messages that end an instance; `None` for the end of its response.
    pub(crate) end: Option<MessageMatch>,
    /// True if a start of the same type on the same window continues the previous instance.
    pub(crate) reuse: bool,
    /// True if an instance that starts during another event is separate.
    pub(crate) nested: bool,
}

/// The events of a file, in its order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventDefinitions(pub(crate) Vec<EventDefinition>);

/// The kind of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MessageName {
    /// An event of this name; `*` represents any text.
    Event(String),
    /// A request of this name.
    Request(String),
}

/// The messages that start or end an event. All conditions must be true.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MessageMatch {
    pub(crate) of: MessageName,
    /// The class of the window.
    pub(crate) class: Option<String>,
    /// A part of the window's name.
    pub(crate) window: Option<String>,
    /// A key by its keysym, or its code.
    pub(crate) key: Option<String>,
    pub(crate) button: Option<u32>,
    /// The name of the property, selection or message type.
    pub(crate) atom: Option<String>,
}
