//! The definition of a user-defined event.

/// The definition of a type of event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventDefinition {
    /// The name of the type of event.
    pub name: String,
    /// The kind of event, as named by the user in the file.
    pub kind: String,
    /// The messages that start an instance of the event.
    pub(crate) start: MessageMatch,
    /// The messages that end an instance; `None` if it ends with the response to the start.
    pub(crate) end: Option<MessageMatch>,
    /// If true, a start on the window of the previous instance of this type continues that instance.
    pub(crate) reuse: bool,
    /// If true, an instance may start while another event is open.
    pub(crate) nested: bool,
}

/// The definitions of a file, in the order of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventDefinitions(pub(crate) Vec<EventDefinition>);

/// The direction and the name of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MessageName {
    /// An event with this name; `*` in the name represents any text.
    Event(String),
    /// A request with this name; `*` in the name represents any text.
    Request(String),
}

/// The messages that start or end a user-defined event. A message matches if it meets all conditions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MessageMatch {
    pub(crate) of: MessageName,
    /// The class of the message's window; `None` for any class.
    pub(crate) class: Option<String>,
    /// A part of the name of the message's window; `None` for any name.
    pub(crate) window: Option<String>,
    /// The keysym or the code of the key; `None` for any key.
    pub(crate) key: Option<String>,
    pub(crate) button: Option<u32>,
    /// The name of the property, selection or message type; `None` for any name.
    pub(crate) atom: Option<String>,
}
