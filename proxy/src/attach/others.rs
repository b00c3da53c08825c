//! Other recorders on the same server. X.Org's server mixes up what it tells two recorders of which one is told what the
//! other is told (record.c: RecordAReply takes any client's bytes for the rest of a long reply), so that neither
//! can read it. So none of them is to be told of the others' connections.

use std::borrow::Cow;

use x11rb_protocol::protocol::record::{
    GetContextReply, GetContextRequest, Range, Range8, UnregisterClientsRequest,
};

use super::conversation::Conversation;
use super::existing;

/// The server's name for the type of RECORD's contexts (record.c, RecordExtensionInit).
const CONTEXT: &[u8] = b"RecordContext";

/// Takes our connections out of all other recorders' contexts, and theirs and `ours` out of `context`: those are the
/// result, with the one `recording`, which is not in it. A server without X-Resource 1.2 does not name them.
pub(super) fn keep_apart(
    conversation: &mut Conversation,
    context: u32,
    ours: &[u32],
    recording: u32,
) -> Result<Vec<u32>, String> {
    let contexts = existing::of_type(conversation, CONTEXT, &[0])?;
    let all_of_ours = [ours, &[recording]].concat();
    let mut apart = ours.to_vec();
    let clients = existing::clients(conversation)?;
    let mask = !conversation.setup().resource_id_mask;
    for other in contexts.into_iter().filter(|other| *other != context) {
        let asked = conversation.ask_one(GetContextRequest { context: other })?;
        if !asked.is_some_and(|reply| records_what_is_sent(&reply)) {
            continue;
        }
        unregister(conversation, other, &all_of_ours)?;
        let owner = clients.iter().find(|client| client.first == other & mask);
        let pid = owner.and_then(|owner| owner.pid);
        let same = |client: &&existing::FoundClient| {
            client.first == other & mask || pid.is_some() && client.pid == pid
        };
        apart.extend(clients.iter().filter(same).map(|client| client.first));
    }
    unregister(conversation, context, &apart)?;
    // A client that has gone meanwhile is an error, which does no harm.
    conversation.settle()?;
    apart.push(recording);
    Ok(apart)
}

/// Whether a context has the server tell what it sends to clients: those of programs that wait for keys do not.
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

/// One at a time, so that one that is gone keeps no other in.
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
