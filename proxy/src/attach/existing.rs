//! The clients, windows, pixmaps and atoms that exist when a recording attaches. The recorder requests them from the
//! server. Other resources stay unknown.

use std::borrow::Cow;
use std::cell::LazyCell;
use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;

use x11prof_trace::{Existing, ExistingAtom, ExistingDrawable, ExistingFormat, ExistingWindow};
use x11rb_protocol::protocol::res::{
    ClientIdMask, ClientIdSpec, QueryClientIdsRequest, QueryClientsRequest,
    QueryResourceBytesRequest, QueryVersionRequest, ResourceIdSpec,
};
use x11rb_protocol::protocol::xproto::{
    AtomEnum, GetAtomNameRequest, GetGeometryRequest, GetPropertyRequest,
    GetWindowAttributesRequest, InternAtomRequest, MapState, QueryTreeRequest, WindowClass,
};

use crate::display::conversation::Conversation;
use crate::display::display_name::DisplayName;
use crate::marks::clients_of;

/// The numbers of windows, pixmaps and atoms after which the recorder requests no more of them. More requests would delay
/// the start of the recording.
const WINDOWS: usize = 20_000;
const PIXMAPS: usize = 20_000;
const ATOMS: u32 = 20_000;
/// The number of atoms to request at a time.
const ATOMS_AT_A_TIME: u32 = 256;
/// The first atom that is not predefined (protocol, "Predefined Atoms").
const FIRST_ATOM: u32 = 69;
/// The maximum length of a title or class, in units of 4 bytes. The server returns only this much of a longer one.
const TITLE: u32 = 64;

/// A client that is connected when the recording attaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FoundClient {
    /// The first resource id of the client.
    pub(super) first: u32,
    /// The id of the client's process; `None` if unknown, or if it runs on another machine.
    pub(super) pid: Option<u32>,
}

/// The connected clients, in the order of their resource ids; empty if the server has no X-Resource extension.
pub(super) fn clients(conversation: &mut Conversation) -> Result<Vec<FoundClient>, String> {
    let version = QueryVersionRequest {
        client_major: 1,
        client_minor: 2,
    };
    conversation.ask_one(version)?;
    let Some(reply) = conversation.ask_one(QueryClientsRequest)? else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for client in reply.clients {
        let first = client.resource_base;
        // The server itself is listed as the first client.
        if first == 0 {
            continue;
        }
        let pid = process(conversation, first)?;
        found.push(FoundClient { first, pid });
    }
    found.sort_unstable_by_key(|client| client.first);
    Ok(found)
}

/// The process id of the client with this first resource id (X-Resource 1.2, QueryClientIds); `None` if unknown.
pub(super) fn process(conversation: &mut Conversation, client: u32) -> Result<Option<u32>, String> {
    let spec = ClientIdSpec {
        client,
        mask: ClientIdMask::LOCAL_CLIENT_PID,
    };
    let question = QueryClientIdsRequest {
        specs: Cow::Owned(vec![spec]),
    };
    let Some(reply) = conversation.ask_one(question)? else {
        return Ok(None);
    };
    let mut pids = reply.ids.iter().filter_map(|one| one.value.first());
    Ok(pids.next().copied().filter(|pid| *pid != 0))
}

/// Replaces the process ids of other recorders, which the server sees, by those of the clients that they relay.
pub(super) fn own_processes(display: &DisplayName, clients: &mut [FoundClient]) {
    let own = executable(std::process::id());
    let is_recorder = |pid: u32| executable(pid).is_some_and(|of| Some(of) == own);
    let relayed = LazyCell::new(|| clients_of(display));
    for client in clients {
        if client.pid.is_some_and(is_recorder) {
            let mut relayed = relayed.iter();
            let known = relayed.find(|(first, _)| *first == client.first);
            client.pid = known.and_then(|(_, pid)| *pid).or(client.pid);
        }
    }
}

/// The file that a process runs, if it may be read.
fn executable(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/exe")).ok()
}

/// Requests the resources that exist in the server, except clients. Pixmaps are requested only for the clients in
/// `owners`.
pub(super) fn resources(
    conversation: &mut Conversation,
    owners: &[FoundClient],
) -> Result<Existing, String> {
    let atoms = atoms(conversation)?;
    let utf8_title = atoms.iter().find(|one| one.name == "_NET_WM_NAME");
    let utf8_title = utf8_title.map(|one| one.atom);
    let setup = conversation.setup();
    let roots: Vec<ExistingDrawable> = setup
        .roots
        .iter()
        .map(|screen| ExistingDrawable {
            id: screen.root,
            width: screen.width_in_pixels,
            height: screen.height_in_pixels,
            depth: screen.root_depth,
        })
        .collect();
    let formats = setup
        .pixmap_formats
        .iter()
        .map(|format| ExistingFormat {
            depth: format.depth,
            bits: format.bits_per_pixel,
            pad: format.scanline_pad,
        })
        .collect();
    let windows = windows(conversation, &roots, utf8_title)?;
    let pixmaps = pixmaps(conversation, owners)?;
    Ok(Existing {
        from: "server".to_owned(),
        clients: Vec::new(),
        roots,
        formats,
        windows,
        pixmaps,
        atoms,
    })
}

/// Requests the names of all atoms. Atoms are numbered without gaps, so the first number without an atom ends the list.
fn atoms(conversation: &mut Conversation) -> Result<Vec<ExistingAtom>, String> {
    let mut found = Vec::new();
    let mut first = FIRST_ATOM;
    while first < ATOMS {
        let questions: Vec<_> = (first..first + ATOMS_AT_A_TIME)
            .map(|atom| GetAtomNameRequest { atom })
            .collect();
        let answers = conversation.ask(&questions)?;
        let last = answers.iter().any(Option::is_none);
        for (question, answer) in questions.iter().zip(answers) {
            let name = answer.map(|reply| reply.name.iter().copied().map(char::from).collect());
            found.extend(name.map(|name| ExistingAtom {
                atom: question.atom,
                name,
            }));
        }
        if last {
            break;
        }
        first += ATOMS_AT_A_TIME;
    }
    Ok(found)
}

/// The windows below the roots, level by level.
fn windows(
    conversation: &mut Conversation,
    roots: &[ExistingDrawable],
    utf8_title: Option<u32>,
) -> Result<Vec<ExistingWindow>, String> {
    let mut found: Vec<ExistingWindow> = Vec::new();
    let mut level: VecDeque<u32> = roots.iter().map(|root| root.id).collect();
    while !level.is_empty() && found.len() < WINDOWS {
        let parents: Vec<_> = level.drain(..).collect();
        let trees: Vec<_> = parents
            .iter()
            .map(|&window| QueryTreeRequest { window })
            .collect();
        let trees = conversation.ask(&trees)?;
        let mut below: Vec<(u32, u32)> = Vec::new();
        for (parent, tree) in parents.into_iter().zip(trees) {
            // From the lowest to the highest (protocol, QueryTree).
            let children = tree.map(|tree| tree.children).unwrap_or_default();
            below.extend(children.into_iter().map(|child| (child, parent)));
        }
        below.truncate(WINDOWS - found.len());
        let new = described(conversation, &below, utf8_title)?;
        level.extend(new.iter().map(|window| window.id));
        found.extend(new);
    }
    Ok(found)
}

/// Requests the attributes and the geometry of windows, each with its parent.
fn described(
    conversation: &mut Conversation,
    windows: &[(u32, u32)],
    utf8_title: Option<u32>,
) -> Result<Vec<ExistingWindow>, String> {
    let attributes: Vec<_> = windows
        .iter()
        .map(|&(window, _)| GetWindowAttributesRequest { window })
        .collect();
    let geometries: Vec<_> = windows
        .iter()
        .map(|&(drawable, _)| GetGeometryRequest { drawable })
        .collect();
    let attributes = conversation.ask(&attributes)?;
    let geometries = conversation.ask(&geometries)?;
    let classes = texts(conversation, windows, AtomEnum::WM_CLASS.into())?;
    let titles = texts(conversation, windows, AtomEnum::WM_NAME.into())?;
    let better = match utf8_title {
        Some(property) => texts(conversation, windows, property)?,
        None => vec![None; windows.len()],
    };
    let mut found = Vec::new();
    let asked = windows.iter().zip(attributes).zip(geometries);
    let named = classes.into_iter().zip(titles.into_iter().zip(better));
    for (((&(id, parent), attributes), geometry), (class, (title, better))) in asked.zip(named) {
        // The recording has a DestroyNotify for a window that was destroyed in the meantime.
        let (Some(attributes), Some(geometry)) = (attributes, geometry) else {
            continue;
        };
        let class = class.unwrap_or_default();
        let mut words = class.split('\0').map(str::to_owned);
        found.push(ExistingWindow {
            id,
            parent,
            x: geometry.x,
            y: geometry.y,
            width: geometry.width,
            height: geometry.height,
            border: geometry.border_width,
            depth: geometry.depth,
            input_only: attributes.class == WindowClass::INPUT_ONLY,
            mapped: attributes.map_state != MapState::UNMAPPED,
            override_redirect: attributes.override_redirect,
            instance: words.next().filter(|word| !word.is_empty()),
            class: words.next().filter(|word| !word.is_empty()),
            title: better.or(title),
        });
    }
    Ok(found)
}

/// A property of windows as text.
fn texts(
    conversation: &mut Conversation,
    windows: &[(u32, u32)],
    property: u32,
) -> Result<Vec<Option<String>>, String> {
    let questions: Vec<_> = windows
        .iter()
        .map(|&(window, _)| GetPropertyRequest {
            delete: false,
            window,
            property,
            type_: AtomEnum::ANY.into(),
            long_offset: 0,
            long_length: TITLE,
        })
        .collect();
    let answers = conversation.ask(&questions)?;
    let text = |value: Vec<u8>| String::from_utf8_lossy(&value).into_owned();
    Ok(answers
        .into_iter()
        .map(|answer| answer.filter(|reply| reply.format == 8 && !reply.value.is_empty()))
        .map(|answer| answer.map(|reply| text(reply.value)))
        .collect())
}

/// The pixmaps of clients. X-Resource lists their ids; the geometries are requested separately.
fn pixmaps(
    conversation: &mut Conversation,
    owners: &[FoundClient],
) -> Result<Vec<ExistingDrawable>, String> {
    let owners: Vec<u32> = owners.iter().map(|owner| owner.first).collect();
    let questions: Vec<_> = of_type(conversation, b"PIXMAP", &owners)?
        .into_iter()
        .take(PIXMAPS)
        .map(|drawable| GetGeometryRequest { drawable })
        .collect();
    let answers = conversation.ask(&questions)?;
    let found = questions.iter().zip(answers).filter_map(|(asked, answer)| {
        let geometry = answer?;
        Some(ExistingDrawable {
            id: asked.drawable,
            width: geometry.width,
            height: geometry.height,
            depth: geometry.depth,
        })
    });
    Ok(found.collect())
}

/// The ids of the resources of type `name` that belong to the clients `owners`; client 0 represents all clients. A
/// request identifies a type by a number that only the server has, a reply by an atom. The recorder therefore
/// requests all types and selects `name` in the replies (X-Resource 1.2, QueryResourceBytes; X.Org's Xext/xres.c).
pub(super) fn of_type(
    conversation: &mut Conversation,
    name: &'static [u8],
    owners: &[u32],
) -> Result<Vec<u32>, String> {
    let questions: Vec<_> = owners
        .iter()
        .map(|&client| QueryResourceBytesRequest {
            client,
            specs: Cow::Owned(vec![ResourceIdSpec {
                resource: 0,
                type_: 0,
            }]),
        })
        .collect();
    let answers = conversation.ask(&questions)?;
    // The server created the atom for its replies.
    let name = InternAtomRequest {
        only_if_exists: true,
        name: Cow::Borrowed(name),
    };
    let kind = conversation.ask_one(name)?.map_or(0, |reply| reply.atom);
    let all = answers.into_iter().flatten().flat_map(|reply| reply.sizes);
    let specs = all.map(|size| size.size.spec);
    let wanted = specs.filter(|spec| kind != 0 && spec.type_ == kind);
    Ok(wanted.map(|spec| spec.resource).collect())
}
