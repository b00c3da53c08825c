//! What windows are called: the class and the name of the top-level window that an event was for.

use std::collections::HashMap;

use x11prof_protocol::{Body, Message, Request, Symbol};
use x11prof_session::{Session, Target};

use crate::pipeline::Seen;

/// Windows known at most.
const MOST: usize = 1 << 16;
/// Ancestors looked at.
const DEEPEST: usize = 64;
/// The longest part of a name that is taken, in bytes.
const LONGEST: usize = 60;

#[derive(Debug, Default, Clone, Copy)]
struct Window {
    parent: u32,
    class: Option<Symbol>,
    /// The first name: later ones tell what the window shows, not which it is.
    name: Option<Symbol>,
}

/// The windows of a display by name.
#[derive(Debug, Default)]
pub(crate) struct WindowNames {
    known: HashMap<u32, Window>,
}

impl WindowNames {
    /// Learns from the next message.
    pub(crate) fn observe(&mut self, seen: &Seen<'_>) {
        if let Message::Request(request) = seen.message {
            self.request(seen.session, request);
        }
    }

    fn request(&mut self, session: &Session, request: &Request<'_>) {
        let body = Body::of(request);
        match request.name.as_str() {
            "CreateWindow" => {
                if let (Some(id), Some(parent)) = (body.u32(0), body.u32(4))
                    && (self.known.len() < MOST || self.known.contains_key(&id))
                {
                    let window = Window {
                        parent,
                        ..Window::default()
                    };
                    self.known.insert(id, window);
                }
            }
            "ReparentWindow" => {
                if let (Some(id), Some(parent)) = (body.u32(0), body.u32(4))
                    && let Some(window) = self.known.get_mut(&id)
                {
                    window.parent = parent;
                }
            }
            "DestroyWindow" => {
                if let Some(id) = body.u32(0) {
                    self.known.remove(&id);
                }
            }
            "ChangeProperty" => {
                self.property(session, &body);
            }
            _ => {}
        }
    }

    fn property(&mut self, session: &Session, body: &Body<'_>) -> Option<()> {
        let (id, atom) = (body.u32(0)?, body.u32(4)?);
        let property = session.atom_name(atom)?;
        if !matches!(property, "WM_CLASS" | "WM_NAME" | "_NET_WM_NAME") {
            return None;
        }
        let len = usize::try_from(body.u32(16)?).ok()?;
        let text = body.bytes(20, len)?;
        let window = self.known.get_mut(&id)?;
        if property == "WM_CLASS" {
            // Instance and class, each with a zero behind it (ICCCM 4.1.2.5).
            let class = text.split(|byte| *byte == 0).nth(1)?;
            window.class = Some(symbol(class));
        } else if window.name.is_none() {
            window.name = Some(symbol(text));
        }
        Some(())
    }

    /// Whether a request changes what is on the screen: it draws on a window, or shows, moves or
    /// hides one.
    pub(crate) fn shows(&self, session: &Session, request: &Request<'_>) -> bool {
        match request.name.as_str() {
            "MapWindow" | "MapSubwindows" | "UnmapWindow" | "UnmapSubwindows"
            | "ConfigureWindow" | "DestroyWindow" | "ClearArea" | "Present:Pixmap"
            | "GLX:SwapBuffers" => true,
            "CopyArea"
            | "CopyPlane"
            | "PutImage"
            | "PolyPoint"
            | "PolyLine"
            | "PolySegment"
            | "PolyRectangle"
            | "PolyArc"
            | "FillPoly"
            | "PolyFillRectangle"
            | "PolyFillArc"
            | "PolyText8"
            | "PolyText16"
            | "ImageText8"
            | "ImageText16"
            | "MIT-SHM:PutImage"
            | "RENDER:Composite"
            | "RENDER:FillRectangles"
            | "RENDER:Trapezoids"
            | "RENDER:Triangles"
            | "RENDER:CompositeGlyphs8"
            | "RENDER:CompositeGlyphs16"
            | "RENDER:CompositeGlyphs32" => self.on_window(session, request),
            _ => false,
        }
    }

    fn on_window(&self, session: &Session, request: &Request<'_>) -> bool {
        self.on(session, request).is_some()
    }

    /// The window that a request acts on.
    pub(crate) fn on(&self, session: &Session, request: &Request<'_>) -> Option<u32> {
        let drawable = session.target(request).and_then(Target::drawable);
        drawable.filter(|id| self.known.contains_key(id))
    }

    /// The class of the nearest of a window and its ancestors that has one.
    pub(crate) fn class(&self, window: u32) -> Option<Symbol> {
        let mut id = window;
        for _ in 0..DEEPEST {
            let window = self.known.get(&id)?;
            if window.class.is_some() {
                return window.class;
            }
            id = window.parent;
        }
        None
    }

    /// What a window is called: class and name of the nearest of it and its ancestors that has
    /// a name or a class; a name that only repeats the class is left out.
    pub(crate) fn call(&self, window: u32) -> Option<String> {
        let mut id = window;
        for _ in 0..DEEPEST {
            let window = self.known.get(&id)?;
            match (window.class, window.name) {
                (Some(class), Some(name))
                    if !name.as_str().eq_ignore_ascii_case(class.as_str()) =>
                {
                    return Some(format!("{class} \"{name}\""));
                }
                (Some(class), _) => return Some(class.to_string()),
                (None, Some(name)) => return Some(format!("\"{name}\"")),
                (None, None) => id = window.parent,
            }
        }
        None
    }
}

fn symbol(text: &[u8]) -> Symbol {
    let text = String::from_utf8_lossy(text.get(..text.len().min(LONGEST)).unwrap_or(text));
    Symbol::new(text.trim_end_matches('\u{FFFD}'))
}
