//! The extensions of a display server, and the names of their requests, events and errors.

use std::fmt;
use std::sync::OnceLock;

use x11rb_protocol::x11_utils::{ExtInfoProvider, ExtensionInformation};

use crate::extension::Extension;
use crate::opcode::{Opcode, core_opcode, extension_opcode, unknown_opcode};

/// The first major opcode of extensions (protocol, section "Request Format").
const FIRST_MAJOR: u8 = 128;

/// The kinds of requests of one major opcode, indexed by minor opcode. Each entry is computed at its first use.
type Minors = Box<[OnceLock<Opcode>; 256]>;

/// The known extensions of one display server.
#[derive(Clone)]
pub struct Extensions {
    by_major: Box<[Option<Extension>; 128]>,
    opcodes: Box<[OnceLock<Minors>; 128]>,
}

impl Extensions {
    /// Creates an empty list of extensions.
    pub fn new() -> Extensions {
        Extensions {
            by_major: Box::new([None; 128]),
            opcodes: Box::new([const { OnceLock::new() }; 128]),
        }
    }

    /// Adds an extension, and replaces extensions with the same major opcode or name. Ignores major opcodes below 128,
    /// which belong to the core protocol.
    pub fn insert(&mut self, extension: Extension) {
        let Some(at) = slot(extension.major) else {
            return;
        };
        if self.by_major[at] == Some(extension) {
            return;
        }
        if let Some(old) = self
            .by_name(extension.name.as_str())
            .and_then(|old| slot(old.major))
        {
            self.by_major[old] = None;
            self.opcodes[old] = OnceLock::new();
        }
        self.by_major[at] = Some(extension);
        self.opcodes[at] = OnceLock::new();
    }

    /// The extension with this major opcode; `None` if unknown.
    pub fn by_major(&self, major: u8) -> Option<&Extension> {
        self.by_major[slot(major)?].as_ref()
    }

    /// The extension with this name; `None` if unknown.
    pub fn by_name(&self, name: &str) -> Option<&Extension> {
        self.iter()
            .find(|extension| extension.name.as_str() == name)
    }

    /// The extensions, ordered by major opcode.
    pub fn iter(&self) -> impl Iterator<Item = &Extension> {
        self.by_major.iter().flatten()
    }

    /// The kind of request with these opcodes.
    #[inline]
    pub(crate) fn opcode(&self, major: u8, minor: u8) -> &Opcode {
        let Some(at) = slot(major) else {
            return core_opcode(major);
        };
        let minors = self.opcodes[at].get_or_init(|| Box::new([const { OnceLock::new() }; 256]));
        minors[usize::from(minor)].get_or_init(|| match &self.by_major[at] {
            Some(extension) => extension_opcode(extension, minor),
            None => unknown_opcode(major, minor),
        })
    }

    /// The extension whose events include `code`; `None` if there is none. The protocol does not report the number of
    /// events, so each range of codes ends at the start of the next one.
    pub fn by_event(&self, code: u8) -> Option<&Extension> {
        self.iter()
            .filter(|extension| extension.first_event != 0 && extension.first_event <= code)
            .max_by_key(|extension| extension.first_event)
    }

    /// The extension whose errors include `code`; `None` if there is none. Each range of codes ends at the start of the
    /// next one.
    pub(crate) fn by_error(&self, code: u8) -> Option<&Extension> {
        self.iter()
            .filter(|extension| extension.first_error != 0 && extension.first_error <= code)
            .max_by_key(|extension| extension.first_error)
    }
}

fn slot(major: u8) -> Option<usize> {
    major.checked_sub(FIRST_MAJOR).map(usize::from)
}

impl Default for Extensions {
    fn default() -> Extensions {
        Extensions::new()
    }
}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

fn information(extension: &Extension) -> (&str, ExtensionInformation) {
    let information = ExtensionInformation {
        major_opcode: extension.major,
        first_event: extension.first_event,
        first_error: extension.first_error,
    };
    (extension.name.as_str(), information)
}

impl ExtInfoProvider for Extensions {
    fn get_from_major_opcode(&self, major: u8) -> Option<(&str, ExtensionInformation)> {
        self.by_major(major).map(information)
    }

    fn get_from_event_code(&self, code: u8) -> Option<(&str, ExtensionInformation)> {
        self.by_event(code).map(information)
    }

    fn get_from_error_code(&self, code: u8) -> Option<(&str, ExtensionInformation)> {
        self.by_error(code).map(information)
    }
}

#[cfg(test)]
mod tests {
    use x11rb_protocol::x11_utils::ExtInfoProvider;

    use super::Extensions;
    use crate::{Extension, Symbol, request_name};

    fn extension(name: &str, major: u8, first_event: u8, first_error: u8) -> Extension {
        Extension {
            name: Symbol::new(name),
            major,
            first_event,
            first_error,
        }
    }

    #[test]
    fn latest_registration_of_name_and_opcode_wins() {
        let mut extensions = Extensions::new();
        assert_eq!(request_name(139, 8, &extensions).as_str(), "Unknown:139.8");
        extensions.insert(extension("RENDER", 139, 0, 142));
        assert_eq!(
            request_name(139, 8, &extensions).as_str(),
            "RENDER:Composite"
        );
        extensions.insert(extension("RENDER", 140, 0, 142));
        assert_eq!(request_name(139, 8, &extensions).as_str(), "Unknown:139.8");
        assert_eq!(
            request_name(140, 8, &extensions).as_str(),
            "RENDER:Composite"
        );
        extensions.insert(extension("DAMAGE", 140, 91, 152));
        assert_eq!(request_name(140, 1, &extensions).as_str(), "DAMAGE:Create");
        assert_eq!(extensions.by_name("RENDER"), None);
        assert_eq!(extensions.iter().count(), 1);
    }

    #[test]
    fn core_opcodes_cannot_belong_to_extensions() {
        let mut extensions = Extensions::new();
        extensions.insert(extension("EVIL", 70, 0, 0));
        assert_eq!(extensions.by_major(70), None);
        assert_eq!(extensions.iter().count(), 0);
    }

    #[test]
    fn codes_map_to_the_nearest_lower_extension_base() {
        let mut extensions = Extensions::new();
        extensions.insert(extension("MIT-SHM", 130, 65, 128));
        extensions.insert(extension("XInputExtension", 131, 66, 129));
        extensions.insert(extension("RENDER", 139, 0, 142));
        let event = |code| extensions.get_from_event_code(code).map(|found| found.0);
        assert_eq!(event(64), None);
        assert_eq!(event(65), Some("MIT-SHM"));
        assert_eq!(event(80), Some("XInputExtension"));
        let error = |code| extensions.get_from_error_code(code).map(|found| found.0);
        assert_eq!(error(141), Some("XInputExtension"));
        assert_eq!(error(142), Some("RENDER"));
    }
}
