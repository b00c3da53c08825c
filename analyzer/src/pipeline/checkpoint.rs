//! Converts a trace's records of the state before it (docs/FORMAT.md) to the types of the framer and the session, and
//! back.

use x11prof_protocol::{ByteOrder, ConnectionCheckpoint, SequenceNumber};
use x11prof_session::{
    ClientId, ExistingDrawable, ExistingWindow, Geometry, PixmapFormat, Session, WindowNames,
};
use x11prof_trace::{
    AwaitedReply, ConnectionId, Endian, Existing, ExistingAtom, ExistingClient, ExistingFormat,
    Joined,
};

/// Converts the record of a connection in mid-stream to the framer's state.
pub(crate) fn joint(joined: &Joined) -> ConnectionCheckpoint {
    ConnectionCheckpoint {
        order: match joined.byte_order {
            Endian::Little => ByteOrder::Little,
            Endian::Big => ByteOrder::Big,
        },
        last_request: SequenceNumber(joined.last_request),
        setup: joined.setup,
        awaited: joined
            .awaited
            .iter()
            .map(|one| (SequenceNumber(one.request), one.major, one.minor))
            .collect(),
    }
}

/// Converts the framer's state of a connection in mid-stream to a record. `under_way` are the bytes of an incomplete
/// message in each direction.
pub(crate) fn joined(
    connection: ConnectionId,
    joint: &ConnectionCheckpoint,
    under_way: [u64; 2],
) -> Joined {
    Joined {
        connection,
        byte_order: match joint.order {
            ByteOrder::Little => Endian::Little,
            ByteOrder::Big => Endian::Big,
        },
        last_request: joint.last_request.0,
        setup: joint.setup,
        under_way,
        awaited: joint
            .awaited
            .iter()
            .map(|&(SequenceNumber(request), major, minor)| AwaitedReply {
                request,
                major,
                minor,
            })
            .collect(),
    }
}

/// Adds the objects of a record of existing objects to the session.
pub(crate) fn tell(session: &mut Session, existing: &Existing) {
    for client in &existing.clients {
        session.exists_client(ClientId(client.connection.0), client.first, client.mask);
    }
    for root in &existing.roots {
        session.exists_root(drawable(root));
    }
    if !existing.formats.is_empty() {
        let format = |format: &ExistingFormat| PixmapFormat {
            depth: format.depth,
            bits: format.bits,
            pad: format.pad,
        };
        session.exists_formats(existing.formats.iter().map(format).collect());
    }
    for window in &existing.windows {
        let title = window.title.as_deref().map(Box::from);
        session.exists_window(ExistingWindow {
            id: window.id,
            parent: window.parent,
            geometry: Geometry {
                x: window.x,
                y: window.y,
                width: window.width,
                height: window.height,
                border_width: window.border,
            },
            depth: Some(window.depth).filter(|depth| *depth > 0),
            input_only: window.input_only,
            mapped: window.mapped,
            override_redirect: window.override_redirect,
            names: WindowNames {
                instance: window.instance.as_deref().map(Box::from),
                class: window.class.as_deref().map(Box::from),
                first_title: title.clone(),
                is_utf8: false,
                title,
            },
        });
    }
    for pixmap in &existing.pixmaps {
        session.exists_pixmap(drawable(pixmap));
    }
    for atom in &existing.atoms {
        session.exists_atom(atom.atom, &atom.name);
    }
}

/// Converts all objects of a session to records of existing objects.
pub(crate) fn existing(session: &Session) -> Vec<Existing> {
    let text = |name: &Option<Box<str>>| name.as_deref().map(str::to_owned);
    let all = Existing {
        from: "recording".to_owned(),
        clients: session
            .existing_clients()
            .into_iter()
            .map(|range| ExistingClient {
                connection: ConnectionId(range.client.0),
                first: range.first,
                mask: range.mask,
            })
            .collect(),
        roots: session.existing_roots().into_iter().map(recorded).collect(),
        formats: session
            .pixmap_formats()
            .iter()
            .map(|format| ExistingFormat {
                depth: format.depth,
                bits: format.bits,
                pad: format.pad,
            })
            .collect(),
        windows: session
            .existing_windows()
            .into_iter()
            .map(|window| x11prof_trace::ExistingWindow {
                id: window.id,
                parent: window.parent,
                x: window.geometry.x,
                y: window.geometry.y,
                width: window.geometry.width,
                height: window.geometry.height,
                border: window.geometry.border_width,
                depth: window.depth.unwrap_or(0),
                input_only: window.input_only,
                mapped: window.mapped,
                override_redirect: window.override_redirect,
                instance: text(&window.names.instance),
                class: text(&window.names.class),
                title: text(&window.names.title),
            })
            .collect(),
        pixmaps: session
            .existing_pixmaps()
            .into_iter()
            .map(recorded)
            .collect(),
        atoms: session
            .existing_atoms()
            .into_iter()
            .map(|(atom, name)| ExistingAtom {
                atom,
                name: name.to_owned(),
            })
            .collect(),
    };
    all.split()
}

fn drawable(recorded: &x11prof_trace::ExistingDrawable) -> ExistingDrawable {
    ExistingDrawable {
        id: recorded.id,
        size: (recorded.width, recorded.height),
        depth: recorded.depth,
    }
}

/// A drawable as a record.
fn recorded(drawable: ExistingDrawable) -> x11prof_trace::ExistingDrawable {
    x11prof_trace::ExistingDrawable {
        id: drawable.id,
        width: drawable.size.0,
        height: drawable.size.1,
        depth: drawable.depth,
    }
}

#[cfg(test)]
mod tests;
