//! The first frame that a client draws in one of its top-level windows after its start.

use x11prof_protocol::{Body, Event, Request};
use x11prof_session::{DrawableKind, Session, Target};

use crate::pipeline::message_context::MessageContext;

/// Maximum number of tracked mapped windows: a start-up shows few.
const WINDOWS: usize = 64;
/// Maximum number of ancestors of a window that are searched.
const DEEPEST: usize = 64;

/// The progress of a client towards its first frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Progress {
    /// The client has not mapped a top-level window.
    #[default]
    Unmapped,
    /// The client has mapped a top-level window, and has not drawn in it.
    Mapped,
    /// The client has drawn the frame; contains the time of its last drawing in nanoseconds.
    Drawn(u64),
    /// The first frame is complete.
    Over,
}

/// The relation of a request to the first frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Drawing {
    /// The request is a part of the first frame, or draws nothing.
    FirstFrame,
    /// The request draws a picture over the whole first frame, so the next frame begins.
    NextFrame,
}

/// Follows one client from its connection until its first frame has been drawn.
#[derive(Debug, Default)]
pub(super) struct FirstFrame {
    progress: Progress,
    mapped: Vec<u32>,
    /// The window that a picture of the client has filled; `None` if there is none.
    filled: Option<u32>,
}

impl FirstFrame {
    pub(super) fn progress(&self) -> Progress {
        self.progress
    }

    /// Ends the first frame: the client is idle, or has drawn for too long.
    pub(super) fn end(&mut self) {
        self.progress = Progress::Over;
    }

    /// Notes that the client has waited until the server had handled all earlier requests. This ends a frame that has
    /// been drawn.
    pub(super) fn synchronised(&mut self) {
        if matches!(self.progress, Progress::Drawn(_)) {
            self.progress = Progress::Over;
        }
    }

    /// Notes that the client has read back the contents of a drawable. This ends the frame if the drawable shows it.
    pub(super) fn read_back(&mut self, session: &Session, drawable: u32) {
        if self.shows(session, drawable) {
            self.progress = Progress::Over;
        }
    }

    /// Processes the client's next request, and returns its relation to the first frame.
    pub(super) fn request(&mut self, seen: &MessageContext<'_>, request: &Request<'_>) -> Drawing {
        match self.progress {
            Progress::Unmapped | Progress::Mapped => self.before_drawing(seen, request),
            Progress::Drawn(_) if self.filled.is_some() && self.filled == fills(seen, request) => {
                let is_later = self.progress != Progress::Drawn(seen.time.as_nanos());
                self.progress = Progress::Over;
                // The write that has both pictures is of the first frame.
                if is_later {
                    return Drawing::NextFrame;
                }
            }
            Progress::Drawn(_) | Progress::Over => {}
        }
        if matches!(self.progress, Progress::Drawn(_)) && self.filled.is_none() {
            self.filled = fills(seen, request).filter(|id| self.shows(seen.session, *id));
        }
        Drawing::FirstFrame
    }

    /// Processes drawing by another client on the windows `drawn_in`: a program may have a separate process draw in its
    /// windows, whose first drawing is then the frame. Returns true if this drawing is that frame.
    pub(super) fn others_draw(&mut self, drawn_in: &[u32]) -> bool {
        let drawn = self.progress == Progress::Mapped
            && drawn_in.iter().any(|window| self.mapped.contains(window));
        if drawn {
            self.progress = Progress::Over;
        }
        drawn
    }

    fn before_drawing(&mut self, seen: &MessageContext<'_>, request: &Request<'_>) {
        let window = Body::of(request).u32(0);
        match (request.name.as_str(), window) {
            ("MapWindow", Some(window)) if is_top_level(seen.session, window) => {
                if self.mapped.len() < WINDOWS && !self.mapped.contains(&window) {
                    self.mapped.push(window);
                }
                if self.is_painted(seen, window) {
                    return;
                }
            }
            ("ClearArea", Some(window)) if self.is_painted(seen, window) => return,
            ("UnmapWindow" | "DestroyWindow", Some(window)) => {
                self.mapped.retain(|one| *one != window);
            }
            _ => {
                if !self.mapped.is_empty()
                    && drawn_on(seen, request).is_some_and(|id| self.shows(seen.session, id))
                {
                    self.progress = Progress::Drawn(seen.time.as_nanos());
                    return;
                }
            }
        }
        self.progress = match self.mapped.is_empty() {
            true => Progress::Unmapped,
            false => Progress::Mapped,
        };
    }

    /// Processes an event of the client. An exposure shows that the server painted a window.
    pub(super) fn event(&mut self, seen: &MessageContext<'_>, event: &Event<'_>) {
        if self.progress == Progress::Mapped
            && event.name.as_str() == "Expose"
            && let Some(window) = event.order.u32(event.bytes, 4)
        {
            self.is_painted(seen, window);
        }
    }

    /// True if the server paints the background pixmap of a window. Some image viewers draw in this way.
    fn is_painted(&mut self, seen: &MessageContext<'_>, window: u32) -> bool {
        let drawable = seen.session.drawable(window);
        let painted = drawable.is_some_and(|one| {
            one.has_background_pixmap
                && one.viewable == Some(true)
                && self.shows(seen.session, window)
        });
        if painted {
            self.progress = Progress::Drawn(seen.time.as_nanos());
        }
        painted
    }

    /// True if a drawable is a mapped window or is inside one, and may be on the screen.
    fn shows(&self, session: &Session, drawable: u32) -> bool {
        may_be_seen(session, drawable)
            && ancestry(session, drawable).any(|at| self.mapped.contains(&at))
    }
}

/// The drawable that a request draws on, followed by its ancestors; empty if the drawable cannot be on the screen.
pub(super) fn drawn_in(seen: &MessageContext<'_>, request: &Request<'_>) -> Vec<u32> {
    let drawn = drawn_on(seen, request).filter(|id| may_be_seen(seen.session, *id));
    let windows = drawn.map(|id| ancestry(seen.session, id).collect());
    windows.unwrap_or_default()
}

fn may_be_seen(session: &Session, drawable: u32) -> bool {
    let viewable = session.drawable(drawable).and_then(|one| one.viewable);
    viewable != Some(false)
}

/// A drawable with its ancestors, upwards.
fn ancestry(session: &Session, drawable: u32) -> impl Iterator<Item = u32> {
    let parent = |at: &u32| session.drawable(*at)?.parent;
    std::iter::successors(Some(drawable), parent).take(DEEPEST)
}

fn is_top_level(session: &Session, window: u32) -> bool {
    let parent = session.drawable(window).and_then(|one| one.parent);
    let parent = parent.and_then(|parent| session.drawable(parent));
    parent.is_some_and(|parent| parent.kind == DrawableKind::Root)
}

/// The window that a request fills with a picture: an image or a copy of its size or more, a pixmap presented,
/// buffers swapped.
fn fills(seen: &MessageContext<'_>, request: &Request<'_>) -> Option<u32> {
    let body = Body::of(request);
    let size = match request.name.as_str() {
        // The width and height (protocol, PutImage; MIT-SHM: of the transferred part).
        "PutImage" => Some((body.u16(8)?, body.u16(10)?)),
        "MIT-SHM:PutImage" => Some((body.u16(16)?, body.u16(18)?)),
        "CopyArea" => Some((body.u16(20)?, body.u16(22)?)),
        "Present:Pixmap" | "GLX:SwapBuffers" => None,
        _ => return None,
    };
    let drawable = drawn_on(seen, request)?;
    let geometry = seen.session.drawable(drawable)?.geometry;
    // Some drivers draw pictures of whole tiles, which are larger than the window.
    let whole = |(width, height)| width >= geometry.width && height >= geometry.height;
    size.is_none_or(whole).then_some(drawable)
}

/// The drawable that a request draws on; `None` if it does not draw.
fn drawn_on(seen: &MessageContext<'_>, request: &Request<'_>) -> Option<u32> {
    let drawing = x11prof_session::Drawing::of(request.name);
    if drawing == Some(x11prof_session::Drawing::Frames) {
        // Before the drawable is the context's tag (GLX, section "SwapBuffers"), the number of windows
        // (DBE), the port (Xv).
        return Body::of(request).u32(4);
    }
    let draws = drawing.is_some() || request.name.as_str() == "Present:Pixmap";
    seen.target.filter(|_| draws).and_then(Target::drawable)
}
