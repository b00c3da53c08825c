//! The kinds of requests by opcode, with their names and replies.

use std::sync::OnceLock;

use x11rb_protocol::protocol::Request;
use x11rb_protocol::x11_utils::{ReplyParsingFunction, RequestHeader};

use crate::counts::request_fits;
use crate::extension::Extension;
use crate::request_names::Only;
use crate::{ByteOrder, Symbol, name_table, request_names};

/// A blank request body, longer than the fixed part of every request.
const BLANK: [u8; 256] = [0; 256];

/// A kind of request, identified by its opcodes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Opcode {
    /// The name of the request.
    pub(crate) name: Symbol,
    /// The information about the replies that the protocol defines for the request.
    pub(crate) replies: Replies,
    /// The parser for replies to the request; `None` for requests without replies and for replies of unknown layout.
    pub(crate) parser: Option<ReplyParsingFunction>,
}

/// The information about the replies that the protocol defines for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Replies {
    Never,
    Always,
    /// The request is unknown, so it may have replies.
    Perhaps,
}

impl Opcode {
    /// True if the protocol defines a reply to the request.
    pub(crate) fn has_reply(&self) -> bool {
        self.replies == Replies::Always
    }

    fn new(name: Symbol, parser: Option<ReplyParsingFunction>, known: Option<bool>) -> Opcode {
        Opcode {
            name,
            replies: match known {
                _ if parser.is_some() => Replies::Always,
                Some(true) => Replies::Always,
                Some(false) => Replies::Never,
                None => Replies::Perhaps,
            },
            parser,
        }
    }
}

/// The kind of a core request with this major opcode, at most 127.
#[inline]
pub(crate) fn core_opcode(major: u8) -> &'static Opcode {
    static CORE: [OnceLock<Opcode>; 128] = [const { OnceLock::new() }; 128];
    let major = major & 0x7F;
    CORE[usize::from(major)].get_or_init(|| {
        let known = request_names::core_request_name(major);
        let name = match known {
            Some(name) => Symbol::new(name),
            None => Symbol::new(&format!("Unknown:{major}")),
        };
        Opcode::new(name, reply_parser(None, major, 0), known.map(|_| false))
    })
}

/// The kind of an extension's request with this minor opcode.
pub(crate) fn extension_opcode(extension: &Extension, minor: u8) -> Opcode {
    let parser = reply_parser(Some(extension), extension.major, minor);
    let known = match name_table::request(extension.name.as_str(), minor) {
        Some((_, has_reply)) => Some(has_reply),
        None => request_names::is_known_request(extension, minor).then_some(false),
    };
    Opcode::new(
        request_names::extension_request_name(extension, minor),
        parser,
        known,
    )
}

/// The kind of a request whose major opcode no known extension has.
pub(crate) fn unknown_opcode(major: u8, minor: u8) -> Opcode {
    let name = Symbol::new(&format!("Unknown:{major}.{minor}"));
    Opcode::new(name, None, None)
}

/// The parser of the replies to a request; `None` if the request has no reply. `x11rb-protocol` returns the parser
/// only for a parsed request, so this function parses a blank one.
fn reply_parser(
    extension: Option<&Extension>,
    major: u8,
    minor: u8,
) -> Option<ReplyParsingFunction> {
    let name = extension.map(|extension| extension.name.as_str());
    if !request_fits(name, minor, ByteOrder::native(), &BLANK) {
        return None;
    }
    let header = RequestHeader {
        major_opcode: major,
        minor_opcode: minor,
        remaining_length: BLANK.len() as u32 / 4,
    };
    let request = Request::parse(header, &BLANK, &mut Vec::new(), &Only(extension));
    request.ok()?.reply_parser()
}

#[cfg(test)]
mod tests {
    use super::{core_opcode, extension_opcode};
    use crate::{Extension, Extensions, Symbol};

    #[test]
    fn forty_core_requests_have_a_reply() {
        let with_reply = (0..128).filter(|major| core_opcode(*major).has_reply());
        assert_eq!(with_reply.count(), 40);
        // GetWindowAttributes, GetInputFocus, QueryExtension, GetModifierMapping.
        assert!(
            [3, 43, 98, 119]
                .iter()
                .all(|major| core_opcode(*major).has_reply())
        );
        assert!(
            ![1, 70, 127]
                .iter()
                .any(|major| core_opcode(*major).has_reply())
        );
    }

    /// Counts the requests with a reply in x11rb-protocol. A request whose blank form cannot be parsed would be missing
    /// from the count.
    #[test]
    fn extension_replies_have_a_parser() {
        let of = |name| {
            let extension = Extension {
                name: Symbol::new(name),
                major: 139,
                first_event: 0,
                first_error: 0,
            };
            let opcodes = (0..=255).map(move |minor| extension_opcode(&extension, minor));
            opcodes.filter(|opcode| opcode.parser.is_some()).count()
        };
        let numbers = [
            "DRI3",
            "GLX",
            "RANDR",
            "SYNC",
            "XInputExtension",
            "XKEYBOARD",
        ]
        .map(of);
        assert_eq!(numbers, [6, 67, 26, 6, 33, 14]);
    }

    #[test]
    fn render_requests_with_replies_are_identified() {
        let mut extensions = Extensions::new();
        extensions.insert(Extension {
            name: Symbol::new("RENDER"),
            major: 139,
            first_event: 0,
            first_error: 142,
        });
        let with_reply: Vec<u8> = (0..=255)
            .filter(|minor| extensions.opcode(139, *minor).has_reply())
            .collect();
        // QueryVersion, QueryPictFormats, QueryPictIndexValues, QueryFilters.
        assert_eq!(with_reply, [0, 1, 2, 29]);
        assert!(!extensions.opcode(200, 0).has_reply());
    }
}
