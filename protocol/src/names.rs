//! Names of requests, events and errors. Names of extensions' messages are prefixed with the extension's name.

use std::sync::OnceLock;

use crate::header::GENERIC_EVENT;
use crate::name_table::{CORE, error, event, generic_event};
use crate::request_names::join;
use crate::{Extensions, Symbol};

/// The name of a request: `PolyLine` or `RENDER:Composite`; `FOO:17` for an extension without known names;
/// `Unknown:200.3` if no extension has the major opcode. `minor` matters only for extensions. Each name is created
/// once; later calls look it up in a table.
#[inline]
pub fn request_name(major: u8, minor: u8, extensions: &Extensions) -> Symbol {
    extensions.opcode(major, minor).name
}

/// The name of a core error, such as `BadWindow`.
fn core_error_name(code: u8) -> Option<&'static str> {
    error(CORE, code.checked_sub(1)?)
}

/// The name of an event with this code (without the SendEvent bit) and second byte `data`. `generic_type` is the
/// extension's opcode and the event type of a GenericEvent.
pub(crate) fn event_name(
    code: u8,
    generic_type: Option<(u8, u16)>,
    data: u8,
    extensions: &Extensions,
) -> Symbol {
    if let Some((major, number)) = generic_type.filter(|_| code == GENERIC_EVENT) {
        return match extensions.by_major(major) {
            Some(extension) => {
                let name = generic_event(extension.name.as_str(), number);
                join(extension, name.unwrap_or("GenericEvent"))
            }
            None => Symbol::new("Unknown:35"),
        };
    }
    if let Some(name) = core_event(code) {
        return name;
    }
    let Some(extension) = extensions.by_event(code) else {
        return Symbol::new(&format!("Unknown:{code}"));
    };
    let number = code - extension.first_event;
    // XKB has one event code. The second byte distinguishes its events (XKB protocol, section 16).
    let index = match extension.name.as_str() {
        "XKEYBOARD" if number == 0 => data,
        "XKEYBOARD" => u8::MAX,
        _ => number,
    };
    match event(extension.name.as_str(), index) {
        Some(name) => join(extension, name),
        None => Symbol::new(&format!("{}:{number}", extension.name)),
    }
}

/// The name of the error with this code.
pub(crate) fn error_name(code: u8, extensions: &Extensions) -> Symbol {
    if let Some(name) = core_error_name(code) {
        return Symbol::new(name);
    }
    let Some(extension) = extensions.by_error(code) else {
        return Symbol::new(&format!("Unknown:{code}"));
    };
    let number = code - extension.first_error;
    match error(extension.name.as_str(), number) {
        Some(name) => join(extension, name),
        None => Symbol::new(&format!("{}:{number}", extension.name)),
    }
}

/// The name of a core event; `None` for other codes. The symbols are cached, because core events are frequent.
fn core_event(code: u8) -> Option<Symbol> {
    static SYMBOLS: OnceLock<Vec<Symbol>> = OnceLock::new();
    let symbols = SYMBOLS.get_or_init(|| {
        let names = (0..).map_while(|number| event(CORE, number));
        names.map(Symbol::new).collect()
    });
    symbols.get(usize::from(code.checked_sub(2)?)).copied()
}

#[cfg(test)]
mod tests {
    use super::{core_error_name, core_event, error_name, event_name, request_name};
    use crate::request_names::core_request_name;
    use crate::{Extension, Extensions, Symbol};

    fn server() -> Extensions {
        let mut extensions = Extensions::new();
        for (name, major, first_event, first_error) in [
            ("BIG-REQUESTS", 133, 0, 0),
            ("MIT-SHM", 130, 65, 128),
            ("RENDER", 139, 0, 142),
            ("SECURITY", 137, 86, 138),
            ("NV-CONTROL", 138, 0, 0),
            ("XInputExtension", 131, 66, 129),
        ] {
            extensions.insert(Extension {
                name: Symbol::new(name),
                major,
                first_event,
                first_error,
            });
        }
        extensions
    }

    #[test]
    fn core_names_match_the_protocol() {
        assert_eq!(core_request_name(1), Some("CreateWindow"));
        assert_eq!(core_request_name(70), Some("PolyFillRectangle"));
        assert_eq!(core_request_name(127), Some("NoOperation"));
        for unnamed in [0, 120, 128, 255] {
            assert_eq!(core_request_name(unnamed), None);
        }
        assert_eq!(core_event(2), Some(Symbol::new("KeyPress")));
        assert_eq!(core_event(34), Some(Symbol::new("MappingNotify")));
        assert_eq!(core_event(1), None);
        assert_eq!(core_error_name(3), Some("BadWindow"));
        assert_eq!(core_error_name(17), Some("BadImplementation"));
        assert_eq!(core_error_name(0), None);
    }

    #[test]
    fn extension_requests_are_named_by_extension() {
        let extensions = server();
        let name = |major, minor| request_name(major, minor, &extensions).as_str();
        assert_eq!(name(133, 0), "BIG-REQUESTS:Enable");
        assert_eq!(name(130, 3), "MIT-SHM:PutImage");
        assert_eq!(name(139, 8), "RENDER:Composite");
        assert_eq!(name(131, 46), "XInputExtension:XISelectEvents");
        assert_eq!(name(137, 1), "SECURITY:GenerateAuthorization");
        assert_eq!(name(137, 9), "SECURITY:9");
        assert_eq!(name(138, 27), "NV-CONTROL:QueryAttribute64");
        assert_eq!(name(200, 3), "Unknown:200.3");
        assert_eq!(name(70, 9), "PolyFillRectangle");
        assert_eq!(name(121, 9), "Unknown:121");
    }

    #[test]
    fn extension_events_and_errors_are_named() {
        let extensions = server();
        let event = |code| event_name(code, None, 0, &extensions).as_str();
        assert_eq!(event(12), "Expose");
        assert_eq!(event(65), "MIT-SHM:Completion");
        assert_eq!(event(72), "XInputExtension:DeviceFocusIn");
        assert_eq!(event(86), "SECURITY:AuthorizationRevoked");
        assert_eq!(event(87), "SECURITY:1");
        assert_eq!(event(64), "Unknown:64");
        let generic = |kind| event_name(35, Some(kind), 0, &extensions).as_str();
        assert_eq!(generic((131, 6)), "XInputExtension:Motion");
        assert_eq!(generic((131, 999)), "XInputExtension:GenericEvent");
        assert_eq!(generic((250, 6)), "Unknown:35");
        let error = |code| error_name(code, &extensions).as_str();
        assert_eq!(error(8), "BadMatch");
        assert_eq!(error(128), "MIT-SHM:BadSeg");
        assert_eq!(error(143), "RENDER:BadPicture");
        assert_eq!(error(127), "Unknown:127");
    }
}
