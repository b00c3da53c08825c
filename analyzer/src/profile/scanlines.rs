//! How the scanlines of drawables lie in the server's memory: a pixmap's one behind the other, a
//! window's among the screen's.
//!
//! Processors read ahead of what is read or written, line by line of the cache and over a small gap. So
//! an area that is nearly as wide as its drawable comes in from memory faster than one whose rows lie
//! far apart.

use x11prof_session::{Drawable, DrawableKind, Session};

/// Over a gap of so many bytes a row is read ahead of behind the one before: six lines of the cache, by
/// measurement (docs/COSTS.md, "Cold pixels").
const GAP: u32 = 384;

/// Whether rows so wide follow each other closely in that drawable. What is no pixmap that is known
/// is taken for a window; where the screen is not known, no.
pub(super) fn close(session: &Session, drawable: u32, width: u16) -> bool {
    let screen = || {
        let root = session.roots().into_iter().next()?;
        session.drawable(root)
    };
    let whole = pixmap(session, drawable).or_else(screen);
    whole.is_some_and(|it| gap(it, width) <= GAP)
}

/// How many pixels a pixmap has; `None` for windows and those that are not known.
pub(super) fn pixels(session: &Session, drawable: u32) -> Option<f64> {
    let geometry = pixmap(session, drawable)?.geometry;
    Some(f64::from(geometry.width) * f64::from(geometry.height))
}

fn pixmap(session: &Session, drawable: u32) -> Option<Drawable> {
    let drawable = session.drawable(drawable)?;
    (drawable.kind == DrawableKind::Pixmap).then_some(drawable)
}

/// Bytes from the end of a row so wide to the beginning of the next.
fn gap(drawable: Drawable, width: u16) -> u32 {
    // X.Org's servers keep pixels in 1, 8, 16 or 32 bits (fb, BitsPerPixel).
    let bits = match drawable.depth {
        Some(0..=1) => 1,
        Some(2..=8) => 8,
        Some(9..=16) => 16,
        _ => 32,
    };
    u32::from(drawable.geometry.width.saturating_sub(width)) * bits / 8
}

#[cfg(test)]
mod tests {
    use x11prof_protocol::{ByteOrder, Extensions, Message, Request, SequenceNumber};
    use x11prof_session::{ClientId, Session};

    use super::{close, pixels};

    fn pixmap(session: &mut Session, depth: u8) {
        let mut bytes = vec![53, depth, 4, 0];
        bytes.extend(7u32.to_le_bytes());
        bytes.extend(1u32.to_le_bytes());
        for side in [500u16, 10] {
            bytes.extend(side.to_le_bytes());
        }
        let request = Request {
            sequence: SequenceNumber(1),
            name: "CreatePixmap".into(),
            major: 53,
            minor: depth,
            order: ByteOrder::Little,
            bytes: &bytes,
            wire_len: 16,
            header_len: 4,
            has_reply: false,
        };
        let message = Message::Request(request);
        session.observe(ClientId(1), &message, &Extensions::new());
    }

    #[test]
    fn rows_that_fill_their_pixmap_are_close() {
        let mut session = Session::new();
        // Neither drawable nor screen are known.
        assert!(!close(&session, 7, 500));
        assert_eq!(pixels(&session, 7), None);
        pixmap(&mut session, 24);
        assert!(close(&session, 7, 500));
        assert!(!close(&session, 7, 300));
        assert_eq!(pixels(&session, 7), Some(5000.0));
        let mut session = Session::new();
        // A byte each.
        pixmap(&mut session, 8);
        assert!(close(&session, 7, 300));
    }
}
