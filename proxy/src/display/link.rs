//! Measures the connection to a display, its round-trip time and its throughput, within some seconds. The measurement
//! only creates one pixmap and shows nothing.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use x11prof_trace::{Link, RoundTrip, Transfer};
use x11rb_protocol::protocol::xproto::{
    CreateGCAux, CreateGCRequest, CreatePixmapRequest, FreeGCRequest, FreePixmapRequest,
    GetImageRequest, GetInputFocusRequest, ImageFormat, NoOperationRequest, PutImageRequest, Setup,
};
use x11rb_protocol::x11_utils::Request;

use crate::clock;
use crate::display::display_name::{DisplayName, Endpoint};
use crate::display::server_info::{self, DisplayError, no_setup};
use crate::display::server_link::ServerLink;
use crate::display::setup_connection::{SetupConnection, SetupFailure};
use crate::notice::Notice;

/// The whole measurement must end within this time.
const PATIENCE: Duration = Duration::from_secs(60);
/// Consecutive round trips: their number, and the time limit for all together.
const IN_A_ROW: (usize, Duration) = (200, Duration::from_secs(1));
/// Round trips with random pauses between them: their number, and the time limit for all together. The longest pause
/// exceeds the known timers of links, such as the 40 ms of a delayed acknowledgement.
const PACED: (usize, Duration) = (48, Duration::from_secs(4));
const LONGEST_PAUSE: Duration = Duration::from_millis(45);
/// Round trips of two requests in two writes: their number, and the time limit for all together.
const TWO_WRITES: (usize, Duration) = (16, Duration::from_secs(2));
/// The time between the two writes, shorter than any delayed acknowledgement.
const APART: Duration = Duration::from_millis(1);
/// A transfer is repeated with twice the bytes until it takes this long, or until twice the bytes exceed the maximum.
const LONG_ENOUGH: Duration = Duration::from_millis(300);
const MAX_BYTES: usize = 32 << 20;
/// The length in bytes of the longest NoOperation that needs no extension.
const LONG_REQUEST: usize = 4 * 65_535;
/// The width and height of the pixmap: 256 kB at 32 bits per pixel.
const SIDE: u16 = 256;

/// Measures the connection to `display`, or to the display of `DISPLAY` if it is `None`.
///
/// # Errors
/// Fails if the display cannot be used.
pub fn link(display: Option<&str>, mut on: impl FnMut(Notice)) -> Result<Link, LinkError> {
    let name = match display {
        Some(name) => name.to_owned(),
        None => std::env::var("DISPLAY").map_err(|_| LinkError::NoDisplay)?,
    };
    let link = ServerLink::new(DisplayName::parse(&name)?, None);
    let probed = server_info::ask_within(&link, None, &mut on)?.link;
    Ok(measure(&link, probed.as_ref())?)
}

/// The reason why a connection could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The user gave no display, and `DISPLAY` is not set.
    #[error("DISPLAY is not set: name a display with --display")]
    NoDisplay,
    /// The text is not a valid display name.
    #[error(transparent)]
    Name(#[from] crate::DisplayNameError),
    /// The display cannot be used.
    #[error(transparent)]
    Display(#[from] DisplayError),
}

/// Measures the connection to a known server. `probed` is the result of an earlier, shorter measurement.
pub(crate) fn measure(link: &ServerLink, probed: Option<&Link>) -> Result<Link, DisplayError> {
    let display = link.name().to_string();
    let failed = |why| no_setup(&display, SetupFailure::Failed(why));
    let (mut talk, cookie) =
        SetupConnection::begin(link, PATIENCE).map_err(|source| DisplayError::Unreachable {
            display: display.clone(),
            source,
        })?;
    let setup = talk.set_up(cookie.as_ref());
    let setup = setup.map_err(|no| no_setup(&display, no))?;
    let mut probe = Probe {
        talk,
        random: 0x9E37_79B9_7F4A_7C15,
    };
    Ok(Link {
        display: display.clone(),
        transport: match link.name().endpoint() {
            Endpoint::Tcp { .. } => "tcp",
            _ => "unix",
        }
        .to_owned(),
        relay: probed.and_then(|probed| probed.relay.clone()),
        setup_ns: probed.and_then(|probed| probed.setup_ns),
        tcp_round_trip_ns: probed.and_then(|probed| probed.tcp_round_trip_ns),
        round_trips_ns: probe.in_a_row().map_err(failed)?,
        paced: probe.paced().map_err(failed)?,
        two_writes_ns: probe.two_writes().map_err(failed)?,
        to_server: probe.upload().map_err(failed)?,
        to_client: probe.download(&setup).map_err(failed)?,
    })
}

/// A connection whose link is measured, and the state of a random number generator.
struct Probe {
    talk: SetupConnection,
    random: u64,
}

/// A measured value, or the failure as text.
type Measured<T> = Result<T, String>;

impl Probe {
    fn send(&self, request: impl Request) -> Measured<()> {
        self.talk.send(request, 0).map(drop)
    }

    fn round_trip(&mut self) -> Measured<RoundTrip> {
        let sent = clock::now();
        self.send(GetInputFocusRequest)?;
        self.talk.reply()?;
        Ok(between(sent))
    }

    fn in_a_row(&mut self) -> Measured<Vec<u64>> {
        // The first round trip may wake a sleeping process and is not counted.
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

    /// Sends a small request and, shortly afterwards, a request with a reply. Returns the times in nanoseconds from
    /// the second request to its reply. Delayed acknowledgements lengthen these times.
    fn two_writes(&mut self) -> Measured<Vec<u64>> {
        self.repeat(TWO_WRITES, |probe| {
            probe.send(NoOperationRequest)?;
            // Without the pause, a relay on the link would read both requests at once and delay neither.
            std::thread::sleep(APART);
            let sent = clock::now();
            probe.send(GetInputFocusRequest)?;
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

    /// Sends long NoOperations, which the protocol allows. They have no effect.
    fn upload(&mut self) -> Measured<Transfer> {
        // The requests contain noise, so that compressing tunnels are measured as with incompressible images.
        let mut long = NoOperationRequest.serialize().0.concat();
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

    /// Reads images of a pixmap that the measurement creates.
    fn download(&mut self, setup: &Setup) -> Measured<Transfer> {
        let depth = setup.roots.first().map_or(24, |root| root.root_depth);
        let root = setup.roots.first().map_or(0, |root| root.root);
        let formats = setup.pixmap_formats.iter();
        let bits = formats.clone().find(|format| format.depth == depth);
        let bits = usize::from(bits.map_or(32, |format| format.bits_per_pixel));
        let row = usize::from(SIDE) * bits / 8;
        let [drawable, gc] = [1, 2].map(|id| setup.resource_id_base | id);
        let (width, height) = (SIDE, SIDE);
        self.send(CreatePixmapRequest {
            depth,
            pid: drawable,
            drawable: root,
            width,
            height,
        })?;
        self.send(CreateGCRequest {
            cid: gc,
            drawable,
            value_list: Cow::Owned(CreateGCAux::new()),
        })?;
        // Sends rows of noise, at most 16 rows and at most 64 kB in one request.
        let rows = (u32::from(u16::MAX) / row.max(1) as u32).clamp(1, 16) as u16;
        for top in (0..SIDE).step_by(usize::from(rows)) {
            let height = rows.min(SIDE - top);
            let length = row * usize::from(height);
            let noise = (0..length.div_ceil(8)).flat_map(|_| self.next().to_ne_bytes());
            let data: Vec<u8> = noise.take(length).collect();
            self.send(PutImageRequest {
                format: ImageFormat::Z_PIXMAP,
                drawable,
                gc,
                width,
                height,
                dst_x: 0,
                dst_y: top.cast_signed(),
                left_pad: 0,
                depth,
                data: data.into(),
            })?;
        }
        self.round_trip()?;
        let ask = GetImageRequest {
            format: ImageFormat::Z_PIXMAP,
            drawable,
            x: 0,
            y: 0,
            width,
            height,
            plane_mask: !0,
        };
        let ask = ask.serialize().0.concat();
        let found = self.grow(row * usize::from(SIDE) + 32, |probe, times| {
            // All images are requested before the first reply is read.
            probe.talk.say(&ask.repeat(times))?;
            for _ in 0..times {
                probe.talk.reply()?;
            }
            Ok(())
        });
        self.send(FreeGCRequest { gc })?;
        self.send(FreePixmapRequest { pixmap: drawable })?;
        self.round_trip()?;
        found
    }

    /// Repeats the transfer of `bytes` bytes. Doubles the repetitions until they take long enough. `transfer`
    /// receives the number of repetitions.
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

    /// Returns the next random number (Marsaglia's xorshift, 2003).
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
