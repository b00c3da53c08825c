//! The profile by client, window, drawable or atom, in addition to the request name.
//!
//! The cost of a reply belongs to the group of its request, the cost of an event to the window that it was sent to.

use std::collections::{HashMap, VecDeque};

use x11prof_protocol::{Message, Request, SequenceNumber, Symbol};
use x11prof_session::{
    ClientId, DrawableKind, IdRange, ResourceChange, ResourceKind, Session, Target, event_window,
};
use x11prof_trace::{ConnectionId, Control};

use crate::callers::code_stacks::StackNames;
use crate::pipeline::{MessageContext, Observation};
use crate::profile::copies::{Copies, DrawableKey, PixmapGeneration};
use crate::profile::tally::{Line, Tally};
use x11prof_server_model::Charge;

/// The number of groups that are kept. If there are twice as many, the cheaper half is merged into one group.
const MAX_GROUPS: usize = 10_000;
/// Maximum number of tracked drawables.
const MAX_DRAWABLES: usize = 100_000;
/// Maximum number of pending requests of a connection whose groups are kept.
const RECENT: usize = 4096;

/// The name of the row for server time that no request or event accounts for.
pub const UNATTRIBUTED: &str = "(unattributed)";

/// The key of a breakdown of requests, in addition to their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum By {
    /// The connection of the client that sent the request.
    Client,
    /// The window that the request acts on.
    Window,
    /// The window or pixmap that the request acts on.
    Drawable,
    /// The property, selection or message type in the request.
    Atom,
    /// The function of the program that sent the request (`record --stacks=requests`).
    Function,
    /// The line of the program's source that sent the request.
    Line,
    /// The program's file or the library that sent the request.
    Library,
    /// The functions of the whole stack that sent the request.
    Stack,
}

impl By {
    const OF_CODE: [By; 4] = [By::Function, By::Line, By::Library, By::Stack];

    /// The name of the key on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            By::Client => "client",
            By::Window => "window",
            By::Drawable => "drawable",
            By::Atom => "atom",
            By::Function => "function",
            By::Line => "line",
            By::Library => "library",
            By::Stack => "stack",
        }
    }

    /// True if the key is determined by the stacks of requests.
    pub fn is_of_code(self) -> bool {
        Self::OF_CODE.contains(&self)
    }

    /// True if `name` is the name of a key that is determined by the stacks of requests.
    pub fn names_code(name: &str) -> bool {
        Self::OF_CODE.iter().any(|by| by.name() == name)
    }
}

/// A group of a breakdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum GroupKey {
    /// The requests of a client.
    Client(ConnectionId),
    /// The requests on a window or a pixmap.
    Drawable(DrawableKey),
    /// The requests with an atom of this name.
    Atom(Symbol),
    /// The requests that were sent on a stack, by the stack's number in the trace.
    Stack(u32),
    /// The requests on a pixmap. Their time belongs to the window that the pixmap is copied to, if any.
    Pixmap(PixmapGeneration),
    /// Events and connection setups, if the key is determined by the stacks of requests.
    Events,
    /// The requests without a group.
    None,
    /// The sum of the cheap groups, if there are too many groups.
    Others,
}

/// The properties of a window or pixmap that its label names.
#[derive(Debug, Clone, Default)]
struct Description {
    pixmap: bool,
    size: (u16, u16),
    depth: u8,
    title: Option<String>,
}

/// The sums of all groups of a breakdown.
pub(crate) struct Groups {
    by: By,
    tally: Tally<GroupKey>,
    descriptions: HashMap<DrawableKey, Description>,
    /// The ranges of ids that several clients used one after the other.
    reused: Vec<IdRange>,
    roots: Vec<u32>,
    /// The latest runs of consecutive requests with one key, by connection: the first and the last sequence number, and
    /// the key.
    recent: HashMap<ConnectionId, VecDeque<([SequenceNumber; 2], GroupKey)>>,
    current: GroupKey,
    copies: Copies,
    stacks: StackNames,
}

impl Groups {
    pub(crate) fn new(by: By) -> Groups {
        Groups {
            by,
            tally: Tally::default(),
            descriptions: HashMap::new(),
            reused: Vec::new(),
            roots: Vec::new(),
            recent: HashMap::new(),
            current: GroupKey::None,
            copies: Copies::default(),
            stacks: StackNames::default(),
        }
    }

    pub(crate) fn by(&self) -> By {
        self.by
    }

    /// Determines the group that the charges of the next observation belong to.
    pub(crate) fn observe(&mut self, observation: &Observation<'_>) {
        match observation {
            Observation::Message(seen) => {
                if self.tally.len() >= 2 * MAX_GROUPS {
                    self.settle();
                    self.tally.fold(MAX_GROUPS, GroupKey::Others);
                    let (tally, by) = (&self.tally, self.by);
                    self.descriptions.retain(|id, of| {
                        by == By::Window && of.pixmap || tally.contains(GroupKey::Drawable(*id))
                    });
                }
                self.current = self.key(seen);
                if let Message::Request(request) = seen.message {
                    let recent = self.recent.entry(seen.connection).or_default();
                    let first = request.sequence;
                    let last = SequenceNumber(first.0 + seen.times - 1);
                    match recent.back_mut() {
                        Some(([_, before], key))
                            if *key == self.current && before.next() == first =>
                        {
                            *before = last;
                        }
                        _ => recent.push_back(([first, last], self.current)),
                    }
                    if recent.len() > RECENT {
                        recent.pop_front();
                    }
                }
            }
            Observation::Control(_, Control::Closed { connection, .. }) => {
                self.recent.remove(connection);
            }
            _ => {}
        }
    }

    /// Restarts all sums; the state of windows and pixmaps is kept.
    pub(crate) fn start_afresh(&mut self) {
        self.tally = Tally::default();
    }

    /// Adds a charge, multiplied by `factor`, to the current observation's group.
    pub(crate) fn add(&mut self, charge: &Charge<'_>, factor: f64) {
        self.tally.line(self.current).add(charge, factor);
    }

    /// The group of the current observation's charges.
    pub(crate) fn current(&self) -> GroupKey {
        self.current
    }

    /// The sums to which a measured share of group `key` is added.
    pub(crate) fn line(&mut self, key: GroupKey) -> &mut Line {
        let ends_in = self.ends_in(key);
        let mut keys = [key, ends_in].into_iter();
        let known = keys.find(|key| self.tally.contains(*key));
        self.tally.line(known.unwrap_or(GroupKey::Others))
    }

    /// The group that finally includes `key`: for a pixmap, the window that it is copied to; for a stack, the first
    /// stack with the same names; otherwise `key`.
    pub(crate) fn ends_in(&self, key: GroupKey) -> GroupKey {
        match key {
            GroupKey::Pixmap(generation) => {
                let window = self.copies.window(generation);
                window.map_or(key, GroupKey::Drawable)
            }
            GroupKey::Stack(stack) => GroupKey::Stack(self.stacks.first_alike(stack)),
            _ => key,
        }
    }

    /// Adds the lines of pixmaps to the lines of their windows.
    fn settle(&mut self) {
        self.tally = self.settled(|key| key);
    }

    /// Returns the lines, with those of pixmaps added to their windows. `others` returns the final key of every other
    /// key.
    fn settled(&self, others: impl Fn(GroupKey) -> GroupKey) -> Tally<GroupKey> {
        let mut settled = Tally::default();
        for (key, line) in self.tally.iter() {
            settled.line(others(self.ends_in(key))).join(line);
        }
        settled
    }

    fn key(&mut self, seen: &MessageContext<'_>) -> GroupKey {
        if self.by == By::Client {
            return GroupKey::Client(seen.connection);
        }
        match seen.message {
            Message::ServerSetup(_) => {
                self.roots = seen.session.roots();
                let ids = seen.session.ids_of(ClientId(seen.connection.0));
                let again = ids.filter(|ids| ids.reused);
                if self.reused.len() < MAX_GROUPS {
                    self.reused.extend(again);
                }
                if self.by.is_of_code() {
                    GroupKey::Events
                } else {
                    GroupKey::None
                }
            }
            Message::Request(request) if self.by == By::Atom => seen
                .session
                .subject_atom(request)
                .map_or(GroupKey::None, GroupKey::Atom),
            Message::Request(_) if self.by.is_of_code() => {
                seen.stack.map_or(GroupKey::None, GroupKey::Stack)
            }
            Message::Request(request) => self.of_request(seen, request),
            Message::Reply(reply) => self.of_answered(seen.connection, reply.sequence),
            Message::Error(error) => self.of_answered(seen.connection, error.sequence),
            Message::Event(_) if self.by.is_of_code() => GroupKey::Events,
            Message::Event(event) if self.by != By::Atom => {
                event_window(event).map_or(GroupKey::None, |id| self.of_drawable(seen.session, id))
            }
            // PropertyNotify: the atom follows the window.
            Message::Event(event) if event.code == 28 => {
                let atom = event.order.u32(event.bytes, 8);
                let name = atom.map(|atom| seen.session.atom_label(atom));
                name.map_or(GroupKey::None, GroupKey::Atom)
            }
            _ => GroupKey::None,
        }
    }

    fn of_request(&mut self, seen: &MessageContext<'_>, request: &Request<'_>) -> GroupKey {
        self.describe(seen, request);
        let drawable = seen.target.and_then(Target::drawable);
        if self.by == By::Window
            && let Some(to) = drawable
        {
            let sources = seen.session.sources(request);
            for from in sources.filter_map(Target::drawable) {
                let from = key(seen.session, from);
                self.copies.copied(from, key(seen.session, to));
            }
        }
        drawable.map_or(GroupKey::None, |id| self.of_drawable(seen.session, id))
    }

    fn of_drawable(&mut self, session: &Session, id: u32) -> GroupKey {
        let key = key(session, id);
        self.describe_existing(session, id, key);
        let pixmap = self
            .descriptions
            .get(&key)
            .is_some_and(|known| known.pixmap);
        match self.copies.generation(key) {
            // ID 0 is None in every request that may name a window.
            _ if id == 0 => GroupKey::None,
            Some(generation) if self.by == By::Window && pixmap => GroupKey::Pixmap(generation),
            None if self.by == By::Window && pixmap => GroupKey::None,
            _ => GroupKey::Drawable(key),
        }
    }

    fn of_answered(&mut self, connection: ConnectionId, sequence: SequenceNumber) -> GroupKey {
        let Some(recent) = self.recent.get_mut(&connection) else {
            return GroupKey::None;
        };
        while recent
            .front()
            .is_some_and(|([_, last], _)| *last < sequence)
        {
            recent.pop_front();
        }
        match recent.front() {
            Some(([first, _], _)) if *first > sequence => GroupKey::None,
            Some((_, key)) if self.tally.contains(*key) => *key,
            Some(_) => GroupKey::Others,
            None => GroupKey::None,
        }
    }

    /// Stores descriptions of drawables for labels, because drawables may be freed before labels are made.
    fn describe(&mut self, seen: &MessageContext<'_>, request: &Request<'_>) -> Option<()> {
        match request.name.as_str() {
            "CreateWindow" | "CreatePixmap" if self.descriptions.len() < MAX_DRAWABLES => {
                let changes = seen.session.resource_changes().iter();
                for change in changes {
                    if let ResourceChange::Created(resource) = change {
                        let description = Description {
                            pixmap: resource.kind == ResourceKind::Pixmap,
                            size: resource.size,
                            // The depth in the request; 0 means CopyFromParent.
                            depth: request.minor,
                            title: None,
                        };
                        let key = key(seen.session, resource.id);
                        if self.by == By::Window && description.pixmap {
                            self.copies.created(key);
                        }
                        self.descriptions.insert(key, description);
                    }
                }
            }
            "ChangeProperty" => {
                let window = seen.target?.drawable()?;
                let key = key(seen.session, window);
                if let Some(description) = self.descriptions.get_mut(&key) {
                    let title = seen.session.window_names(window)?.title.as_ref()?;
                    if description.title.as_deref() != Some(title) {
                        description.title = Some(title.to_string());
                    }
                }
            }
            _ => {}
        }
        Some(())
    }

    /// Stores the description of a drawable that existed before the recording.
    fn describe_existing(&mut self, session: &Session, id: u32, key: DrawableKey) {
        if self.descriptions.contains_key(&key) || self.descriptions.len() >= MAX_DRAWABLES {
            return;
        }
        let Some(drawable) = session.drawable(id) else {
            return;
        };
        let pixmap = match drawable.kind {
            DrawableKind::Window => false,
            DrawableKind::Pixmap => true,
            // The trace does not show whether this is a window or a pixmap.
            DrawableKind::Unknown => return,
            DrawableKind::Root => {
                if !self.roots.contains(&id) {
                    self.roots.push(id);
                }
                return;
            }
        };
        let names = session.window_names(id);
        let title = names.and_then(|names| names.title.as_ref().or(names.class.as_ref()));
        let description = Description {
            pixmap,
            size: (drawable.geometry.width, drawable.geometry.height),
            depth: drawable.depth.unwrap_or(0),
            title: title.map(ToString::to_string),
        };
        if self.by == By::Window && pixmap {
            self.copies.created(key);
        }
        self.descriptions.insert(key, description);
    }

    /// Sets the names of the stacks. Stacks with equal names become one group.
    pub(crate) fn name_stacks(&mut self, names: StackNames) {
        self.stacks = names;
    }

    /// The label of a group; for a stack, one name for each function, the innermost first. `client` returns the name of a
    /// client.
    pub(crate) fn labels(
        &self,
        key: GroupKey,
        client: impl Fn(ConnectionId) -> String,
    ) -> Vec<String> {
        match key {
            GroupKey::Stack(stack) if let Some(names) = self.stacks.of(stack) => names.to_vec(),
            _ => vec![self.label(key, client)],
        }
    }

    /// The groups with their sums, in no particular order.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (GroupKey, Line)> {
        let settled = self.settled(|key| match key {
            GroupKey::Pixmap(_) => GroupKey::None,
            _ => key,
        });
        settled.into_lines()
    }

    /// The name of a group in text form. `client` returns the name of a client.
    pub(crate) fn label(&self, key: GroupKey, client: impl Fn(ConnectionId) -> String) -> String {
        match key {
            GroupKey::Client(connection) => client(connection),
            GroupKey::Atom(name) => name.to_string(),
            GroupKey::Stack(stack) => match self.stacks.of(stack) {
                Some(names) => names.join(" < "),
                None => format!("stack {stack}"),
            },
            GroupKey::Drawable(drawable) => {
                let label = self.drawable_label(drawable);
                match drawable {
                    (id, Some(owner)) if self.reused.iter().any(|ids| ids.contains(id)) => {
                        format!("{label} of {}", client(owner))
                    }
                    _ => label,
                }
            }
            GroupKey::Events => UNATTRIBUTED.to_owned(),
            GroupKey::None | GroupKey::Pixmap(_) => format!("(no {})", self.by.name()),
            GroupKey::Others => "(others)".to_owned(),
        }
    }
    fn drawable_label(&self, drawable: DrawableKey) -> String {
        let (id, _) = drawable;
        let Some(known) = self.descriptions.get(&drawable) else {
            let root = self.roots.contains(&id);
            return format!("0x{id:08x}{}", if root { " root window" } else { "" });
        };
        let kind = if known.pixmap { "pixmap" } else { "window" };
        let (width, height) = known.size;
        let mut label = format!("0x{id:08x} {kind} {width}x{height}");
        // Depth 0 is CopyFromParent.
        if known.depth != 0 {
            label.push_str(&format!("x{}", known.depth));
        }
        if let Some(title) = &known.title {
            label.push_str(&format!(" \"{title}\""));
        }
        label
    }
}

/// Returns the key of a drawable: its id and the client that created it.
fn key(session: &Session, id: u32) -> DrawableKey {
    let owner = session.id_range(id).map(|ids| ConnectionId(ids.client.0));
    (id, owner)
}
