//! A connection with a known kind of slowness: a relay between its own display and an X server's display.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// The kind of slowness.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Slow {
    /// One-way delay in each direction.
    Delay(Duration),
    /// Bytes to the client are sent only at multiples of this duration, as if by a timer.
    Steps(Duration),
    /// Bandwidth in bytes per second, in each direction.
    Speed(f64),
    /// Nagle's algorithm and delayed acknowledgements of this duration: while the latest write to the server is
    /// unacknowledged, the next write waits (RFC 896; RFC 1122, 4.2.3.2).
    Nagle(Duration),
}

/// A display that relays to a server's display.
pub(crate) struct SlowRelay {
    pub(crate) display: String,
    path: String,
    over: Arc<AtomicBool>,
}

impl SlowRelay {
    /// Relays to `display` (`:7`) until it is dropped.
    pub(crate) fn start(display: &str, slow: Slow) -> SlowRelay {
        let to = format!("/tmp/.X11-unix/X{}", display.trim_start_matches(':'));
        // Use high display numbers, which nothing else here uses. Another test may take a number first.
        let (listener, number) = (700..900)
            .find_map(|number| {
                let lock = format!("/tmp/.X{number}-lock");
                let path = format!("/tmp/.X11-unix/X{number}");
                let free = !std::path::Path::new(&lock).exists();
                let listener = free.then(|| UnixListener::bind(&path)).and_then(Result::ok);
                listener.map(|listener| (listener, number))
            })
            .expect("a free display number");
        let over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&over);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if ends.load(Ordering::Relaxed) {
                    return;
                }
                let server = UnixStream::connect(&to).expect("the server is there");
                let clone = |stream: &UnixStream| stream.try_clone().expect("a descriptor");
                let back = Arc::new(AtomicU64::new(0));
                carry(
                    clone(&client),
                    clone(&server),
                    slow,
                    false,
                    Arc::clone(&back),
                );
                carry(server, client, slow, true, back);
            }
        });
        SlowRelay {
            display: format!(":{number}"),
            path: format!("/tmp/.X11-unix/X{number}"),
            over,
        }
    }
}

impl Drop for SlowRelay {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // Unblock the relay's `accept`.
        let _ = UnixStream::connect(&self.path);
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The size of a TCP segment on Ethernet. Nagle's algorithm does not delay full segments.
const SEGMENT: usize = 1460;

/// Relays one direction with two threads: a reader, and a writer that sends when a block is due. `back` counts the
/// blocks that came back to the client.
fn carry(
    mut from: UnixStream,
    mut to: UnixStream,
    slow: Slow,
    to_client: bool,
    back: Arc<AtomicU64>,
) {
    let (sender, receiver) = mpsc::channel::<(Instant, Vec<u8>)>();
    std::thread::spawn(move || {
        let mut room = vec![0; 64 << 10];
        while let Ok(len @ 1..) = from.read(&mut room) {
            if sender.send((Instant::now(), room[..len].to_vec())).is_err() {
                return;
            }
        }
    });
    let begin = Instant::now();
    std::thread::spawn(move || {
        let mut free = Instant::now();
        let mut wrote: Option<(Instant, u64)> = None;
        for (came, bytes) in receiver {
            let due = match slow {
                Slow::Delay(delay) => came + delay,
                Slow::Steps(step) if to_client => {
                    let steps = (came - begin).as_nanos() / step.as_nanos() + 1;
                    begin + step * u32::try_from(steps).expect("a short test")
                }
                Slow::Steps(_) => came,
                Slow::Speed(speed) => {
                    let takes = Duration::from_secs_f64(bytes.len() as f64 / speed);
                    free = free.max(came) + takes;
                    free
                }
                Slow::Nagle(acknowledged) => {
                    let came_back = back.load(Ordering::Relaxed);
                    let held = wrote.filter(|(_, then)| {
                        !to_client && bytes.len() < SEGMENT && *then == came_back
                    });
                    held.map_or(came, |(wrote, _)| wrote + acknowledged)
                }
            };
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let count = back.fetch_add(u64::from(to_client), Ordering::Relaxed);
            wrote = Some((Instant::now(), count));
            if to.write_all(&bytes).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    });
}
