//! The state of connections and of the server at the start of a trace that begins in the middle (docs/FORMAT.md).

use serde::{Deserialize, Serialize};

use crate::ConnectionId;

/// The trace contains this connection from here on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Joined {
    /// The connection.
    pub connection: ConnectionId,
    /// The byte order that the client chose.
    pub byte_order: Endian,
    /// The number of the last request before this record.
    pub last_request: u64,
    /// True if the server's direction begins with the reply to the setup.
    #[serde(default, skip_serializing_if = "is_false")]
    pub setup: bool,
    /// The number of remaining bytes of a message that began before this record: to the server, and to the client.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub under_way: [u64; 2],
    /// Earlier requests that still wait for a reply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub awaited: Vec<AwaitedReply>,
}

/// A byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Endian {
    /// Least significant byte first.
    #[default]
    Little,
    /// Most significant byte first.
    Big,
}

/// A request that still waits for a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AwaitedReply {
    /// The request's number.
    pub request: u64,
    /// The request's major opcode.
    pub major: u8,
    /// The request's minor opcode.
    pub minor: u8,
}

/// The server's state from before the trace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Existing {
    /// The source: `server` if the recorder queried the server, `recording` for an earlier part of the recording.
    pub from: String,
    /// The resource ids of each client.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<ExistingClient>,
    /// The root windows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub roots: Vec<ExistingDrawable>,
    /// The pixmap formats, by depth.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub formats: Vec<ExistingFormat>,
    /// Windows, parents before children, siblings from the lowest to the highest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<ExistingWindow>,
    /// Pixmaps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pixmaps: Vec<ExistingDrawable>,
    /// Names of atoms.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub atoms: Vec<ExistingAtom>,
}

/// The resource ids of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ExistingClient {
    /// The client.
    pub connection: ConnectionId,
    /// The client's first id.
    pub first: u32,
    /// The bits that differ among its ids.
    pub mask: u32,
}

/// A root window or a pixmap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ExistingDrawable {
    /// The drawable's id.
    pub id: u32,
    /// The width in pixels.
    pub width: u16,
    /// The height in pixels.
    pub height: u16,
    /// Bits of a pixel.
    pub depth: u8,
}

/// A pixmap format of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ExistingFormat {
    /// The depth.
    pub depth: u8,
    /// Bits of a pixel.
    pub bits: u8,
    /// Bits that a row is padded to.
    pub pad: u8,
}

/// A window.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ExistingWindow {
    /// The window's id.
    pub id: u32,
    /// The id of the window's parent.
    pub parent: u32,
    /// The position across in the parent, in pixels.
    pub x: i16,
    /// The position down in the parent, in pixels.
    pub y: i16,
    /// The width in pixels, without the border.
    pub width: u16,
    /// The height in pixels, without the border.
    pub height: u16,
    /// The border's width in pixels.
    pub border: u16,
    /// Bits of a pixel; 0 for windows without a depth, and if the depth is unknown.
    pub depth: u8,
    /// True for windows of class InputOnly.
    #[serde(skip_serializing_if = "is_false")]
    pub input_only: bool,
    /// True for mapped windows, also below unmapped ancestors.
    #[serde(skip_serializing_if = "is_false")]
    pub mapped: bool,
    /// The override-redirect attribute: window managers ignore the window.
    #[serde(skip_serializing_if = "is_false")]
    pub override_redirect: bool,
    /// The instance in WM_CLASS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// The class in WM_CLASS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The window's title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// The name of an atom.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ExistingAtom {
    /// The atom.
    pub atom: u32,
    /// The atom's name.
    pub name: String,
}

impl Existing {
    /// Maximum number of entries in a record, so that all records stay far below the maximum length of a control
    /// record.
    const ENTRIES: usize = 64;

    /// Splits the list into records that each fit in one message of the trace.
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
}
