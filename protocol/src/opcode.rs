//! The kinds of requests by their opcodes: the name, and the replies.

use std::sync::OnceLock;

use crate::extension::Extension;
use crate::foreign_names::requests;
use crate::reply_table::{ReplyParser, reply_parser};
use crate::{Symbol, request_names};

/// A kind of request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Opcode {
    /// The request's name.
    pub(crate) name: Symbol,
    /// The replies of the request.
    pub(crate) replies: Replies,
    /// The parser of the replies; `None` for requests without replies and for replies of unknown layout.
    pub(crate) parser: Option<ReplyParser>,
}

/// The replies that the protocol defines for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Replies {
    Never,
    Always,
    /// The request is unknown.
    Perhaps,
}

impl Opcode {
    /// True where the protocol answers the request with a reply.
    pub(crate) fn has_reply(&self) -> bool {
        self.replies == Replies::Always
    }

    fn new(name: Symbol, parser: Option<ReplyParser>, known: Option<bool>) -> Opcode {
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

/// A request of the core protocol, whose major opcodes end at 127.
#[inline]
pub(crate) fn core_opcode(major: u8) -> &'static Opcode {
    static CORE: OnceLock<Box<[Opcode; 128]>> = OnceLock::new();
    let table = CORE.get_or_init(|| {
        Box::new(std::array::from_fn(|major| {
            let major = major as u8;
            let known = request_names::core_request_name(major);
            let name = match known {
                Some(name) => Symbol::new(name),
                None => Symbol::new(&format!("Unknown:{major}")),
            };
            Opcode::new(name, reply_parser(None, major), known.map(|_| false))
        }))
    });
    &table[usize::from(major & 0x7F)]
}

/// A request of an extension.
pub(crate) fn extension_opcode(extension: &Extension, minor: u8) -> Opcode {
    let parser = reply_parser(Some(extension.name.as_str()), minor);
    let foreign = requests(extension.name.as_str()).get(usize::from(minor));
    let known = match foreign {
        Some((name, has_reply)) => (!name.is_empty()).then_some(*has_reply),
        None => request_names::is_known_request(extension, minor).then_some(false),
    };
    Opcode::new(
        request_names::extension_request_name(extension, minor),
        parser,
        known,
    )
}

/// A request with a major opcode of which no extension is known.
pub(crate) fn unknown_opcode(major: u8, minor: u8) -> Opcode {
    let name = Symbol::new(&format!("Unknown:{major}.{minor}"));
    Opcode::new(name, None, None)
}

#[cfg(test)]
mod tests {
    use super::core_opcode;
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

    #[test]
    fn replies_of_extensions() {
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
