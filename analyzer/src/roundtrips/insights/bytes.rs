//! Bytes that need not cross the link: images, rows of images and properties that the server already has, parts of
//! images outside of their drawable, and the metrics of large fonts.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use x11prof_protocol::{Body, Message, Request, SequenceNumber, Symbol};
use x11prof_session::{Component, Target};
use x11prof_trace::ConnectionId;

use super::{Context, Finding, Groups, Insight, REQUESTS, Saving};
use crate::pipeline::{MessageContext, Observation};
use crate::round_trips::CompletedRequest;

/// Maximum number of stored images, and of windows with stored properties.
const REMEMBERED: usize = 1 << 16;
/// Maximum number of stored rows of the last images.
const ROWS: usize = 1 << 20;
/// The number of bytes of a CopyArea request, which can replace an image (protocol, section "Encoding").
const COPY_AREA: u64 = 28;

/// The reason why bytes are unnecessary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Waste {
    SentAgain,
    Unchanged,
    Outside,
    SameValue,
    Metrics,
}

#[derive(Debug, Default)]
struct Wasted {
    count: u64,
    bytes: u64,
    requests: Vec<(SequenceNumber, u64)>,
}

/// The last image that was drawn in a drawable.
#[derive(Debug)]
struct LastImage {
    /// A hash of the image's position and size.
    at: u64,
    /// The hashes of its rows.
    rows: Vec<u64>,
}

/// Finds unnecessary bytes.
#[derive(Debug, Default)]
pub(super) struct UnneededBytes {
    wasted: Groups<(Waste, Symbol), Wasted>,
    images: FxHashSet<(ConnectionId, u64)>,
    /// The last image of each drawable on which no other request has acted since, and the number of all rows.
    last: FxHashMap<u32, LastImage>,
    rows: usize,
    /// A hash of the value of each property, by window and atom.
    properties: FxHashMap<u32, FxHashMap<u32, u64>>,
    /// The bytes of the replies to the current request for font metrics of each client.
    metrics: FxHashMap<ConnectionId, u64>,
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Returns the body of a request after its first two words; `None` if the recorder dropped a part of it.
fn rest(body: Body<'_>) -> Option<&[u8]> {
    body.bytes(8, usize::try_from(body.wire_len()).ok()?.checked_sub(8)?)
}

/// Returns true for a request whose reply describes each character of a font. Replies of ListFontsWithInfo have only
/// the largest and the smallest character.
fn has_metrics(name: Symbol) -> bool {
    name.as_str() == "QueryFont"
}

impl UnneededBytes {
    fn waste(
        &mut self,
        client: ConnectionId,
        why: (Waste, Symbol),
        (request, bytes, count): (SequenceNumber, u64, u64),
    ) {
        if let Some(wasted) = self.wasted.of(client, why) {
            wasted.count += count;
            wasted.bytes = wasted.bytes.saturating_add(bytes);
            if wasted.requests.len() < REQUESTS {
                wasted.requests.push((request, bytes));
            }
        }
    }

    fn request(&mut self, seen: &MessageContext<'_>, request: &Request<'_>) {
        if request.name.as_str() != "PutImage"
            && let Some(drawable) = seen.target.and_then(Target::drawable)
        {
            self.last.remove(&drawable);
        }
        match request.name.as_str() {
            "PutImage" | "MIT-SHM:PutImage" => self.image(seen, request),
            "ChangeProperty" => self.property(seen, request),
            "CreateWindow" | "DestroyWindow" | "RotateProperties" => {
                let window = Body::of(request).u32(0);
                self.properties.remove(&window.unwrap_or_default());
            }
            "DeleteProperty" | "GetProperty" => {
                let body = Body::of(request);
                let deletes = request.minor != 0 || !request.has_reply;
                if deletes
                    && let (Some(window), Some(atom)) = (body.u32(0), body.u32(4))
                    && let Some(of_window) = self.properties.get_mut(&window)
                {
                    of_window.remove(&atom);
                }
            }
            _ => {}
        }
    }

    fn image(&mut self, seen: &MessageContext<'_>, request: &Request<'_>) {
        let body = Body::of(request);
        let (client, name) = (seen.connection, request.name);
        let is_shared = name.as_str() == "MIT-SHM:PutImage";
        let sent = seen.operation.and_then(|operation| {
            let across = seen.session.across(request, operation, seen.extensions)?;
            Some(across.bytes)
        });
        let sent = sent.unwrap_or(request.wire_len);
        // PutImage: drawable, gc, width, height, x, y, left-pad, depth, data. MIT-SHM: drawable, gc, the size of the
        // segment's image, x, y, width and height in the image, x, y.
        let image = rest(body).filter(|_| !is_shared);
        if let Some(image) = image {
            let key = hash((request.minor, image.get(..4), image.get(8..)));
            let is_new = self.images.len() < REMEMBERED && self.images.insert((client, key));
            let again = seen.times - u64::from(is_new);
            if again > 0 && sent > COPY_AREA && (!is_new || seen.times > 1) {
                let bytes = (sent - COPY_AREA).saturating_mul(again);
                self.waste(
                    client,
                    (Waste::SentAgain, name),
                    (request.sequence, bytes, again),
                );
                return;
            }
        }
        if let Some(image) = image
            && seen.times == 1
            && request.minor == 2
            && let Some(share) = self.unchanged(seen, body, image)
        {
            let bytes = (sent as f64 * share) as u64;
            let why = (Waste::Unchanged, name);
            self.waste(client, why, (request.sequence, bytes, 1));
            return;
        }
        let at = if is_shared {
            [16, 18, 20, 22]
        } else {
            [8, 10, 12, 14]
        };
        let size = [body.u16(at[0]), body.u16(at[1])];
        let (Some(drawable), [Some(width), Some(height)]) = (body.u32(0), size) else {
            return;
        };
        let Some(target) = seen.session.drawable(drawable) else {
            return;
        };
        let geometry = target.geometry;
        let inside = |from: Option<i16>, length: u16, limit: u16| {
            let from = i32::from(from.unwrap_or(0));
            let end = (from + i32::from(length)).min(i32::from(limit));
            u64::try_from(end - from.max(0)).unwrap_or(0)
        };
        let seen_pixels = match target.viewable {
            Some(false) => 0,
            _ => {
                inside(body.i16(at[2]), width, geometry.width)
                    * inside(body.i16(at[3]), height, geometry.height)
            }
        };
        let pixels = u64::from(width) * u64::from(height);
        if seen_pixels < pixels {
            let share = (pixels - seen_pixels) as f64 / pixels as f64;
            let bytes = (sent.saturating_mul(seen.times) as f64 * share) as u64;
            self.waste(
                client,
                (Waste::Outside, name),
                (request.sequence, bytes, seen.times),
            );
        }
    }

    /// Returns the share (0 to 1) of an image that lies above and below the rows that differ from the previous image;
    /// `None` if there is no previous image of the same size at the same position.
    fn unchanged(
        &mut self,
        seen: &MessageContext<'_>,
        body: Body<'_>,
        image: &[u8],
    ) -> Option<f64> {
        // Drawable, gc, width, height, x, y, left-pad, depth, two unused bytes, rows of equal length.
        let (drawable, gc) = (body.u32(0)?, seen.session.gc(body.u32(4)?)?);
        let height = usize::from(body.u16(10)?);
        let (header, data) = image.split_at_checked(12)?;
        let last = self.last.remove(&drawable);
        // ZPixmap, drawn with GXcopy.
        if gc.get(Component::Function) != Some(3) || height == 0 || height > REMEMBERED {
            return None;
        }
        let rows = data.chunks_exact((data.len() / height).max(1));
        let rows: Vec<u64> = rows.take(height).map(hash).collect();
        self.rows += rows.len();
        if self.rows > ROWS {
            self.last.clear();
            self.rows = rows.len();
        }
        let at = hash((header, rows.len()));
        let equal = last.filter(|last| last.at == at).map(|last| {
            let pairs = || rows.iter().zip(&last.rows);
            let top = pairs().take_while(|(one, other)| one == other).count();
            let bottom = pairs().rev().take_while(|(one, other)| one == other);
            (top + bottom.count()).min(height) as f64 / height as f64
        });
        self.last.insert(drawable, LastImage { at, rows });
        equal.filter(|share| *share > 0.0)
    }

    fn property(&mut self, seen: &MessageContext<'_>, request: &Request<'_>) {
        // ChangeProperty: window, property, type, format, length, data.
        let body = Body::of(request);
        let (Some(window), Some(atom)) = (body.u32(0), body.u32(4)) else {
            return;
        };
        // Only Replace sets a value that does not depend on the one before.
        let value = rest(body).filter(|_| request.minor == 0);
        if self.properties.len() >= REMEMBERED {
            self.properties.clear();
        }
        let of_window = self.properties.entry(window).or_default();
        let Some(value) = value else {
            of_window.remove(&atom);
            return;
        };
        let value = hash(value);
        let known = of_window.insert(atom, value);
        let again = seen.times - u64::from(known != Some(value));
        if again > 0 {
            let bytes = request.wire_len.saturating_mul(again);
            let one = (request.sequence, bytes, again);
            self.waste(seen.connection, (Waste::SameValue, request.name), one);
        }
    }
}

impl Insight for UnneededBytes {
    fn observe(&mut self, observation: &Observation<'_>) {
        let Observation::Message(seen) = observation else {
            return;
        };
        match seen.message {
            Message::Request(request) => self.request(seen, request),
            Message::Event(event) if event.name.as_str() == "Expose" => {
                let window = event.order.u32(event.bytes, 4);
                self.last.remove(&window.unwrap_or_default());
            }
            Message::Reply(reply)
                if reply.request.is_some_and(has_metrics) && self.metrics.len() < REMEMBERED =>
            {
                *self.metrics.entry(seen.connection).or_default() += reply.wire_len;
            }
            _ => {}
        }
    }

    fn answered(&mut self, answer: &CompletedRequest<'_>, _: &Context<'_>) {
        let question = &answer.question;
        if has_metrics(question.name) {
            let bytes = self.metrics.remove(&answer.client).unwrap_or(0);
            let one = (question.sequence, bytes, 1);
            self.waste(answer.client, (Waste::Metrics, question.name), one);
        }
    }

    fn findings(&self) -> Vec<Finding> {
        let found = |(client, (waste, request), wasted): (_, _, &Wasted)| {
            let count = wasted.count;
            let (action, why) = match waste {
                Waste::SentAgain => (
                    "Keep images that are drawn again in a pixmap, and copy them with CopyArea".to_owned(),
                    format!("{count} {request} sent an image that the client had sent before"),
                ),
                Waste::Unchanged => (
                    "Send only the rows of an image that changed".to_owned(),
                    format!(
                        "{count} {request} contained rows of pixels that were there already, {:.0} kB in all",
                        wasted.bytes as f64 / 1e3
                    ),
                ),
                Waste::Outside => (
                    "Send only the visible part of images".to_owned(),
                    format!("{count} {request} went beyond the window or pixmap, or into a window that is not shown"),
                ),
                Waste::SameValue => (
                    "Change a property only if its value is different".to_owned(),
                    format!("{count} {request} set the value that the property had already"),
                ),
                Waste::Metrics => (
                    "Use fonts with fewer characters (such as iso8859-1 instead of iso10646-1), or draw text with \
                     client-side fonts (Xft)"
                        .to_owned(),
                    format!(
                        "{count} {request} returned the size of every character, {:.0} kB in all",
                        wasted.bytes as f64 / 1e3
                    ),
                ),
            };
            let requests = wasted.requests.clone();
            let (not_sent, not_returned) = match waste {
                Waste::Metrics => (Vec::new(), requests),
                _ => (requests, Vec::new()),
            };
            Finding {
                kind: match waste {
                    Waste::SentAgain | Waste::Unchanged | Waste::Outside => "images",
                    Waste::SameValue => "properties",
                    Waste::Metrics => "fonts",
                },
                client,
                request,
                count,
                action,
                why,
                saves: Saving {
                    bytes: wasted.bytes,
                    not_sent,
                    not_returned,
                    ..Saving::default()
                },
            }
        };
        self.wasted.all().map(found).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Finding, UnneededBytes};
    use crate::roundtrips::insights::testing::findings;
    use crate::testing::*;

    const WINDOW: u32 = BASE + 9;

    /// PutImage of 10×10 pixels at `x` in a window of 100×100.
    fn put_image(x: u32, pixel: u32) -> Vec<u8> {
        let header = [WINDOW, BASE + 1, 10 | 10 << 16, x, 24 << 8];
        request(72, 2, &[header.as_slice(), &[pixel; 100]].concat())
    }

    fn with_window() -> Synthetic {
        let mut trace = Synthetic::new();
        let window = request(1, 24, &[WINDOW, ROOT, 0, 100 | 100 << 16, 1 << 16, 0, 0]);
        trace.client_sends(&[window, map_window(WINDOW)]);
        trace
    }

    fn found(trace: &Synthetic) -> Vec<(&'static str, u64, u64)> {
        let found = findings(trace, UnneededBytes::default());
        let row = |one: &Finding| (one.kind, one.count, one.saves.bytes);
        found.iter().map(row).collect()
    }

    #[test]
    fn image_sent_again_needs_only_a_copy() {
        let mut trace = with_window();
        trace.client_sends(&[put_image(0, 1), put_image(50, 1), put_image(0, 2)]);
        assert_eq!(found(&trace), [("images", 1, 424 - 28)]);
    }

    #[test]
    fn part_of_image_outside_of_window_is_not_seen() {
        let mut trace = with_window();
        trace.client_sends(&[put_image(95, 1), put_image(200, 2), put_image(90, 3)]);
        assert_eq!(found(&trace), [("images", 2, 212 + 424)]);
    }

    #[test]
    fn rows_that_are_there_already_are_not_needed() {
        let gc = || request(55, 0, &[BASE + 1, WINDOW, 0]);
        // Rows 4 to 6 of 10 differ.
        let image = |pixel: u32| {
            let pixels: Vec<u32> = (0..100)
                .map(|n| if (40..70).contains(&n) { pixel } else { n })
                .collect();
            let header = [WINDOW, BASE + 1, 10 | 10 << 16, 0, 24 << 8];
            request(72, 2, &[header.as_slice(), &pixels].concat())
        };
        let mut trace = with_window();
        trace.client_sends(&[gc(), image(1000), image(1001), image(1002)]);
        // Another drawing may have changed the rows.
        let fill = request(70, 0, &[WINDOW, BASE + 1, 0, 10 | 10 << 16]);
        trace.client_sends(&[fill, image(1003)]);
        assert_eq!(found(&trace), [("images", 2, 2 * (424.0 * 0.7) as u64)]);
    }

    #[test]
    fn property_with_the_same_value_is_not_needed() {
        let change = |mode, value| request(18, mode, &[WINDOW, 39, 31, 8, 4, value]);
        let mut trace = with_window();
        // Append changes the value, and another request deletes the property.
        let delete = || request(19, 0, &[WINDOW, 39]);
        trace.client_sends(&[
            change(0, 1),
            change(0, 1),
            change(2, 1),
            change(0, 1),
            change(0, 2),
        ]);
        trace.client_sends(&[delete(), change(0, 2)]);
        assert_eq!(found(&trace), [("properties", 1, 28)]);
    }

    #[test]
    fn font_metrics_count_all_returned_bytes() {
        let mut trace = Synthetic::new();
        let mut long = reply(1);
        long[4] = 3;
        long.extend([0; 12]);
        trace.client_sends(&[query_font()]);
        trace.wait(50).server_sends(&[long]);
        assert_eq!(found(&trace), [("fonts", 1, 44)]);
    }
}
