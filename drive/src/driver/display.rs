//! The driver's connection to the display: it finds windows, sets the focus, and sends input through XTEST.

use std::cell::{Cell, LazyCell};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::Pid;
use x11prof_protocol::parse_reply;
use x11rb::connection::Connection;
use x11rb::errors::ReplyError;
use x11rb::protocol::Event;
use x11rb::protocol::res::{
    ClientIdMask, ClientIdSpec, ConnectionExt as _, QUERY_CLIENT_IDS_REQUEST, QueryClientIdsReply,
    QueryClientIdsRequest,
};
use x11rb::protocol::xproto::{
    AtomEnum, BUTTON_PRESS_EVENT, ClientMessageEvent, ConnectionExt as _, EventMask, GrabMode,
    GrabStatus, InputFocus, KEY_PRESS_EVENT, MapState, Screen, Window,
};
use x11rb::protocol::xtest::ConnectionExt as _;

use super::config::RelayedClients;
use super::connection::{BoundedConnection, connect, gone};
use super::keyboard::Keyboard;
use super::processes::is_descendant;
use crate::DriveError;
use crate::action::{Place, WindowName};

/// Maximum depth, below the children of the root window, of the search for clients' windows in window managers' frames.
const DEPTH: usize = 4;
/// Maximum number of windows that a search looks at.
const MOST_WINDOWS: usize = 10_000;
/// Maximum number of windows around a window that are looked at. A faulty server may name a window as its own parent.
const MOST_PARENTS: usize = 1000;
/// Maximum length of a property that the driver reads, in words of 4 bytes.
const NAME: u32 = 256;
/// The interval between two polls for the user's click.
const LOOK: Duration = Duration::from_millis(20);
/// The code of the core event MotionNotify (X11 protocol, appendix B).
const MOTION: u8 = 6;

/// The driver's connection to the display.
pub(super) struct Display {
    x: BoundedConnection,
    screen: Screen,
    pub(super) keyboard: Keyboard,
    net_wm_name: u32,
    net_supporting: u32,
    net_state: u32,
    net_modal: u32,
    protocols: u32,
    take_focus: u32,
    /// Windows to which the driver has given the focus.
    focused: HashSet<Window>,
    /// Windows that existed before the driver started the program. Searches skip them.
    before: HashSet<Window>,
    /// The keys and buttons that are pressed: the code of the core event for the release, and the detail.
    pressed: Vec<(u8, u8)>,
    /// Returns the clients of the recorder; `None` if the driver has not started the program. Searches skip windows of
    /// other clients and of other processes.
    clients: Option<RelayedClients>,
}

/// The first resource ids of the program's clients; `None` if all clients may be the program.
type OwnClients<'a> =
    LazyCell<Option<HashSet<u32>>, Box<dyn FnOnce() -> Option<HashSet<u32>> + 'a>>;

/// The state of a search for windows.
struct Search<'a> {
    own: OwnClients<'a>,
    /// The number of windows that the search may still look at.
    left: Cell<usize>,
}

impl Search<'_> {
    /// Counts a window. Returns false if the search has looked at too many.
    fn goes_on(&self) -> bool {
        self.left.set(self.left.get().saturating_sub(1));
        self.left.get() > 0
    }
}

/// A visible window of a client.
#[derive(Debug, Clone)]
pub(super) struct ClientWindow {
    pub(super) id: Window,
    pub(super) name: WindowName,
    /// True for a window that the window manager ignores, such as a menu, a tooltip or a list of completions. Keys go
    /// to the popup's owner.
    pub(super) is_popup: bool,
}

/// Returns the reply, or `None` if the server returned an X error, usually because the window no longer exists. Fails
/// if the connection is lost.
fn answer<A>(reply: Result<A, ReplyError>) -> Result<Option<A>, DriveError> {
    match reply {
        Ok(answer) => Ok(Some(answer)),
        Err(ReplyError::X11Error(_)) => Ok(None),
        Err(error) => Err(gone(error)),
    }
}

/// Sends a request and waits for its reply. The value is `None` if the server returned an X error, usually because
/// the window no longer exists.
macro_rules! ask {
    ($question:expr) => {
        answer($question.map_err(gone)?.reply())?
    };
}

impl Display {
    pub(super) fn open(stop: Arc<AtomicBool>) -> Result<Display, DriveError> {
        let (x, screen) = connect(stop)?;
        let screen = x.setup().roots.get(screen).cloned();
        let screen = screen.ok_or_else(|| DriveError::Display("has no screen".to_owned()))?;
        let xtest = x
            .xtest_get_version(2, 1)
            .ok()
            .and_then(|cookie| cookie.reply().ok());
        if xtest.is_none() {
            return Err(DriveError::Display("has no XTEST extension".to_owned()));
        }
        let atom = |name: &[u8]| -> Result<u32, DriveError> {
            let reply = x.intern_atom(false, name).map_err(gone)?.reply();
            Ok(reply.map_err(gone)?.atom)
        };
        let net_wm_name = atom(b"_NET_WM_NAME")?;
        let net_supporting = atom(b"_NET_SUPPORTING_WM_CHECK")?;
        let net_state = atom(b"_NET_WM_STATE")?;
        let net_modal = atom(b"_NET_WM_STATE_MODAL")?;
        let protocols = atom(b"WM_PROTOCOLS")?;
        let take_focus = atom(b"WM_TAKE_FOCUS")?;
        let keyboard = Keyboard::ask(&x)?;
        Ok(Display {
            x,
            screen,
            keyboard,
            net_wm_name,
            net_supporting,
            net_state,
            net_modal,
            protocols,
            take_focus,
            focused: HashSet::new(),
            before: HashSet::new(),
            pressed: Vec::new(),
            clients: None,
        })
    }

    /// Excludes windows of other programs from later searches: the windows that exist now, and later windows of clients
    /// that are not in the result of `clients` or belong to processes that the driver has not started.
    pub(super) fn leave_out_other_programs(
        &mut self,
        clients: RelayedClients,
    ) -> Result<(), DriveError> {
        let windows = self.windows()?.into_iter();
        self.before = windows.map(|window| window.id).collect();
        self.clients = Some(clients);
        Ok(())
    }

    /// The first resource ids of the program's clients; `None` if all clients may be the program.
    fn own_clients(&self) -> Option<HashSet<u32>> {
        let clients = self.clients?().into_iter();
        let is_own = |pid: u32| {
            i32::try_from(pid).is_ok_and(|pid| Pid::from_raw(pid).is_some_and(is_descendant))
        };
        let own = clients.filter(|(_, pid)| pid.is_none_or(is_own));
        Some(own.map(|(first, _)| first).collect())
    }

    /// True if the window belongs to one of the program's clients.
    fn is_of(&self, search: &Search<'_>, window: Window) -> bool {
        let first = window & !self.x.setup().resource_id_mask;
        search.own.as_ref().is_none_or(|own| own.contains(&first))
    }

    /// The id of the process whose client owns the window (X-Resource, "QueryClientIds"). `None` if the server does
    /// not report a process, as for a client on another machine.
    pub(super) fn process(&self, window: Window) -> Option<Pid> {
        let spec = ClientIdSpec {
            client: window,
            mask: ClientIdMask::LOCAL_CLIENT_PID,
        };
        let version = self.x.res_query_version(1, 2);
        let known = version.ok().and_then(|cookie| cookie.reply().ok());
        let ids = known.and_then(|_| {
            let reply = self
                .x
                .res_query_client_ids(&[spec])
                .ok()?
                .raw_reply()
                .ok()?;
            let request = [0, QUERY_CLIENT_IDS_REQUEST];
            parse_reply::<QueryClientIdsRequest<'_>, QueryClientIdsReply>(&request, reply.as_ref())
        });
        let mut ids = ids.into_iter().flat_map(|reply| reply.ids);
        ids.find_map(|id| Pid::from_raw(i32::try_from(*id.value.first()?).ok()?))
    }

    /// Waits until the user clicks a client's window, also inside a window manager's frame, and returns the window.
    /// Stops waiting when `stop` becomes true.
    pub(super) fn clicked(&self, stop: &AtomicBool) -> Result<Window, DriveError> {
        let mask = EventMask::BUTTON_PRESS | EventMask::BUTTON_RELEASE;
        let mode = GrabMode::ASYNC;
        let root = self.screen.root;
        let grab = self.x.grab_pointer(
            false,
            root,
            mask,
            mode,
            mode,
            root,
            x11rb::NONE,
            x11rb::CURRENT_TIME,
        );
        if grab.map_err(gone)?.reply().map_err(gone)?.status != GrabStatus::SUCCESS {
            return Err(DriveError::Display(
                "has its pointer grabbed by another program".to_owned(),
            ));
        }
        let mut over = None;
        let mut is_up = false;
        while !is_up && !stop.load(Ordering::Acquire) {
            match self.x.poll_for_event().map_err(gone)? {
                Some(Event::ButtonPress(press)) => over = Some(press.child),
                Some(Event::ButtonRelease(_)) => is_up = over.is_some(),
                Some(_) => {}
                None => std::thread::sleep(LOOK),
            }
        }
        self.x.ungrab_pointer(x11rb::CURRENT_TIME).map_err(gone)?;
        match over {
            Some(window) if window != x11rb::NONE => self.client_window(window),
            _ => Err(DriveError::Display(
                "has no program's window where you clicked".to_owned(),
            )),
        }
    }

    /// Returns the topmost client window that is `id`, contains `id`, or is inside `id` (a window manager's frame).
    /// Fails if there is none.
    pub(super) fn client_window(&self, id: Window) -> Result<Window, DriveError> {
        // Every window is inside of the root window.
        let is_window = id > 1 && id != self.screen.root;
        for window in self.windows()?.iter().rev().filter(|_| is_window) {
            if self.is_in(id, window.id)? || self.is_in(window.id, id)? {
                return Ok(window.id);
            }
        }
        Err(DriveError::Display(format!(
            "shows no window {id:#x} of a program"
        )))
    }

    /// Waits for the reply to a request, after which the server has handled all earlier requests of the driver.
    pub(super) fn sync(&self) -> Result<(), DriveError> {
        self.x
            .get_input_focus()
            .map_err(gone)?
            .reply()
            .map_err(gone)?;
        Ok(())
    }

    /// The visible windows of clients, the topmost last; without those of other programs if the driver has started the
    /// program.
    pub(super) fn windows(&self) -> Result<Vec<ClientWindow>, DriveError> {
        let mut found = Vec::new();
        // The recorder's list is read only if there is a window.
        let search = Search {
            own: LazyCell::new(Box::new(|| self.own_clients())),
            left: Cell::new(MOST_WINDOWS),
        };
        self.search(self.screen.root, 0, &search, &mut found)?;
        Ok(found)
    }

    fn search(
        &self,
        window: Window,
        depth: usize,
        search: &Search<'_>,
        found: &mut Vec<ClientWindow>,
    ) -> Result<(), DriveError> {
        let Some(tree) = ask!(self.x.query_tree(window)) else {
            return Ok(());
        };
        for child in tree.children {
            if !search.goes_on() {
                break;
            }
            let of = ask!(self.x.get_window_attributes(child));
            let of = of.filter(|of| of.map_state == MapState::VIEWABLE);
            let Some(of) = of.filter(|_| !self.before.contains(&child)) else {
                continue;
            };
            if depth == 0 && !self.is_on_screen(child)? {
                continue;
            }
            let class = self.text(child, AtomEnum::WM_CLASS.into())?;
            // The instance, a zero, the class, a zero.
            let class = class.as_deref().and_then(|both| both.split('\0').nth(1));
            let title = match self.text(child, self.net_wm_name)? {
                Some(title) => Some(title),
                None => self.text(child, AtomEnum::WM_NAME.into())?,
            };
            if class.is_some() || title.is_some() {
                if !self.is_of(search, child) {
                    continue;
                }
                let class = class.unwrap_or_default().to_owned();
                found.push(ClientWindow {
                    id: child,
                    name: WindowName { class, title },
                    is_popup: of.override_redirect,
                });
                continue;
            }
            let known = found.len();
            if depth < DEPTH {
                self.search(child, depth + 1, search, found)?;
            }
            if depth == 0
                && found.len() == known
                && !of.override_redirect
                && self.has_own(child, depth, search)?
            {
                let class = String::new();
                found.push(ClientWindow {
                    id: child,
                    name: WindowName { class, title: None },
                    is_popup: false,
                });
            }
        }
        Ok(())
    }

    /// True if the window or a window inside it belongs to one of the program's clients.
    fn has_own(
        &self,
        window: Window,
        depth: usize,
        search: &Search<'_>,
    ) -> Result<bool, DriveError> {
        if self.is_of(search, window) {
            return Ok(true);
        }
        let tree = match depth < DEPTH && search.goes_on() {
            true => ask!(self.x.query_tree(window)),
            false => None,
        };
        for child in tree.into_iter().flat_map(|tree| tree.children) {
            if self.has_own(child, depth + 1, search)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// False if a child of the root window is outside the screen, like window managers' helper windows, or has been destroyed.
    fn is_on_screen(&self, window: Window) -> Result<bool, DriveError> {
        let Some(of) = ask!(self.x.get_geometry(window)) else {
            return Ok(false);
        };
        let is_within = |at: i16, length: u16, screen: u16| {
            i32::from(at) + i32::from(length) > 0 && i32::from(at) < i32::from(screen)
        };
        Ok(is_within(of.x, of.width, self.screen.width_in_pixels)
            && is_within(of.y, of.height, self.screen.height_in_pixels))
    }

    fn text(&self, window: Window, property: u32) -> Result<Option<String>, DriveError> {
        let reply = ask!(
            self.x
                .get_property(false, window, property, AtomEnum::ANY, 0, NAME)
        );
        let value = reply.filter(|reply| reply.format == 8 && !reply.value.is_empty());
        Ok(value.map(|reply| String::from_utf8_lossy(&reply.value).into_owned()))
    }

    /// Converts a position in a window to a position on the screen; `None` if the window no longer exists. Without a
    /// window, the position stays the same.
    pub(super) fn on_screen(
        &self,
        window: Option<Window>,
        at: Place,
    ) -> Result<Option<Place>, DriveError> {
        let Some(window) = window else {
            return Ok(Some(at));
        };
        let reply = ask!(
            self.x
                .translate_coordinates(window, self.screen.root, at.x, at.y)
        );
        Ok(reply.map(|reply| Place {
            x: reply.dst_x,
            y: reply.dst_y,
        }))
    }

    /// Sets the keyboard focus to the window if there is no window manager. Returns the name of another window that has
    /// the focus afterwards; `None` if the window has it.
    pub(super) fn focus(&mut self, window: Window) -> Result<Option<String>, DriveError> {
        // Focus that the program has set itself is not enough: toolkits such as Swing also wait for WM_TAKE_FOCUS.
        if self.has_focus(window)? && self.focused.contains(&window) {
            return Ok(None);
        }
        let manager = ask!(self.x.get_property(
            false,
            self.screen.root,
            self.net_supporting,
            AtomEnum::ANY,
            0,
            1
        ));
        if manager.is_none_or(|manager| manager.value.is_empty()) {
            let set = self
                .x
                .set_input_focus(InputFocus::POINTER_ROOT, window, x11rb::CURRENT_TIME);
            // The window may no longer exist.
            let _ = set.map_err(gone)?.check();
            self.tell_to_take_focus(window)?;
        }
        self.focused.insert(window);
        match self.has_focus(window)? {
            true => Ok(None),
            false => self.focus_name().map(Some),
        }
    }

    /// True if the driver gave the keyboard focus to the window before.
    pub(super) fn was_focused(&self, window: Window) -> bool {
        self.focused.contains(&window)
    }

    /// Sends WM_TAKE_FOCUS to the window if its client supports this protocol: the client then sets the focus itself
    /// (ICCCM, section 4.1.7).
    fn tell_to_take_focus(&self, window: Window) -> Result<(), DriveError> {
        if self
            .numbers(window, self.protocols)?
            .contains(&self.take_focus)
        {
            let data = [self.take_focus, x11rb::CURRENT_TIME, 0, 0, 0];
            let event = ClientMessageEvent::new(32, window, self.protocols, data);
            let sent = self.x.send_event(false, window, EventMask::NO_EVENT, event);
            let _ = sent.map_err(gone)?.check();
        }
        Ok(())
    }

    /// The name of a modal dialog of the window `of` (EWMH, _NET_WM_STATE_MODAL), during which the program accepts no
    /// input for the window; `None` if there is none.
    pub(super) fn modal_dialog(&self, of: Window) -> Result<Option<String>, DriveError> {
        for window in self.windows()?.into_iter().filter(|window| window.id != of) {
            let owner = self.numbers(window.id, AtomEnum::WM_TRANSIENT_FOR.into())?;
            if owner.first() == Some(&of)
                && self
                    .numbers(window.id, self.net_state)?
                    .contains(&self.net_modal)
            {
                return Ok(Some(window.name.to_string()));
            }
        }
        Ok(None)
    }

    fn numbers(&self, window: Window, property: u32) -> Result<Vec<u32>, DriveError> {
        let reply = ask!(
            self.x
                .get_property(false, window, property, AtomEnum::ANY, 0, NAME)
        );
        let values = reply.and_then(|reply| Some(reply.value32()?.collect()));
        Ok(values.unwrap_or_default())
    }

    /// True if keys go to the window or to a window inside it.
    fn has_focus(&self, window: Window) -> Result<bool, DriveError> {
        let focus = self
            .x
            .get_input_focus()
            .map_err(gone)?
            .reply()
            .map_err(gone)?
            .focus;
        self.is_in(focus, window)
    }

    /// The error message, with a remedy, for a window without the keyboard focus; `other` is the name of the window
    /// that has the focus.
    pub(super) fn lacks_focus(&self, window: Window, other: &str) -> Result<String, DriveError> {
        let windows = self.windows()?;
        let named = windows.iter().find(|one| one.id == window);
        let named = named.map_or_else(|| format!("window {window:#x}"), |one| one.name.to_string());
        let popup = windows.iter().find(|one| one.is_popup && one.id != window);
        Ok(match popup {
            Some(popup) => format!(
                "the focus is in {other}, not in {named}: the popup {} is open; close it first (key Escape)",
                popup.name
            ),
            None => format!(
                "the focus is in {other}, not in {named}: click into {named} first, or name the window to type into"
            ),
        })
    }

    fn focus_name(&self) -> Result<String, DriveError> {
        let mut id = self
            .x
            .get_input_focus()
            .map_err(gone)?
            .reply()
            .map_err(gone)?
            .focus;
        if id <= 1 {
            return Ok("no window".to_owned());
        }
        let windows = self.windows()?;
        for _ in 0..MOST_PARENTS {
            if id <= 1 {
                break;
            }
            if let Some(window) = windows.iter().find(|window| window.id == id) {
                return Ok(window.name.to_string());
            }
            id = ask!(self.x.query_tree(id)).map_or(0, |tree| tree.parent);
        }
        Ok("another client's window".to_owned())
    }

    fn is_in(&self, mut inner: Window, window: Window) -> Result<bool, DriveError> {
        for _ in 0..MOST_PARENTS {
            if inner == window {
                return Ok(true);
            }
            if inner <= 1 {
                break;
            }
            inner = ask!(self.x.query_tree(inner)).map_or(0, |tree| tree.parent);
        }
        Ok(false)
    }

    /// The name of another program's window that covers the window at this position on the screen; `None` if the
    /// program itself is visible there. With `beside`, the root window may be there, if no client receives its clicks.
    pub(super) fn covered(
        &self,
        window: Window,
        at: Place,
        beside: bool,
    ) -> Result<Option<String>, DriveError> {
        let mask = self.x.setup().resource_id_mask;
        let own = self.own_clients().unwrap_or_default();
        let mut id = self.screen.root;
        let mut top = id;
        loop {
            let Some(reply) = ask!(
                self.x
                    .translate_coordinates(self.screen.root, id, at.x, at.y)
            ) else {
                return Ok(None);
            };
            // A window manager's frame contains the client's window.
            let first = id & !mask;
            if id == window || first == (window & !mask) || own.contains(&first) {
                return Ok(None);
            }
            if reply.child == 0 {
                break;
            }
            id = reply.child;
            top = id;
        }
        if beside && top == self.screen.root {
            let root = ask!(self.x.get_window_attributes(top));
            let clicks = EventMask::BUTTON_PRESS;
            if root.is_some_and(|root| !root.all_event_masks.contains(clicks)) {
                return Ok(None);
            }
        }
        let windows = self.windows()?;
        let named = windows.iter().find(|one| one.id == top);
        Ok(Some(match named {
            Some(one) => one.name.to_string(),
            None if top == self.screen.root => "the root window".to_owned(),
            None => "another client's window".to_owned(),
        }))
    }

    /// The pointer's position on the screen.
    pub(super) fn pointer(&self) -> Result<Place, DriveError> {
        let reply = ask!(self.x.query_pointer(self.screen.root));
        let reply = reply.ok_or_else(|| DriveError::Display("has lost its root window".into()))?;
        Ok(Place {
            x: reply.root_x,
            y: reply.root_y,
        })
    }

    /// Moves the pointer to this position on the screen, if it is elsewhere.
    pub(super) fn move_to(&self, at: Place) -> Result<(), DriveError> {
        if self.pointer()? == at {
            return Ok(());
        }
        let root = self.screen.root;
        let moved = self
            .x
            .xtest_fake_input(MOTION, 0, x11rb::CURRENT_TIME, root, at.x, at.y, 0);
        moved.map_err(gone)?;
        self.x.flush().map_err(gone)
    }

    /// Presses or releases a key or a button. `event` is the code of the core event (such as 2 for KeyPress), `detail`
    /// the keycode or the number of the button.
    pub(super) fn input(&mut self, event: u8, detail: u8) -> Result<(), DriveError> {
        self.pressed.retain(|pressed| *pressed != (event, detail));
        if matches!(event, KEY_PRESS_EVENT | BUTTON_PRESS_EVENT) {
            self.pressed.push((event + 1, detail));
        }
        let input =
            self.x
                .xtest_fake_input(event, detail, x11rb::CURRENT_TIME, x11rb::NONE, 0, 0, 0);
        input.map_err(gone)?;
        self.x.flush().map_err(gone)
    }
}

impl Drop for Display {
    /// Releases what is pressed, and waits until the server has done that.
    fn drop(&mut self) {
        if self.pressed.is_empty() {
            return;
        }
        self.x.stream().begin_release();
        while let Some((event, detail)) = self.pressed.last().copied() {
            if self.input(event, detail).is_err() {
                return;
            }
        }
        // If the grab lasts longer, nothing can be done.
        let _ = self.sync();
    }
}
