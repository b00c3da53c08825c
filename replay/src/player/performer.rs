//! The player's state: the display, the maps of ids, and a connection for each recorded client.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::{ClockId, Timespec, clock_gettime};
use x11prof_protocol::{Extensions, Symbol, request_name};
use x11prof_proxy::{DisplayName, ServerLink, SharedMemory};

use super::connection::Connection;
use super::control::Control;
use super::patience::{LOOK_AGAIN, PATIENCE, TURN, turn};
use super::screens;
use super::shared_memory::{file, segment};
use crate::ids::Ids;
use crate::script::{Noise, Script};
use crate::{Played, ReplayError};

/// The longest interval between two checks whether the replay must stop.
const STOP_CHECK: Duration = Duration::from_millis(100);
/// The maximum number of screenshots.
const MOST_PICTURES: usize = 1000;

/// Memory that the player shares with the display in place of a recorded client's segment.
pub(super) enum Memory {
    Segment(SharedMemory),
    File(OwnedFd),
}

/// The state of a running replay of a script.
pub(super) struct Player<'a> {
    pub(super) script: &'a Script,
    link: ServerLink,
    stop: &'a AtomicBool,
    /// The display's counterparts of the recorded extensions.
    pub(super) extensions: Extensions,
    pub(super) ids: Ids,
    pub(super) clients: Vec<Option<Connection>>,
    /// It is dropped after the clients, because one of them may have grabbed the server.
    pub(super) control: Control,
    pub(super) memory: Vec<Memory>,
    /// The number of waits that ended without the awaited events, by kind of event (extension, code). Above a limit,
    /// the player no longer waits for events of the kind.
    pub(super) unreliable: HashMap<(u8, u32), u32>,
    /// By index of the client, the sum of the waits without a reply since the display last handled one of its requests.
    late: Vec<Duration>,
    /// The index of the client that has grabbed the server; `None` if no client has.
    pub(super) grabbed: Option<usize>,
    pub(super) noise: Noise,
    pub(super) played: Played,
    /// The file names of the screenshots so far, without the extension.
    pictures: BTreeSet<String>,
    errors: BTreeMap<Symbol, u64>,
}

impl<'a> Player<'a> {
    pub(super) fn new(script: &'a Script, stop: &'a AtomicBool) -> Result<Player<'a>, ReplayError> {
        let name = std::env::var("DISPLAY").unwrap_or_default();
        let name =
            DisplayName::parse(&name).map_err(|error| ReplayError::display("DISPLAY")(&error))?;
        let link = ServerLink::new(name, None);
        let mut control = Control::open(&link)?;
        control.is_shared = script.is_shared;
        let mut ids = Ids::default();
        screens::match_screens(script, control.screen()?, &mut ids)?;
        ids.is_shared = script.is_shared;
        ids.atoms = control.atoms(&script.atoms)?.into_iter().collect();
        let extensions = control.extensions(&script.extensions)?;
        if let Some(render) = extensions
            .by_name("RENDER")
            .filter(|_| !script.formats.is_empty())
        {
            ids.formats = screens::formats(&script.formats, &control.formats(render.major)?);
        }
        if let Some(randr) = extensions
            .by_name("RANDR")
            .filter(|_| !script.outputs.crtcs.is_empty())
        {
            let here = control.outputs(randr.major)?;
            ids.fixed.extend(screens::outputs(&script.outputs, &here));
        }
        let played = Played {
            other_keys: control.other_keys(&script.keys)?,
            ..Played::default()
        };
        let memory = script.segments.iter().map(|of| {
            let made = match of.by_descriptor {
                true => file(of.len).map(Memory::File),
                false => segment(of.len).map(Memory::Segment),
            };
            made.map_err(|error| ReplayError::display("shared memory")(&error))
        });
        Ok(Player {
            memory: memory.collect::<Result<_, _>>()?,
            script,
            link,
            stop,
            control,
            extensions,
            ids,
            clients: std::iter::repeat_with(|| None)
                .take(script.clients.len())
                .collect(),
            unreliable: HashMap::new(),
            late: vec![Duration::ZERO; script.clients.len()],
            grabbed: None,
            noise: Noise::default(),
            played,
            pictures: BTreeSet::new(),
            errors: BTreeMap::new(),
        })
    }

    pub(super) fn open(&mut self, client: usize) -> Result<(), ReplayError> {
        let recorded = self.script.clients[client];
        let opened = Connection::open(&self.link, recorded.order);
        let (connection, answer) =
            opened.map_err(|error| ReplayError::display("a connection")(&error))?;
        let number = |at| recorded.order.u32(&answer, at).unwrap_or(0);
        if answer.first() != Some(&1) {
            let why = "the display refused it".to_owned();
            let what = "a connection";
            return Err(ReplayError::Display { what, why });
        }
        if !self.ids.add_client(recorded.ids, (number(12), number(16))) {
            return Err(ReplayError::Ids);
        }
        self.clients[client] = Some(connection);
        self.played.connections += 1;
        Ok(())
    }

    pub(super) fn close(&mut self, client: usize) -> Result<(), ReplayError> {
        // Other clients' requests may still send events to this client's windows, so they are handled first.
        let others: Vec<usize> = (0..self.clients.len())
            .filter(|other| *other != client)
            .collect();
        self.settle(Some(&others))?;
        // A display behind a relay may lose the replies after the end of the requests.
        let limit = turn(self.grabbed.is_some());
        self.wait(client, limit, |one| !one.has_pending())?;
        if let Some(connection) = &self.clients[client] {
            connection.shut_down();
        }
        self.wait(client, TURN, |_| false)?;
        self.count_errors(client);
        self.clients[client] = None;
        self.grabbed.take_if(|by| *by == client);
        Ok(())
    }

    /// Fails if the replay must stop.
    pub(super) fn check_stop(&self) -> Result<(), ReplayError> {
        match self.stop.load(Ordering::Acquire) {
            true => Err(ReplayError::Stopped),
            false => Ok(()),
        }
    }

    /// Reads messages from the display until `until`, even if they arrive earlier, or until the replay must stop.
    pub(super) fn pump_until(&mut self, until: Instant) {
        while Instant::now() < until && self.check_stop().is_ok() {
            self.pump(until.min(Instant::now() + STOP_CHECK));
        }
    }

    /// Waits until a client's connection (by index) is closed or `is_done`. The wait is at most `limit`, minus
    /// earlier waits without a reply for this client. Returns false if the wait ended without success.
    ///
    /// # Errors
    /// Fails if the waits without a reply reach `PATIENCE`, summed over all clients, or if the replay must stop.
    pub(super) fn wait(
        &mut self,
        client: usize,
        limit: Duration,
        is_done: impl Fn(&Connection) -> bool,
    ) -> Result<bool, ReplayError> {
        let wait = limit.saturating_sub(self.late[client]).max(LOOK_AGAIN);
        let until = Instant::now() + wait;
        while let Some(connection) = &self.clients[client]
            && !connection.is_over
            && !is_done(connection)
        {
            if Instant::now() >= until {
                self.late[client] += wait;
                return match self.late.iter().sum::<Duration>() < PATIENCE {
                    true => Ok(false),
                    false => Err(ReplayError::Silent {
                        connection: self.script.clients[client].connection,
                        seconds: PATIENCE.as_secs(),
                    }),
                };
            }
            self.check_stop()?;
            self.pump(until.min(Instant::now() + STOP_CHECK));
        }
        Ok(true)
    }

    /// Waits until `until` for messages from the display on any connection, then reads one buffer from each
    /// connection that has some.
    pub(super) fn pump(&mut self, until: Instant) {
        let open = self.clients.iter().flatten().filter(|one| !one.is_over);
        let mut fds: Vec<PollFd<'_>> = open
            .map(|one| PollFd::from_borrowed_fd(one.fd(), PollFlags::IN))
            .collect();
        let left = until.saturating_duration_since(Instant::now());
        let wait = Timespec {
            tv_sec: left.as_secs().cast_signed(),
            tv_nsec: left.subsec_nanos().into(),
        };
        // An interrupted poll is handled like one that timed out.
        let _ = poll(&mut fds, Some(&wait));
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        let all = self.clients.iter_mut().zip(&mut self.late);
        let open =
            all.filter_map(|(one, late)| Some((one.as_mut().filter(|one| !one.is_over)?, late)));
        for ((connection, late), _) in open.zip(ready).filter(|(_, ready)| *ready) {
            let handled = connection.handled;
            connection.receive(&self.extensions);
            if connection.handled > handled {
                *late = Duration::ZERO;
            }
            for (recorded, here) in connection.times.drain(..) {
                self.ids.add_time(recorded, here);
            }
        }
    }

    /// Writes a screenshot to the folder. The file name is `name` (the text of a mark) with other characters than
    /// ASCII letters and digits replaced. Further screenshots of the same name get a number, from 2.
    pub(super) fn picture(&mut self, folder: &Path, name: &str) -> Result<(), ReplayError> {
        if self.pictures.len() >= MOST_PICTURES {
            return Ok(());
        }
        // The mark's text comes from the recording and must not be used as a path.
        let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let first: String = name.chars().take(60).map(letter).collect();
        let (mut name, mut number) = (first.clone(), 1);
        while !self.pictures.insert(name.clone()) {
            number += 1;
            name = format!("{first}-{number}");
        }
        self.control.picture(&folder.join(format!("{name}.ppm")))
    }

    fn count_errors(&mut self, client: usize) {
        let failed = self.clients[client].iter_mut();
        for ((major, minor), count) in failed.flat_map(|one| one.failed.drain()) {
            let name = request_name(major, minor, &self.extensions);
            *self.errors.entry(name).or_default() += count;
        }
    }

    pub(super) fn finish(mut self, took: Duration) -> Played {
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        self.played.player_cpu_ns =
            (cpu.tv_sec.cast_unsigned()) * 1_000_000_000 + cpu.tv_nsec.cast_unsigned();
        self.played.took_ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.played.filled_bytes = self.script.filled_bytes;
        self.played.segments = self.script.segments.len() as u64;
        for (name, count) in &self.script.left_out {
            let of = self.played.left_out.entry(name.as_str().to_owned());
            *of.or_default() += count;
        }
        for (name, there) in &self.script.errors {
            let here = self.errors.remove(name).unwrap_or(0);
            let name = name.as_str().to_owned();
            self.played.errors.insert(name, (*there, here));
        }
        for (name, here) in self.errors {
            let name = name.as_str().to_owned();
            self.played.errors.insert(name, (0, here));
        }
        self.played
    }
}
