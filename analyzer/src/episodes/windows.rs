//! The names of windows, and the requests that change the screen, according to the session's state.

use x11prof_protocol::Request;
use x11prof_session::{DrawableKind, Drawing, Session, Target};

use crate::pipeline::MessageContext;

/// Maximum length of a class or title in a window's name, in bytes; the rest is cut off.
const LONGEST: usize = 60;

/// True if the request changes the screen: it draws on a window, or shows, moves or hides one.
pub(crate) fn shows(seen: &MessageContext<'_>, request: &Request<'_>) -> bool {
    if let Some(drawing) = Drawing::of(request.name) {
        return drawing == Drawing::Frames || target(seen).is_some();
    }
    matches!(
        request.name.as_str(),
        "MapWindow"
            | "MapSubwindows"
            | "UnmapWindow"
            | "UnmapSubwindows"
            | "ConfigureWindow"
            | "DestroyWindow"
            | "ClearArea"
            | "Present:Pixmap"
    )
}

/// The window that the request in `seen` acts on; `None` if there is none.
pub(crate) fn target(seen: &MessageContext<'_>) -> Option<u32> {
    let id = seen.target.and_then(Target::drawable)?;
    let drawable = seen.session.drawable(id)?;
    (drawable.kind == DrawableKind::Window).then_some(id)
}

/// True if the window that the request acts on belongs to the client, or to no client (like the root window).
pub(crate) fn is_own(seen: &MessageContext<'_>) -> bool {
    let of = target(seen).and_then(|id| seen.session.id_range(id));
    of.is_none_or(|range| range.client.0 == seen.connection.0)
}

/// Returns a window and its ancestors. Windows that lie outside of their parent, so that the user does not see them,
/// come last. Swing receives keys in such a window.
fn seen(session: &Session, window: u32) -> impl Iterator<Item = u32> + '_ {
    let beside = move |id: &u32| {
        session.window_geometry(*id).is_some_and(|of| {
            let reach = |at: i16, size: u16| {
                i32::from(at) + i32::from(size) + 2 * i32::from(of.border_width)
            };
            reach(of.x, of.width) <= 0 || reach(of.y, of.height) <= 0
        })
    };
    let in_sight = session.ancestry(window).filter(move |id| !beside(id));
    in_sight.chain(session.ancestry(window).filter(beside))
}

/// The class of a window, or of its nearest ancestor that has a class; `None` if no ancestor has one.
pub(crate) fn class(session: &Session, window: u32) -> Option<&str> {
    let mut ancestry = seen(session, window);
    ancestry.find_map(|id| session.window_names(id)?.class.as_deref().map(brief))
}

/// The name of a window: the class and first title of the window, or of its nearest ancestor that has either. A title
/// that only repeats the class is left out.
pub(crate) fn name(session: &Session, window: u32) -> Option<String> {
    seen(session, window).find_map(|id| {
        let names = session.window_names(id)?;
        let class = names.class.as_deref().map(brief);
        let title = names.first_title.as_deref().map(brief);
        match (class, title) {
            (Some(class), Some(title)) if !title.eq_ignore_ascii_case(class) => {
                Some(format!("{class} \"{title}\""))
            }
            (Some(class), _) => Some(class.to_string()),
            (None, Some(title)) => Some(format!("\"{title}\"")),
            (None, None) => None,
        }
    })
}

fn brief(text: &str) -> &str {
    let text = text
        .get(..text.floor_char_boundary(LONGEST))
        .unwrap_or(text);
    text.trim_end_matches('\u{FFFD}')
}
