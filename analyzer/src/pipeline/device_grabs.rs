//! Active grabs of the pointer, the keyboard and XInput devices: the holder and the beginning of each. A grab begins
//! with a successful reply to its request, and ends with UngrabPointer or a similar request, with the connection, with
//! another client's grab, and when its window is unmapped. Grabs that the server itself activates, on a button or key
//! that is grabbed passively or held down, are not visible in the protocol. The pipeline has the only instance.

use std::collections::{BTreeMap, HashMap, VecDeque};

use x11prof_protocol::{Body, Message, Reply, Request, SequenceNumber};
use x11prof_session::ResourceChange;
use x11prof_trace::{ConnectionId, Timestamp};

use crate::pipeline::message_context::MessageContext;

/// Maximum number of pending grab requests; further requests are not tracked.
const MAX_PENDING: usize = 4096;
/// Maximum number of active grabs that are tracked. XInput numbers devices with 16 bits; a display has a few dozen.
const MAX_OPEN: usize = 4096;

/// A device that a client can grab.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Device {
    /// The core pointer.
    Pointer,
    /// The core keyboard.
    Keyboard,
    /// A device of XInput 2, with its number.
    Numbered(u16),
}

/// A step in the life of a device grab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GrabStep {
    /// The client has grabbed the device.
    Began,
    /// The server refused the client's grab.
    Refused,
    /// The client released its grab.
    Ungrabbed,
    /// The client lost its grab, because another client has grabbed the device.
    Lost,
    /// The grab ended because its window was unmapped.
    Unmapped,
    /// The grab ended because the client's connection ended.
    Closed,
}

/// A change of a device grab.
#[derive(Debug, Clone, Copy)]
pub struct DeviceGrab {
    /// The device whose grab changed.
    pub device: Device,
    /// The client that has, had or requested the grab.
    pub by: ConnectionId,
    /// For a refused grab, the client that has grabbed the device; `None` if unknown.
    pub holder: Option<ConnectionId>,
    /// The window that the client grabbed the device for.
    pub window: u32,
    /// The time at which the client requested the grab.
    pub asked: Timestamp,
    /// The time at which the grab changed.
    pub time: Timestamp,
    /// The kind of change of the grab.
    pub step: GrabStep,
}

/// The active device grabs, and the changes that have not been emitted yet.
#[derive(Debug, Default)]
pub(crate) struct DeviceGrabs {
    asked: HashMap<(ConnectionId, SequenceNumber), DeviceGrab>,
    open: BTreeMap<Device, DeviceGrab>,
    changes: VecDeque<DeviceGrab>,
}

impl DeviceGrabs {
    /// Removes and returns the next change; `None` after the last.
    pub(crate) fn take_change(&mut self) -> Option<DeviceGrab> {
        self.changes.pop_front()
    }

    /// Processes the next message of a pass, and stores the changes of grabs that it causes.
    pub(crate) fn message(&mut self, seen: &MessageContext<'_>) {
        match seen.message {
            Message::Request(request) => self.request(seen, request),
            Message::Reply(reply) if !self.asked.is_empty() => self.reply(seen, reply),
            Message::Error(error) if !self.asked.is_empty() => {
                self.asked.remove(&(seen.connection, error.sequence));
            }
            _ => {}
        }
    }

    /// Ends the grabs of a connection that ended at `time`.
    pub(crate) fn closed(&mut self, connection: ConnectionId, time: Timestamp) {
        self.asked.retain(|(of, _), _| *of != connection);
        self.end(time, GrabStep::Closed, |grab| grab.by == connection);
    }

    fn request(&mut self, seen: &MessageContext<'_>, request: &Request<'_>) {
        let body = Body::of(request);
        let numbered = |at| body.u16(at).map(Device::Numbered);
        // The core's opcodes: protocol, appendix B.
        match request.major {
            10 => self.gone(body.u32(0).unwrap_or(0), seen.time),
            26 => self.ask(seen, request, Some(Device::Pointer)),
            27 => self.ungrab(seen, Some(Device::Pointer)),
            31 => self.ask(seen, request, Some(Device::Keyboard)),
            32 => self.ungrab(seen, Some(Device::Keyboard)),
            128.. => match request.name.as_str() {
                // Window, time, cursor, device.
                "XInputExtension:XIGrabDevice" => self.ask(seen, request, numbered(12)),
                "XInputExtension:XIUngrabDevice" => self.ungrab(seen, numbered(4)),
                _ => {}
            },
            _ => {}
        }
        if !self.open.is_empty() {
            for change in seen.session.resource_changes() {
                if let ResourceChange::Freed(resource) = change {
                    self.gone(resource.id, seen.time);
                }
            }
        }
    }

    fn ask(&mut self, seen: &MessageContext<'_>, request: &Request<'_>, device: Option<Device>) {
        if let Some(device) = device
            && self.asked.len() < MAX_PENDING
        {
            let grab = DeviceGrab {
                device,
                by: seen.connection,
                holder: None,
                window: Body::of(request).u32(0).unwrap_or(0),
                asked: seen.time,
                time: seen.time,
                step: GrabStep::Refused,
            };
            self.asked.insert((seen.connection, request.sequence), grab);
        }
    }

    fn reply(&mut self, seen: &MessageContext<'_>, reply: &Reply<'_>) {
        let Some(mut grab) = self.asked.remove(&(seen.connection, reply.sequence)) else {
            return;
        };
        grab.time = seen.time;
        // Status 0 is Success. The core protocol has the status in the reply's second byte, XIGrabDevice after the
        // header.
        let at = if matches!(grab.device, Device::Numbered(_)) {
            8
        } else {
            1
        };
        match reply.bytes.get(at) {
            Some(0) => self.begin(grab),
            Some(_) => {
                grab.holder = self.holder(grab.device);
                self.changes.push_back(grab);
            }
            None => {}
        }
    }

    /// The client that has a device: the one that has grabbed it, or otherwise the only client with a grab, because the
    /// core protocol and XInput name devices differently.
    fn holder(&self, device: Device) -> Option<ConnectionId> {
        let mut all = self.open.values().map(|grab| grab.by);
        let only = all.next().filter(|one| all.all(|other| other == *one));
        self.open.get(&device).map(|grab| grab.by).or(only)
    }

    fn begin(&mut self, grab: DeviceGrab) {
        let had = self.open.get(&grab.device);
        // A repeated grab by the holder changes the mode of the grab, but not its beginning.
        if had.is_some_and(|had| had.by == grab.by)
            || (had.is_none() && self.open.len() >= MAX_OPEN)
        {
            return;
        }
        let step = GrabStep::Began;
        self.end(grab.time, GrabStep::Lost, |had| had.device == grab.device);
        self.open.insert(grab.device, grab);
        self.changes.push_back(DeviceGrab { step, ..grab });
    }

    fn ungrab(&mut self, seen: &MessageContext<'_>, device: Option<Device>) {
        self.end(seen.time, GrabStep::Ungrabbed, |grab| {
            Some(grab.device) == device && grab.by == seen.connection
        });
    }

    fn gone(&mut self, window: u32, time: Timestamp) {
        self.end(time, GrabStep::Unmapped, |grab| grab.window == window);
    }

    fn end(&mut self, time: Timestamp, step: GrabStep, is_over: impl Fn(&DeviceGrab) -> bool) {
        let changes = &mut self.changes;
        self.open.retain(|_, grab| {
            let is_over = is_over(grab);
            if is_over {
                changes.push_back(DeviceGrab {
                    time,
                    step,
                    ..*grab
                });
            }
            !is_over
        });
    }
}
