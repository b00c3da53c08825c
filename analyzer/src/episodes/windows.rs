//! What windows are called, and which requests show something: by what the session knows.

use x11prof_protocol::{Request, Symbol};
use x11prof_session::{DrawableKind, Session, Target};

use crate::drawing::{draws, shows_image};
use crate::pipeline::Seen;

/// The longest part of a name that is taken, in bytes.
const LONGEST: usize = 60;

/// Whether a request changes what is on the screen: it draws on a window, or shows, moves or
/// hides one.
pub(crate) fn shows(seen: &Seen<'_>, request: &Request<'_>) -> bool {
    if draws(request) {
        return target(seen).is_some();
    }
    let changes_windows = matches!(
        request.name.as_str(),
        "MapWindow"
            | "MapSubwindows"
            | "UnmapWindow"
            | "UnmapSubwindows"
            | "ConfigureWindow"
            | "DestroyWindow"
            | "ClearArea"
            | "Present:Pixmap"
    );
    changes_windows || shows_image(request)
}

/// The window that a request acts on.
pub(crate) fn target(seen: &Seen<'_>) -> Option<u32> {
    let id = seen.target.and_then(Target::drawable)?;
    let drawable = seen.session.drawable(id)?;
    (drawable.kind == DrawableKind::Window).then_some(id)
}

/// The class of the nearest of a window and its ancestors that has one.
pub(crate) fn class(session: &Session, window: u32) -> Option<Symbol> {
    let mut ancestry = session.ancestry(window);
    ancestry.find_map(|id| session.window_names(id)?.class.as_deref().map(symbol))
}

/// What a window is called: class and first title of the nearest of it and its ancestors that has
/// a title or a class; a title that only repeats the class is left out.
pub(crate) fn name(session: &Session, window: u32) -> Option<String> {
    session.ancestry(window).find_map(|id| {
        let names = session.window_names(id)?;
        let class = names.class.as_deref().map(symbol);
        let title = names.first_title.as_deref().map(symbol);
        match (class, title) {
            (Some(class), Some(title)) if !title.as_str().eq_ignore_ascii_case(class.as_str()) => {
                Some(format!("{class} \"{title}\""))
            }
            (Some(class), _) => Some(class.to_string()),
            (None, Some(title)) => Some(format!("\"{title}\"")),
            (None, None) => None,
        }
    })
}

fn symbol(text: &str) -> Symbol {
    let text = text
        .get(..text.floor_char_boundary(LONGEST))
        .unwrap_or(text);
    Symbol::new(text.trim_end_matches('\u{FFFD}'))
}
