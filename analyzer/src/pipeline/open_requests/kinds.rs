//! The requests of one client that another client has to reply to, and the replies, by the specifications that define
//! them. To add a kind, add a line to this table, and recognize its messages in [`super::messages`].

/// The kind of a request that another client, or the screen's clock, has to reply to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OpenKind {
    /// A client requests the contents of a selection.
    Selection,
    /// The requestor waits for the next piece of an incremental selection transfer.
    SelectionPiece,
    /// The selection's owner waits until the requestor has read a piece of the selection.
    PieceTaken,
    /// The source of a drag waits for the target's reaction to a position.
    DragPosition,
    /// The source of a drag waits until the target has received the data.
    Drop,
    /// A client has sent a key, or another request, to its input method.
    InputMethod,
    /// A window manager checks whether a client still reads its events.
    Ping,
    /// A window manager waits until a client has drawn a new size.
    Resize,
    /// A client waits until the window manager maps its window.
    Map,
    /// A client waits until the window manager moves or resizes its window.
    Configure,
    /// A client waits for the size of the frame that the window manager will draw.
    FrameExtents,
    /// A client waits until the screen's clock reaches a frame.
    ScreenClock,
    /// A client waits for a device that another client has grabbed.
    Grab,
}

/// The definition of a kind of open request.
#[derive(Debug)]
pub struct OpenKindDefinition {
    /// The kind of open request.
    pub kind: OpenKind,
    /// The name of the kind in JSON.
    pub name: &'static str,
    /// The name of the X request or message that the client sends.
    pub request: &'static str,
    /// The name of the event or message that is the reply.
    pub answer: &'static str,
    /// The action of the other client that the client waits for, as a clause after `to`.
    pub clause: &'static str,
    /// True if the client does nothing else for its action until the reply arrives. An action without the reply is then
    /// incomplete.
    pub blocks: bool,
    /// The specification that defines the request.
    pub source: &'static str,
}

macro_rules! kinds {
    ($($kind:ident, $name:literal, $request:literal => $answer:literal, $clause:literal, $blocks:literal, $source:literal;)*) => {
        /// The definitions of all kinds of open requests.
        pub const OPEN_KINDS: &[OpenKindDefinition] = &[$(OpenKindDefinition {
            kind: OpenKind::$kind,
            name: $name,
            request: $request,
            answer: $answer,
            clause: $clause,
            blocks: $blocks,
            source: $source,
        }),*];
    };
}

kinds! {
    Selection, "selection", "ConvertSelection" => "SelectionNotify", "send the selection", true, "ICCCM 2.4";
    SelectionPiece, "selection_piece", "DeleteProperty" => "PropertyNotify", "send the next piece of the selection", true, "ICCCM 2.7.2";
    PieceTaken, "piece_taken", "ChangeProperty" => "PropertyNotify", "delete the property with a piece of the selection", false, "ICCCM 2.7.2";
    DragPosition, "drag_position", "XdndPosition" => "XdndStatus", "react to the drag", true, "XDND 5, XdndPosition";
    Drop, "drop", "XdndDrop" => "XdndFinished", "take the dropped data", true, "XDND 5, XdndDrop";
    InputMethod, "input_method", "_XIM_PROTOCOL" => "_XIM_PROTOCOL", "answer the input method's protocol", true, "XIM 4, appendix D";
    Ping, "ping", "_NET_WM_PING" => "_NET_WM_PING", "answer a ping", false, "EWMH, _NET_WM_PING";
    Resize, "resize", "_NET_WM_SYNC_REQUEST" => "SYNC:SetCounter", "draw the new size", false, "EWMH, _NET_WM_SYNC_REQUEST";
    Map, "map", "MapWindow" => "MapNotify", "map the window", false, "ICCCM 4.1.4";
    Configure, "configure", "ConfigureWindow" => "ConfigureNotify", "configure the window", false, "ICCCM 4.1.5";
    FrameExtents, "frame_extents", "_NET_REQUEST_FRAME_EXTENTS" => "PropertyNotify", "set _NET_FRAME_EXTENTS", false, "EWMH, _NET_REQUEST_FRAME_EXTENTS";
    ScreenClock, "screen_clock", "Present:NotifyMSC" => "Present:CompleteNotify", "reach the asked frame", false, "Present 1.2, PresentNotifyMSC";
    Grab, "grab", "GrabKeyboard or GrabPointer" => "GrabSuccess", "let go of the keyboard or pointer", true, "X protocol, GrabPointer, GrabKeyboard";
}

impl OpenKind {
    /// The definition of this kind.
    pub fn definition(self) -> &'static OpenKindDefinition {
        // The table has a line for each kind, in the order of the kinds; a test checks that.
        &OPEN_KINDS[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::OPEN_KINDS;

    #[test]
    fn open_request_table_follows_enum_order() {
        for (at, one) in OPEN_KINDS.iter().enumerate() {
            assert_eq!(one.kind as usize, at, "{}", one.name);
            assert_eq!(one.kind.definition().name, one.name);
        }
    }
}
