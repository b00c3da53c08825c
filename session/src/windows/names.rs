//! What the properties of windows call them (ICCCM, section 4.1.2; EWMH, _NET_WM_NAME).

use x11prof_protocol::Body;

use crate::resources::atoms::Atoms;
use crate::windows::tree::Windows;

/// The longest name kept, in bytes.
const LONGEST: usize = 256;

/// What the properties of a window call it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WindowNames {
    /// The instance in WM_CLASS.
    pub instance: Option<Box<str>>,
    /// The class in WM_CLASS.
    pub class: Option<Box<str>>,
    /// The latest WM_NAME or _NET_WM_NAME.
    pub title: Option<Box<str>>,
    /// The first one: later ones tell what the window shows, not which it is.
    pub first_title: Option<Box<str>>,
}

/// ChangeProperty. `None` where it tells no name.
pub(crate) fn property(windows: &mut Windows, atoms: &Atoms, body: &Body<'_>) -> Option<()> {
    let (window, atom) = (body.u32(0)?, body.u32(4)?);
    let is_class = match atoms.name(atom)? {
        "WM_CLASS" => true,
        "WM_NAME" | "_NET_WM_NAME" => false,
        _ => return None,
    };
    // Names are lists of bytes.
    if body.u8(12)? != 8 {
        return None;
    }
    let length = usize::try_from(body.u32(16)?).ok()?;
    let mut parts = body.bytes(20, length)?.split(|byte| *byte == 0).map(text);
    let names = windows.names_mut(window)?;
    if is_class {
        // Instance and class, each with a zero after it.
        names.instance = parts.next();
        names.class = parts.next();
    } else {
        names.title = parts.next();
        if names.first_title.is_none() {
            names.first_title = names.title.clone();
        }
    }
    Some(())
}

fn text(bytes: &[u8]) -> Box<str> {
    let bytes = bytes.get(..LONGEST).unwrap_or(bytes);
    String::from_utf8_lossy(bytes).into()
}
