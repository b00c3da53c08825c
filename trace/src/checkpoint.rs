//! The state of connections and of the server at the start of a trace that begins in the middle (docs/FORMAT.md).

use serde::{Deserialize, Serialize};

use crate::ConnectionId;

/// A connection that began before the trace. The trace contains its bytes from this record on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Joined {
    /// The number of the connection.
    pub connection: ConnectionId,
    /// The byte order that the client chose for the connection.
    pub byte_order: Endian,
    /// The sequence number of the last request before this record.
    pub last_request: u64,
    /// True if the bytes from the server begin with the reply to the connection setup.
    #[serde(default, skip_serializing_if = "is_false")]
    pub setup: bool,
    /// The number of bytes that remain of a message that began before this record: to the server, and to the client.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub under_way: [u64; 2],
    /// The earlier requests that wait for a reply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub awaited: Vec<AwaitedReply>,
}

/// The byte order of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Endian {
    /// The least significant byte comes first.
    #[default]
    Little,
    /// The most significant byte comes first.
    Big,
}

/// A request that waits for a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AwaitedReply {
    /// The sequence number of the request.
    pub request: u64,
    /// The major opcode of the request.
    pub major: u8,
    /// The minor opcode of the request.
    pub minor: u8,
}

/// The state of the server from before the trace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Existing {
    /// The source of the state: `server` if the recorder requested it from the server, `recording` for an earlier part
    /// of the recording.
    pub from: String,
    /// The range of resource ids of each client.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<ExistingClient>,
    /// The root windows of the display.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub roots: Vec<ExistingDrawable>,
    /// The pixmap formats of the server, by depth.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub formats: Vec<ExistingFormat>,
    /// The windows: parents before children, siblings from the lowest to the highest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<ExistingWindow>,
    /// The pixmaps that exist, of all clients.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pixmaps: Vec<ExistingDrawable>,
    /// The names of atoms that exist in the server.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub atoms: Vec<ExistingAtom>,
}

/// The range of resource ids of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ExistingClient {
    /// The number of the client's connection.
    pub connection: ConnectionId,
    /// The first id of the range.
    pub first: u32,
    /// The bits in which the ids of the range differ.
    pub mask: u32,
}

/// A root window or a pixmap that existed before the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ExistingDrawable {
    /// The id of the drawable.
    pub id: u32,
    /// The width of the drawable in pixels.
    pub width: u16,
    /// The height of the drawable in pixels.
    pub height: u16,
    /// The depth of the drawable in bits.
    pub depth: u8,
}

/// A pixmap format of the server: the memory layout of pixels of one depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ExistingFormat {
    /// The depth of pixels with this layout, in bits.
    pub depth: u8,
    /// The number of bits that a pixel occupies.
    pub bits: u8,
    /// The multiple of bits to which a row is padded.
    pub pad: u8,
}

/// A window that existed before the trace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ExistingWindow {
    /// The id of the window.
    pub id: u32,
    /// The id of the window's parent.
    pub parent: u32,
    /// The horizontal position in the parent, in pixels.
    pub x: i16,
    /// The vertical position in the parent, in pixels.
    pub y: i16,
    /// The width of the window in pixels, without the border.
    pub width: u16,
    /// The height of the window in pixels, without the border.
    pub height: u16,
    /// The width of the border in pixels.
    pub border: u16,
    /// The depth in bits; 0 for windows without a depth, or if the depth is unknown.
    pub depth: u8,
    /// True if the window has the class InputOnly.
    #[serde(default, skip_serializing_if = "is_false")]
    pub input_only: bool,
    /// True if the window is mapped. Its ancestors may be unmapped.
    #[serde(default, skip_serializing_if = "is_false")]
    pub mapped: bool,
    /// True if window managers ignore the window (its override-redirect attribute).
    #[serde(default, skip_serializing_if = "is_false")]
    pub override_redirect: bool,
    /// The instance name in WM_CLASS; `None` if not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// The class name in WM_CLASS; `None` if not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The title of the window; `None` if not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// An atom with its name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ExistingAtom {
    /// The number of the atom.
    pub atom: u32,
    /// The name of the atom.
    pub name: String,
}

impl Existing {
    /// Maximum number of entries in a record, so that all records stay far below the maximum length of a control
    /// record.
    const ENTRIES: usize = 64;

    /// Splits the state into records that each fit in one message of the trace.
    pub fn split(mut self) -> Vec<Existing> {
        let empty = || Existing {
            from: self.from.clone(),
            ..Existing::default()
        };
        let mut parts = Vec::new();
        let heads = self.clients.len().max(self.roots.len());
        if heads.max(self.formats.len()) > 0 {
            parts.push(Existing {
                clients: std::mem::take(&mut self.clients),
                roots: std::mem::take(&mut self.roots),
                formats: std::mem::take(&mut self.formats),
                ..empty()
            });
        }
        for windows in self.windows.chunks(Existing::ENTRIES) {
            parts.push(Existing {
                windows: windows.to_vec(),
                ..empty()
            });
        }
        for pixmaps in self.pixmaps.chunks(Existing::ENTRIES) {
            parts.push(Existing {
                pixmaps: pixmaps.to_vec(),
                ..empty()
            });
        }
        for atoms in self.atoms.chunks(Existing::ENTRIES) {
            parts.push(Existing {
                atoms: atoms.to_vec(),
                ..empty()
            });
        }
        parts
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for a reference"
)]
fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_nothing(bytes: &[u64; 2]) -> bool {
    *bytes == [0, 0]
}

#[cfg(test)]
mod tests {
    use super::{Existing, ExistingAtom, ExistingDrawable, ExistingWindow};

    #[test]
    fn existing_resources_are_split_into_bounded_records() {
        let existing = Existing {
            from: "server".to_owned(),
            roots: vec![ExistingDrawable::default()],
            windows: vec![ExistingWindow::default(); Existing::ENTRIES + 1],
            atoms: vec![ExistingAtom::default()],
            ..Existing::default()
        };
        let parts = existing.split();
        let counts = parts
            .iter()
            .map(|part| (part.roots.len(), part.windows.len(), part.atoms.len()));
        assert_eq!(
            counts.collect::<Vec<_>>(),
            [(1, 0, 0), (0, Existing::ENTRIES, 0), (0, 1, 0), (0, 0, 1)]
        );
        assert!(parts.iter().all(|part| part.from == "server"));
    }

    /// Text that leaves fields out would decode to far more memory than it has bytes.
    #[test]
    fn windows_without_their_fields_are_rejected() {
        let window = ExistingWindow::default();
        let text = serde_json::to_string(&window).unwrap();
        assert!(text.len() * 2 > size_of_val(&window), "{text}");
        assert_eq!(
            serde_json::from_str::<ExistingWindow>(&text).unwrap(),
            window
        );
        assert!(serde_json::from_str::<ExistingWindow>("{}").is_err());
    }
}
