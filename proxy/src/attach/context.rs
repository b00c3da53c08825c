//! The RECORD extension (Record Extension Protocol Specification 1.13). With a RECORD context, the server reports all
//! messages between itself and its clients.

use std::borrow::Cow;
use std::time::Duration;

use x11rb_protocol::protocol::record::{
    self, CS, CreateContextRequest, DisableContextRequest, EnableContextRequest, ExtRange,
    FreeContextRequest, HType, Range, Range8, Range16,
};
use x11rb_protocol::x11_utils::Request;

use super::others;
use crate::display::conversation::{self, Conversation};
use crate::display::server_link::ServerLink;
use crate::display::setup_connection::SetupConnection;
use crate::sockets::socket::Socket;

/// The name of the RECORD extension.
pub(crate) const NAME: &str = record::X11_EXTENSION_NAME;
/// The time within which the server must begin to report.
const PATIENCE: Duration = Duration::from_secs(10);

/// Creates the RECORD context `id` over `conversation`, and enables it on a second connection. Returns the second
/// connection, and the first resource ids of other recorders. The context excludes the connections of these recorders,
/// and the recorder's own connections `ours`.
pub(crate) fn enable(
    conversation: &mut Conversation,
    link: &ServerLink,
    id: u32,
    ours: &[u32],
) -> Result<(Socket, Vec<u32>), String> {
    let version = record::QueryVersionRequest {
        major_version: 1,
        minor_version: 13,
    };
    conversation
        .ask_one(version)?
        .ok_or("it does not reply to RECORD QueryVersion")?;
    create(conversation, id, CS::ALL_CLIENTS.into())?;
    let (talk, first) = connect(link)?;
    let apart = others::exclude_recorders(conversation, id, ours, first)?;
    begin(conversation, id, talk).map(|socket| (socket, apart))
}

fn create(conversation: &mut Conversation, id: u32, clients: u32) -> Result<(), String> {
    conversation.send(CreateContextRequest {
        context: id,
        element_header: (HType::FROM_SERVER_TIME
            | HType::FROM_CLIENT_TIME
            | HType::FROM_CLIENT_SEQUENCE)
            .into(),
        client_specs: Cow::Owned(vec![clients]),
        ranges: Cow::Owned(vec![everything()]),
    })?;
    match conversation.settle()? {
        true => Ok(()),
        false => Err("it refused a RECORD context".to_owned()),
    }
}

/// Opens a connection for reports. Returns the connection and its first resource id.
fn connect(link: &ServerLink) -> Result<(SetupConnection, u32), String> {
    let talk = SetupConnection::begin(link, PATIENCE);
    let (mut talk, cookie) = talk.map_err(|error| error.to_string())?;
    let setup = talk
        .set_up(cookie.as_ref())
        .map_err(conversation::refused)?;
    Ok((talk, setup.resource_id_base))
}

/// Enables the context. From then on the server reports on `talk`.
fn begin(
    conversation: &Conversation,
    id: u32,
    mut talk: SetupConnection,
) -> Result<Socket, String> {
    let major = conversation.major(NAME).unwrap_or_default();
    let enable = EnableContextRequest { context: id };
    talk.say(&Request::serialize(enable, major).0)?;
    // The server confirms that it begins (section "EnableContext", StartOfData).
    talk.reply()?;
    Ok(talk.into_socket())
}

/// Disables the RECORD context `id`. The server confirms the end on the connection on which it reports.
pub(crate) fn disable(conversation: &mut Conversation, id: u32) -> Result<(), String> {
    conversation.send(DisableContextRequest { context: id })?;
    conversation.send(FreeContextRequest { context: id })?;
    Ok(())
}

/// The range of all requests, replies, delivered events and errors, and of client connects and disconnects. Device
/// events before delivery belong to no client and are excluded.
fn everything() -> Range {
    let bytes = |first, last| Range8 { first, last };
    let extensions = ExtRange {
        major: bytes(128, 255),
        minor: Range16 {
            first: 0,
            last: u16::MAX,
        },
    };
    Range {
        core_requests: bytes(0, 127),
        core_replies: bytes(0, 127),
        ext_requests: extensions,
        ext_replies: extensions,
        delivered_events: bytes(2, 127),
        device_events: bytes(0, 0),
        // If errors are recorded, X.Org's server (record.c, RecordADeliveredEventOrError) chooses events by their
        // second byte, as if the byte were an error's code. The range from 0 to 255 chooses all events.
        errors: bytes(0, 255),
        client_started: true,
        client_died: true,
    }
}
