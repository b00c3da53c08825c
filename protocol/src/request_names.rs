//! Names of requests by opcode, for the core protocol and extensions.

use std::borrow::Cow;

use x11rb_protocol::protocol::get_request_name;
use x11rb_protocol::x11_utils::{ExtInfoProvider, ExtensionInformation};

use crate::Symbol;
use crate::extension::Extension;
use crate::name_table::request;

/// The name of the core request with this major opcode, such as `PolyFillRectangle`; `None` if there is none.
pub(crate) fn core_request_name(major: u8) -> Option<&'static str> {
    if major >= 128 {
        return None;
    }
    known(get_request_name(&Only(None), major, 0))
}

/// The name of the request of `extension` with this minor opcode.
pub(crate) fn extension_request_name(extension: &Extension, minor: u8) -> Symbol {
    let name = known(get_request_name(
        &Only(Some(extension)),
        extension.major,
        minor,
    ));
    // The table contains `Render::Composite`, but the extension's name in the protocol is RENDER.
    match name.and_then(|name| name.split_once("::")) {
        Some((_, name)) => join(extension, name),
        None => match request(extension.name.as_str(), minor) {
            Some((name, _)) => join(extension, name),
            None => Symbol::new(&format!("{}:{minor}", extension.name)),
        },
    }
}

/// True if `x11rb-protocol` supports the request of `extension` with this minor opcode.
pub(crate) fn is_known_request(extension: &Extension, minor: u8) -> bool {
    known(get_request_name(
        &Only(Some(extension)),
        extension.major,
        minor,
    ))
    .is_some()
}

/// The name of an extension's message with the extension's name as prefix, such as `RENDER:Composite`.
pub(crate) fn join(extension: &Extension, name: &str) -> Symbol {
    Symbol::new(&format!("{}:{name}", extension.name))
}

/// Returns the name of a known message. `None` for an unknown message, for which x11rb-protocol makes up a name that
/// contains the number.
fn known(name: Cow<'static, str>) -> Option<&'static str> {
    match name {
        Cow::Borrowed(name) => Some(name),
        Cow::Owned(_) => None,
    }
}

/// At most one extension, in the form in which x11rb-protocol reads extension information.
pub(crate) struct Only<'a>(pub(crate) Option<&'a Extension>);

impl ExtInfoProvider for Only<'_> {
    fn get_from_major_opcode(&self, major: u8) -> Option<(&str, ExtensionInformation)> {
        let extension = self.0.filter(|extension| extension.major == major)?;
        let information = ExtensionInformation {
            major_opcode: major,
            first_event: extension.first_event,
            first_error: extension.first_error,
        };
        Some((extension.name.as_str(), information))
    }

    fn get_from_event_code(&self, _: u8) -> Option<(&str, ExtensionInformation)> {
        None
    }

    fn get_from_error_code(&self, _: u8) -> Option<(&str, ExtensionInformation)> {
        None
    }
}
