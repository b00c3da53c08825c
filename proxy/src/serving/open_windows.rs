//! Detects whether recorded clients have windows. After the command's end, the recording continues as long as a
//! client has a window.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};
use x11rb_protocol::protocol::xproto::{
    AtomEnum, GetPropertyRequest, GetWindowAttributesRequest, InternAtomRequest, MapState,
    QueryTreeRequest, WindowClass,
};

use crate::display::conversation::Conversation;
use crate::display::server_link::ServerLink;
use crate::recorder::client_processes::ClientProcesses;

/// The server must reply within this time.
const PATIENCE: Duration = Duration::from_secs(1);
/// The interval between two checks.
const CHECK_EVERY: Duration = Duration::from_millis(250);
/// The recording ends when its clients have had no window for this long. A program that forks into the background maps
/// its window within this time.
const WITHOUT_WINDOWS: Duration = Duration::from_millis(1500);
/// The recording ends when the server has not replied for this long, because another client grabbed it and keeps it.
const WITHOUT_REPLY: Duration = Duration::from_secs(30);
/// The number of levels of the window tree that are searched. A window manager puts a client's window into a frame,
/// and some window managers use two frames.
const LEVELS: usize = 3;

/// The windows of the recorded clients, after the command's end.
pub(crate) struct OpenWindows {
    link: ServerLink,
    clients: Arc<ClientProcesses>,
}

impl OpenWindows {
    pub(crate) fn new(link: ServerLink, clients: Arc<ClientProcesses>) -> OpenWindows {
        OpenWindows { link, clients }
    }

    /// Waits until the recorded clients have no windows, or until the server has not replied for `WITHOUT_REPLY`.
    pub(crate) async fn closed(self) {
        let windows = Arc::new(self);
        let (mut seen, mut replied) = (Instant::now(), Instant::now());
        while seen.elapsed() < WITHOUT_WINDOWS && replied.elapsed() < WITHOUT_REPLY {
            sleep(CHECK_EVERY).await;
            let checked = Arc::clone(&windows);
            // If the server does not reply, for example because it is grabbed, windows may be open.
            let open = spawn_blocking(move || checked.any()).await;
            if let Ok(Ok(_)) = open {
                replied = Instant::now();
            }
            if !matches!(open, Ok(Ok(false))) {
                seen = Instant::now();
            }
        }
    }

    /// True if a client has a top-level window that is mapped or iconified.
    fn any(&self) -> Result<bool, String> {
        let clients = self.clients.first_ids();
        let mut conversation = Conversation::begin(&self.link, PATIENCE, Vec::new())?;
        let setup = conversation.setup();
        let mask = setup.resource_id_mask;
        let mut level: Vec<u32> = setup.roots.iter().map(|screen| screen.root).collect();
        for _ in 0..LEVELS {
            let trees: Vec<_> = level
                .iter()
                .map(|&window| QueryTreeRequest { window })
                .collect();
            let trees = conversation.ask(&trees)?.into_iter().flatten();
            let (recorded, others): (Vec<u32>, Vec<u32>) = trees
                .flat_map(|tree| tree.children)
                .partition(|window| clients.contains(&(window & !mask)));
            if is_any_open(&mut conversation, &recorded)? {
                return Ok(true);
            }
            level = others;
        }
        Ok(false)
    }
}

fn is_any_open(conversation: &mut Conversation, windows: &[u32]) -> Result<bool, String> {
    let attributes: Vec<_> = windows
        .iter()
        .map(|&window| GetWindowAttributesRequest { window })
        .collect();
    let attributes = conversation.ask(&attributes)?.into_iter().flatten();
    let mut visible = attributes.filter(|one| one.class == WindowClass::INPUT_OUTPUT);
    if visible.any(|one| one.map_state != MapState::UNMAPPED) {
        return Ok(true);
    }
    // A window manager unmaps iconified windows and windows of other desktops (ICCCM, "WM_STATE Property").
    let state = conversation.ask_one(InternAtomRequest {
        only_if_exists: true,
        name: b"WM_STATE".into(),
    })?;
    let Some(property) = state.map(|state| state.atom).filter(|atom| *atom != 0) else {
        return Ok(false);
    };
    let states: Vec<_> = windows
        .iter()
        .map(|&window| GetPropertyRequest {
            delete: false,
            window,
            property,
            type_: AtomEnum::ANY.into(),
            long_offset: 0,
            long_length: 1,
        })
        .collect();
    let states = conversation.ask(&states)?.into_iter().flatten();
    Ok(states
        .filter_map(|state| state.value32()?.next())
        .any(|state| state != WITHDRAWN))
}

/// The state of a window that is neither shown nor iconified.
const WITHDRAWN: u32 = 0;
