//! Kinds of requests that shape an episode's tree.
//!
//! Objects for drawing (GCs, pixmaps, glyphs, regions) have no kind: creating such an object, or keeping an earlier
//! one, would otherwise make two patterns of one action.

use x11prof_protocol::Symbol;
use x11prof_session::Drawing;

/// A set of kinds of requests, one bit for each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Kinds(u16);

const NAMES: [&str; 9] = [
    "windows",
    "properties",
    "messages",
    "grabs and focus",
    "drawing",
    "text",
    "copies",
    "images",
    "frames",
];

/// The bits of all kinds that draw: drawing, text, copies, images, frames.
const DRAWING: u16 = 0b11111 << 4;

impl Kinds {
    /// The kind of a request of this name; an empty set if the request has no kind.
    pub(crate) fn of(request: Symbol) -> Kinds {
        let kind = match request.as_str() {
            "CreateWindow"
            | "ChangeWindowAttributes"
            | "DestroyWindow"
            | "DestroySubwindows"
            | "ReparentWindow"
            | "MapWindow"
            | "MapSubwindows"
            | "UnmapWindow"
            | "UnmapSubwindows"
            | "ConfigureWindow"
            | "CirculateWindow" => 0,
            "ChangeProperty" | "DeleteProperty" | "RotateProperties" => 1,
            "SendEvent" | "SetSelectionOwner" | "ConvertSelection" => 2,
            "UngrabPointer" | "GrabButton" | "UngrabButton" | "UngrabKeyboard" | "GrabKey"
            | "UngrabKey" | "AllowEvents" | "GrabServer" | "UngrabServer" | "WarpPointer"
            | "SetInputFocus" => 3,
            "ClearArea" => 4,
            "Present:Pixmap" => 8,
            _ => match Drawing::of(request) {
                Some(Drawing::Shapes) => 4,
                Some(Drawing::Text) => 5,
                Some(Drawing::Copies) => 6,
                Some(Drawing::Images) => 7,
                Some(Drawing::Frames) => 8,
                None => return Kinds::default(),
            },
        };
        Kinds(1 << kind)
    }

    /// True if a request drew on a window, or on a drawable that is copied to a window later.
    pub(crate) fn draws(self) -> bool {
        self.0 & DRAWING != 0
    }

    /// Adds the kinds of `more` to this set.
    pub(crate) fn add(&mut self, more: Kinds) {
        self.0 |= more.0;
    }

    /// The names of the kinds in this set.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        let named = NAMES.into_iter().enumerate();
        named
            .filter(move |(n, _)| self.0 >> n & 1 == 1)
            .map(|(_, name)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::Kinds;

    #[test]
    fn video_frames_and_buffer_swaps_draw() {
        for name in ["XVideo:PutImage", "DOUBLE-BUFFER:SwapBuffers", "PolyLine"] {
            assert!(Kinds::of(name.into()).draws(), "{name}");
        }
        assert!(!Kinds::of("GetImage".into()).draws());
    }
}
