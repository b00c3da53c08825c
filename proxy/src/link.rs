//! Measures the connection to a display, its round trips and its speed, in some seconds. The display does not change:
//! the measurement makes one pixmap and shows nothing.

use std::time::{Duration, Instant};

use x11prof_protocol::ByteOrder;
use x11prof_trace::{Link, RoundTrip, Transfer};
use x11rb_protocol::protocol::xproto::Setup;

use crate::clock;
use crate::display_name::{DisplayName, Endpoint};
use crate::server_info::DisplayError;
use crate::server_link::ServerLink;
use crate::setup_connection::{SetupConnection, SetupFailure};

/// Core opcodes (protocol encoding, "Requests").
const GET_INPUT_FOCUS: u8 = 43;
const CREATE_PIXMAP: u8 = 53;
const FREE_PIXMAP: u8 = 54;
const CREATE_GC: u8 = 55;
const FREE_GC: u8 = 60;
const PUT_IMAGE: u8 = 72;
const GET_IMAGE: u8 = 73;
const NO_OPERATION: u8 = 127;
/// The format of images by pixels (protocol encoding, "PutImage").
const Z_PIXMAP: u8 = 2;

/// The whole measurement must end within this time.
const PATIENCE: Duration = Duration::from_secs(60);
/// Round trips one after the other: their number, and how long they may take.
const IN_A_ROW: (usize, Duration) = (200, Duration::from_secs(1));
/// The number of round trips with pauses, and the time that all may take. The pauses cover the known steps of delay.
const PACED: (usize, Duration) = (48, Duration::from_secs(4));
const LONGEST_PAUSE: Duration = Duration::from_millis(45);
/// The number of round trips of two requests in two writes, and the time that all may take.
const TWO_WRITES: (usize, Duration) = (16, Duration::from_secs(2));
/// The time between them: less than any acknowledgement is delayed.
const APART: Duration = Duration::from_millis(1);
/// The number of bytes grows until they take this long, or is this large.
const LONG_ENOUGH: Duration = Duration::from_millis(300);
const MAX_BYTES: usize = 32 << 20;
/// Bytes of a long NoOperation, the longest that needs no extension.
const LONG_REQUEST: usize = 4 * 65_535;
/// The side of the pixmap: 256 kB at 32 bits a pixel.
const SIDE: u16 = 256;

/// Measures the connection to the display of this name; where `None`, to that of `DISPLAY`.
///
/// # Errors
/// Fails if the display cannot be used.
pub fn link(display: Option<&str>) -> Result<Link, LinkError> {
    let name = match display {
        Some(name) => name.to_owned(),
        None => std::env::var("DISPLAY").map_err(|_| LinkError::NoDisplay)?,
    };
    let link = ServerLink::new(DisplayName::parse(&name)?, None);
    Ok(measure(&link)?)
}

/// Why a connection could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// No display is named.
    #[error("DISPLAY is not set: name a display with --display")]
    NoDisplay,
    /// Its name is none.
    #[error(transparent)]
    Name(#[from] crate::DisplayNameError),
    /// The display cannot be used.
    #[error(transparent)]
    Display(#[from] DisplayError),
}

/// Measures the connection to a known server.
pub(crate) fn measure(link: &ServerLink) -> Result<Link, DisplayError> {
    let display = link.name().to_string();
    let failed = |reason: String| DisplayError::Failed {
        display: display.clone(),
        reason,
    };
    let (mut talk, cookie) =
        SetupConnection::begin(link, PATIENCE).map_err(|source| DisplayError::Unreachable {
            display: display.clone(),
            source,
        })?;
    let setup = talk.set_up(cookie.as_ref()).map_err(|no| match no {
        SetupFailure::Refused(reason) => DisplayError::Refused {
            display: display.clone(),
            reason,
        },
        SetupFailure::Failed(reason) => failed(reason),
    })?;
    let transport = match link.name().endpoint() {
        Endpoint::Tcp { .. } => "tcp",
        _ => "unix",
    };
    let mut probe = Probe {
        talk,
        random: 0x9E37_79B9_7F4A_7C15,
    };
    Ok(Link {
        display: display.clone(),
        transport: transport.to_owned(),
        round_trips_ns: probe.in_a_row().map_err(failed)?,
        paced: probe.paced().map_err(failed)?,
        two_writes_ns: probe.two_writes().map_err(failed)?,
        to_server: probe.upload().map_err(failed)?,
        to_client: probe.download(&setup).map_err(failed)?,
    })
}

/// A connection that is measured.
struct Probe {
    talk: SetupConnection,
    random: u64,
}

/// A measured value, or the failure in words.
type Measured<T> = Result<T, String>;

impl Probe {
    fn round_trip(&mut self) -> Measured<RoundTrip> {
        let sent = clock::now();
        self.talk.say(&request(GET_INPUT_FOCUS, 0, &[]))?;
        self.talk.reply()?;
        Ok(between(sent))
    }

    fn in_a_row(&mut self) -> Measured<Vec<u64>> {
        // The first may wake somebody up.
        self.round_trip()?;
        self.repeat(IN_A_ROW, |probe| Ok(length(probe.round_trip()?)))
    }

    fn paced(&mut self) -> Measured<Vec<RoundTrip>> {
        self.repeat(PACED, |probe| {
            let part = (probe.next() >> 11) as f64 / (1_u64 << 53) as f64;
            std::thread::sleep(LONGEST_PAUSE.mul_f64(part));
            probe.round_trip()
        })
    }

    /// A small request by itself, and before anything has come back another one with a reply: how long that took.
    fn two_writes(&mut self) -> Measured<Vec<u64>> {
        self.repeat(TWO_WRITES, |probe| {
            probe.talk.say(&request(NO_OPERATION, 0, &[]))?;
            // Without the pause, a relay on the way would read both requests at once and hold neither back.
            std::thread::sleep(APART);
            let sent = clock::now();
            probe.talk.say(&request(GET_INPUT_FOCUS, 0, &[]))?;
            probe.talk.reply()?;
            Ok(length(between(sent)))
        })
    }

    fn repeat<T>(
        &mut self,
        (times, most): (usize, Duration),
        mut once: impl FnMut(&mut Probe) -> Measured<T>,
    ) -> Measured<Vec<T>> {
        let begin = Instant::now();
        let mut found = Vec::new();
        while found.len() < times && (begin.elapsed() < most || found.len() < 5) {
            found.push(once(self)?);
        }
        Ok(found)
    }

    /// Long NoOperations, which the protocol allows: nobody does anything with them.
    fn upload(&mut self) -> Measured<Transfer> {
        // The request holds noise, so that a tunnel that compresses is measured as for images.
        let mut long = request(NO_OPERATION, 0, &[]);
        long.resize(LONG_REQUEST, 0);
        for word in long[4..].chunks_mut(8) {
            let noise = self.next().to_ne_bytes();
            word.copy_from_slice(&noise[..word.len()]);
        }
        long[2..4].copy_from_slice(&u16::MAX.to_ne_bytes());
        self.grow(long.len(), |probe, times| {
            for _ in 0..times {
                probe.talk.say(&long)?;
            }
            probe.round_trip().map(|_| ())
        })
    }

    /// Images of a pixmap of our own.
    fn download(&mut self, setup: &Setup) -> Measured<Transfer> {
        let depth = setup.roots.first().map_or(24, |root| root.root_depth);
        let root = setup.roots.first().map_or(0, |root| root.root);
        let formats = setup.pixmap_formats.iter();
        let bits = formats.clone().find(|format| format.depth == depth);
        let bits = usize::from(bits.map_or(32, |format| format.bits_per_pixel));
        let row = usize::from(SIDE) * bits / 8;
        let [pixmap, gc] = [1, 2].map(|id| setup.resource_id_base | id);
        let size = u32::from(SIDE);
        let both = |low: u32, high: u32| match ByteOrder::native() {
            ByteOrder::Little => low | high << 16,
            ByteOrder::Big => low << 16 | high,
        };
        self.talk.say(&request(
            CREATE_PIXMAP,
            depth,
            &[pixmap, root, both(size, size)],
        ))?;
        self.talk.say(&request(CREATE_GC, 0, &[gc, pixmap, 0]))?;
        // Rows of noise; four bytes and more are 16 to a request of 64 kB at most.
        let rows = (u32::from(u16::MAX) / row.max(1) as u32).clamp(1, 16) as u16;
        for top in (0..SIDE).step_by(usize::from(rows)) {
            let rows = rows.min(SIDE - top);
            let place = match ByteOrder::native() {
                ByteOrder::Little => u32::from(depth) << 8,
                ByteOrder::Big => u32::from(depth) << 16,
            };
            let mut image = request(
                PUT_IMAGE,
                Z_PIXMAP,
                &[
                    pixmap,
                    gc,
                    both(size, u32::from(rows)),
                    both(0, u32::from(top)),
                    place,
                ],
            );
            for _ in 0..(row * usize::from(rows)).div_ceil(8) {
                image.extend(self.next().to_ne_bytes());
            }
            image.truncate(24 + row * usize::from(rows));
            image.resize(image.len().next_multiple_of(4), 0);
            let units = u16::try_from(image.len() / 4).unwrap_or(u16::MAX);
            image[2..4].copy_from_slice(&units.to_ne_bytes());
            self.talk.say(&image)?;
        }
        self.round_trip()?;
        let ask = request(
            GET_IMAGE,
            Z_PIXMAP,
            &[pixmap, 0, both(size, size), u32::MAX],
        );
        let found = self.grow(row * usize::from(SIDE) + 32, |probe, times| {
            // All of them are asked for before the first comes.
            probe.talk.say(&ask.repeat(times))?;
            for _ in 0..times {
                probe.talk.reply()?;
            }
            Ok(())
        });
        self.talk.say(&request(FREE_GC, 0, &[gc]))?;
        self.talk.say(&request(FREE_PIXMAP, 0, &[pixmap]))?;
        self.round_trip()?;
        found
    }

    /// Doubles the repetitions until they take long enough.
    fn grow(
        &mut self,
        bytes: usize,
        mut transfer: impl FnMut(&mut Probe, usize) -> Measured<()>,
    ) -> Measured<Transfer> {
        let mut times = 1;
        loop {
            let sent = clock::now();
            transfer(self, times)?;
            let took = length(between(sent));
            let all = bytes * times;
            if u128::from(took) >= LONG_ENOUGH.as_nanos() || 2 * all > MAX_BYTES {
                return Ok(Transfer {
                    bytes: all as u64,
                    took_ns: took,
                });
            }
            times *= 2;
        }
    }

    /// Marsaglia's xorshift (2003).
    fn next(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}

fn between(sent: x11prof_trace::Timestamp) -> RoundTrip {
    RoundTrip {
        sent_ns: sent.as_nanos(),
        came_ns: clock::now().as_nanos(),
    }
}

fn length(round_trip: RoundTrip) -> u64 {
    round_trip.came_ns.saturating_sub(round_trip.sent_ns)
}

fn request(major: u8, data: u8, words: &[u32]) -> Vec<u8> {
    let units = u16::try_from(1 + words.len()).unwrap_or(u16::MAX);
    let mut bytes = vec![major, data];
    bytes.extend(units.to_ne_bytes());
    words
        .iter()
        .for_each(|word| bytes.extend(word.to_ne_bytes()));
    bytes
}
