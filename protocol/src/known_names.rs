//! All names that messages may have, used to suggest the nearest one for a wrong name.

use crate::name_table::{CORE, events_and_errors};
use crate::request_names::{core_request_name, extension_request_name};
use crate::{Extension, Symbol};

/// The extensions with named messages, separated by commas.
const EXTENSIONS: &str = "\
    Apple-WM,BIG-REQUESTS,Composite,DAMAGE,DMX,DOUBLE-BUFFER,DPMS,DRI2,DRI3,\
    Extended-Visual-Information,GLX,Generic Event Extension,LBX,MIT-SCREEN-SAVER,MIT-SHM,\
    MIT-SUNDRY-NONSTANDARD,Multi-Buffering,NV-CONTROL,Present,RANDR,RECORD,RENDER,SECURITY,\
    SELinux,SHAPE,SYNC,TOG-CUP,X-Resource,XC-APPGROUP,XC-MISC,XEVIE,XFIXES,XFree86-Bigfont,\
    XFree86-DGA,XFree86-DRI,XFree86-VidModeExtension,XINERAMA,XInputExtension,XKEYBOARD,XTEST,\
    XTestExtension1,XVideo,XVideo-MotionCompensation,XpExtension";

/// The names of all requests, events and errors of the core protocol and, with a prefix, of each extension.
pub fn known_names() -> Vec<String> {
    let core = (0..128).filter_map(core_request_name);
    let core = core.chain(events_and_errors(CORE));
    let of_extensions = EXTENSIONS.split(',').flat_map(of_extension);
    core.map(str::to_owned).chain(of_extensions).collect()
}

fn of_extension(name: &'static str) -> Vec<String> {
    let extension = Extension {
        name: Symbol::new(name),
        major: 128,
        first_event: 0,
        first_error: 0,
    };
    let number = |request: &str| {
        let number = request.rsplit_once(':').map(|(_, number)| number);
        number.is_some_and(|number| number.bytes().all(|digit| digit.is_ascii_digit()))
    };
    let requests = (0..128)
        .map(|minor| extension_request_name(&extension, minor).as_str())
        .filter(|request| !number(request));
    let others = events_and_errors(name).map(|other| format!("{name}:{other}"));
    requests.map(str::to_owned).chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::known_names;

    #[test]
    fn known_names_cover_core_and_extensions() {
        let names = known_names();
        for name in [
            "InternAtom",
            "Expose",
            "BadWindow",
            "RENDER:Composite",
            "MIT-SHM:Completion",
            "XInputExtension:Motion",
            "RENDER:BadPicture",
            "SECURITY:GenerateAuthorization",
        ] {
            assert!(names.iter().any(|known| known == name), "{name}");
        }
        assert!(
            !names
                .iter()
                .any(|name| name.ends_with(":0") || name.ends_with(':'))
        );
        // The table of symbols has enough capacity for all of them.
        assert!(names.len() > 900 && !names.iter().any(|name| name.contains("(other)")));
    }
}
