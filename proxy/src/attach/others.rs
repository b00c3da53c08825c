//! Other recorders on the same server. If two recorders record each other's connections, X.Org's server mixes up
//! their data, and neither recorder can read its own data (record.c: while a long reply is incomplete, RecordAReply
//! treats any client's bytes as the rest of the reply). So no recorder may record the connections of another.

use std::borrow::Cow;

use x11rb_protocol::protocol::record::{
    GetContextReply, GetContextRequest, Range, Range8, UnregisterClientsRequest,
};

use super::existing;
use crate::display::conversation::Conversation;

/// The server's name for the type of RECORD's contexts (record.c, RecordExtensionInit).
const CONTEXT: &[u8] = b"RecordContext";

/// Removes the recorder's own connections `ours` from all other recorders' contexts, and removes their connections and
/// `ours` from `context`. Returns the first resource ids that were removed from `context`. The connection `recording`
/// was never in `context`. A server without X-Resource 1.2 does not list other recorders' connections.
pub(super) fn exclude_recorders(
    conversation: &mut Conversation,
    context: u32,
    ours: &[u32],
    recording: u32,
) -> Result<Vec<u32>, String> {
    let all_of_ours = [ours, &[recording]].concat();
    let mut apart = ours.to_vec();
    let others = leave(conversation, context, &all_of_ours)?;
    let clients = existing::clients(conversation)?;
    let mask = !conversation.setup().resource_id_mask;
    for other in others {
        let owner = clients.iter().find(|client| client.first == other & mask);
        let pid = owner.and_then(|owner| owner.pid);
        let same = |client: &&existing::FoundClient| {
            client.first == other & mask || pid.is_some() && client.pid == pid
        };
        apart.extend(clients.iter().filter(same).map(|client| client.first));
    }
    unregister(conversation, context, &apart)?;
    // A client that has disconnected in the meantime causes an error, which is harmless.
    conversation.settle()?;
    apart.push(recording);
    Ok(apart)
}

/// Removes the connections `ours` from the contexts of all recorders except `context`. Returns these contexts. Call
/// this function before much traffic passes over the connections.
pub(super) fn leave(
    conversation: &mut Conversation,
    context: u32,
    ours: &[u32],
) -> Result<Vec<u32>, String> {
    let mut others = Vec::new();
    for other in existing::of_type(conversation, CONTEXT, &[0])? {
        if other == context {
            continue;
        }
        let asked = conversation.ask_one(GetContextRequest { context: other })?;
        if asked.is_some_and(|reply| records_what_is_sent(&reply)) {
            unregister(conversation, other, ours)?;
            others.push(other);
        }
    }
    Ok(others)
}

/// True if a context records messages that the server sends to clients. The contexts of programs that wait
/// for keys do not.
fn records_what_is_sent(context: &GetContextReply) -> bool {
    let any = |range: Range8| range != Range8::default();
    let sent = |range: &Range| {
        any(range.core_replies) || any(range.ext_replies.major) || any(range.delivered_events)
    };
    let mut ranges = context
        .intercepted_clients
        .iter()
        .flat_map(|client| &client.ranges);
    ranges.any(sent)
}

/// Removes the clients from the RECORD context, with one request for each: a request that names a disconnected client
/// fails as a whole.
fn unregister(
    conversation: &mut Conversation,
    context: u32,
    clients: &[u32],
) -> Result<(), String> {
    for &client in clients {
        let one = UnregisterClientsRequest {
            context,
            client_specs: Cow::Owned(vec![client]),
        };
        conversation.send(one)?;
    }
    Ok(())
}
