//! How much dearer than usual a request is that has not run for a while. What is usual are small
//! requests that end with their own handler. Input and cursors run through much more of a server
//! (devices, grabs, focus, the sprite, and what its block handlers do for them), all of it cold, and a
//! stream of them shows none of that: so each is measured behind sleeps by itself.

use std::io;
use std::thread;
use std::time::Duration;

use x11prof_cost_model::{Micros, Point, RequestCosts};
use x11prof_session::Operation;
use x11rb_protocol::protocol::xinput::XIChangeCursorRequest;
use x11rb_protocol::protocol::xkb::{Group, ID, LatchLockStateRequest};
use x11rb_protocol::protocol::xproto::{
    ChangeWindowAttributesAux, ChangeWindowAttributesRequest, CreateGCAux, GetInputFocusRequest,
    GetKeyboardMappingRequest, GetModifierMappingRequest, ModMask, PolyFillRectangleRequest,
    Rectangle, WarpPointerRequest,
};
use x11rb_protocol::protocol::xtest::FakeInputRequest;

use crate::bustle::Bustle;
use crate::error::MeasureError;
use crate::executor::LiveServer;
use crate::fit;
use crate::mirror::Mirror;
use crate::motley::{Motley, motley};
use crate::plan::Plan;
use crate::stage::Stage;
use crate::statistics::midmean;
use crate::transport::rounded;
use crate::wire::{core, extension, no_operation};
use crate::workloads::cursor_of;

use super::HANDLING;
use super::batch::{Batch, Repeated};

/// The sleep: from here on the caches are lost.
const SLEEP: Duration = Duration::from_millis(10);
/// How often each is measured, and in a quick calibration.
const TIMES: usize = 10;
const QUICK: usize = 4;
/// Before that a viewer is sent what it is to see: an update has prices of its own.
const LATER: Duration = Duration::from_millis(30);
/// So often the two of a kind in a stream: what is quick there gets its price from this.
const ON_END: usize = 64;
/// The device that GTK gives a cursor (XI2, the first master pointer).
const POINTER: u16 = 2;
/// Pixels along a cursor's side.
const SIDE: u16 = 16;
/// A letter on an evdev keyboard; a button; types of events (X.h).
const LETTER: u8 = 38;
const BUTTON: u8 = 1;
const KEYS: [u8; 2] = [2, 3];
const BUTTONS: [u8; 2] = [4, 5];
const MOTION: u8 = 6;

/// These requests, and what is usual.
pub(crate) struct FirstUses {
    nothing: Timed,
    /// What a reply costs beside, of a request that is as usual.
    question: Timed,
    usual: Timed,
    /// Those that are answered, and those that are not.
    questions: Vec<Timed>,
    kinds: Vec<Timed>,
    /// What puts everything back.
    after: Vec<u8>,
    bustle: Bustle,
}

/// Requests behind sleeps, each by itself, and what they take in a stream of them all, in microseconds.
struct Timed {
    each: Vec<Batch>,
    all: Repeated,
    cold: Vec<f64>,
    warm: Vec<f64>,
}

impl Timed {
    /// One batch of these requests.
    fn together(requests: &[Vec<u8>], answers: u64) -> Timed {
        let batch = || Batch::once(requests.concat(), requests.len(), answers);
        Timed {
            each: vec![batch()],
            all: Repeated::new(batch()),
            cold: Vec::new(),
            warm: Vec::new(),
        }
    }

    /// Requests that undo each other, each behind a sleep of its own.
    fn apart(requests: &[Vec<u8>]) -> Timed {
        let one = |bytes: &Vec<u8>| Batch::once(bytes.clone(), 1, 0);
        let all = Batch::once(requests.concat(), requests.len(), 0);
        Timed {
            each: requests.iter().map(one).collect(),
            all: Repeated::on_end(all, ON_END),
            ..Timed::together(requests, 0)
        }
    }

    /// Reads it once more: all of it in a stream, and then behind a `pause`.
    fn read(&mut self, server: &mut LiveServer, mut pause: impl FnMut()) -> io::Result<()> {
        self.warm.extend(self.all.streamed(server)?);
        for one in &self.each {
            thread::sleep(LATER);
            self.cold.extend(one.after(server, &mut pause)?);
        }
        thread::sleep(LATER);
        Ok(())
    }

    /// What one batch takes in a stream.
    fn price(&self) -> Option<f64> {
        let warm = midmean(self.warm.iter().copied())?;
        Some(warm / self.each.len() as f64)
    }

    /// What one costs behind a sleep beyond that.
    fn colder(&self) -> Option<f64> {
        Some(midmean(self.cold.iter().copied())? - self.price()?)
    }
}

impl FirstUses {
    /// About how long measuring them takes.
    pub(crate) const LASTS: Duration = Duration::from_secs(12);

    /// Prepares those that `plan` wants.
    pub(crate) fn new(stage: &mut Stage, plan: &Plan) -> Result<FirstUses, MeasureError> {
        let property = stage.atom("X11PROF_TRANSPORT")?;
        let unseen = stage.like_the_screen()?;
        let Motley { silent, answered } = motley(stage, unseen, property)?;
        let answers = answered.len() as u64;
        let usual: Vec<_> = silent.into_iter().chain(answered).collect();
        let mut first = FirstUses {
            nothing: Timed::together(&[no_operation(1)], 0),
            question: Timed::together(&[core(GetInputFocusRequest)], 1),
            usual: Timed::together(&usual, answers),
            questions: Vec::new(),
            kinds: Vec::new(),
            after: Vec::new(),
            bustle: Bustle::new(),
        };
        first.keyboard(stage, plan)?;
        if plan.intrusive {
            first.input(stage, plan)?;
            first.cursors(stage, plan)?;
        }
        Ok(first)
    }

    /// Two requests of which the second undoes what the first does.
    fn add(&mut self, plan: &Plan, name: &str, both: [Vec<u8>; 2]) {
        if plan.wants(name) {
            self.kinds.push(Timed::apart(&both));
        }
    }

    /// What clients ask and say of the keyboard before they send keys.
    fn keyboard(&mut self, stage: &mut Stage, plan: &Plan) -> Result<(), MeasureError> {
        let setup = &stage.raw.setup;
        let mapping = core(GetKeyboardMappingRequest {
            first_keycode: setup.min_keycode,
            count: setup.max_keycode - setup.min_keycode + 1,
        });
        let modifiers = core(GetModifierMappingRequest);
        for (name, question) in [
            ("GetKeyboardMapping", mapping),
            ("GetModifierMapping", modifiers),
        ] {
            if plan.wants(name) {
                self.questions.push(Timed::together(&[question], 1));
            }
        }
        if let Some(major) = stage.extension("XKEYBOARD")? {
            let none = ModMask::from(0_u16);
            let lock = LatchLockStateRequest {
                device_spec: u16::from(ID::USE_CORE_KBD),
                affect_mod_locks: none,
                mod_locks: none,
                lock_group: plan.intrusive,
                group_lock: Group::M1,
                affect_mod_latches: none,
                latch_group: false,
                group_latch: 0,
            };
            let lock = extension(lock, major);
            self.add(plan, "XKEYBOARD:LatchLockState", [lock.clone(), lock]);
        }
        Ok(())
    }

    /// Keys and buttons that nobody has asked for, and the pointer's way there and back.
    fn input(&mut self, stage: &mut Stage, plan: &Plan) -> Result<(), MeasureError> {
        let (window, root) = (stage.window, stage.screen.root);
        let warp = |dst_x| {
            core(WarpPointerRequest {
                src_window: 0,
                dst_window: window,
                src_x: 0,
                src_y: 0,
                src_width: 0,
                src_height: 0,
                dst_x,
                dst_y: 20,
            })
        };
        self.add(plan, "WarpPointer", [warp(30), warp(20)]);
        if let Some(major) = stage.extension("XTEST")? {
            let fake = |type_, detail, root_x| {
                let request = FakeInputRequest {
                    type_,
                    detail,
                    time: 0,
                    root,
                    root_x,
                    root_y: 20,
                    deviceid: 0,
                };
                extension(request, major)
            };
            let name = "XTEST:FakeInput";
            self.add(plan, name, KEYS.map(|type_| fake(type_, LETTER, 0)));
            self.add(plan, name, BUTTONS.map(|type_| fake(type_, BUTTON, 0)));
            self.add(plan, name, [30, 20].map(|x| fake(MOTION, 0, x)));
        }
        Ok(())
    }

    /// Two cursors in turn on the window that the pointer is in. A server that draws them looks from then on
    /// at whether drawing meets one, so that this comes behind all else.
    fn cursors(&mut self, stage: &mut Stage, plan: &Plan) -> Result<(), MeasureError> {
        let window = stage.window;
        let bitmap = stage.pixmap(1, SIDE)?;
        let gc = stage.gc(bitmap, CreateGCAux::new().foreground(1))?;
        let (x, y, width, height) = (0, 0, SIDE, SIDE);
        let whole = Rectangle {
            x,
            y,
            width,
            height,
        };
        stage.send(PolyFillRectangleRequest {
            drawable: bitmap,
            gc,
            rectangles: [whole].as_slice().into(),
        })?;
        let cursors = [stage.id(), stage.id()];
        for cursor in cursors {
            stage.send(cursor_of(cursor, bitmap))?;
        }
        let change = |cursor| {
            let aux = ChangeWindowAttributesAux::new().cursor(cursor);
            core(ChangeWindowAttributesRequest {
                window,
                value_list: std::borrow::Cow::Owned(aux),
            })
        };
        self.add(plan, "ChangeWindowAttributes", cursors.map(change));
        self.after.extend(change(0));
        if let Some(major) = stage.extension("XInputExtension")? {
            let change = |cursor| {
                let request = XIChangeCursorRequest {
                    window,
                    cursor,
                    deviceid: POINTER,
                };
                extension(request, major)
            };
            // A device's own cursor goes before the window's: it is taken back at once.
            let [cursor, _] = cursors;
            let both = [change(cursor), change(0)];
            self.add(plan, "XInputExtension:XIChangeCursor", both);
        }
        Ok(())
    }

    /// Measures them, and writes to the `entries` of a file how many usual first uses theirs are; what has
    /// no entry yet gets one. Nothing where the server's processor time cannot be read.
    pub(crate) fn measure(
        mut self,
        server: &mut LiveServer,
        mirror: &mut Mirror,
        plan: &Plan,
        entries: &mut Vec<RequestCosts>,
    ) -> io::Result<()> {
        let FirstUses {
            nothing,
            question,
            usual,
            questions,
            kinds,
            after,
            bustle,
        } = &mut self;
        if questions.is_empty() && kinds.is_empty() {
            return Ok(());
        }
        for _ in 0..if plan.quick { QUICK } else { TIMES } {
            let mut pause = || {
                bustle.work(HANDLING);
                thread::sleep(SLEEP);
            };
            let known = [&mut *nothing, question, usual];
            let all = known.into_iter().chain(&mut *questions);
            for timed in all.chain(&mut *kinds) {
                timed.read(server, &mut pause)?;
            }
        }
        if !after.is_empty() {
            server.behind(|| {}, after, 1, 0)?;
        }
        let each = usual.all.once.requests as f64;
        let (Some(nothing), Some(question), Some(usual)) =
            (nothing.colder(), question.colder(), usual.colder())
        else {
            return Ok(());
        };
        let usual = (usual - nothing) / each;
        // The question is a first use of its own.
        let questions = questions.iter().map(|kind| (kind, question - usual));
        let all = questions.chain(kinds.iter().map(|kind| (kind, nothing)));
        for (kind, without) in all.filter(|_| usual > 0.0) {
            let operations = mirror.client(&kind.all.once.bytes);
            let (Some(operation), Some(colder), Some(price)) =
                (operations.first(), kind.colder(), kind.price())
            else {
                continue;
            };
            let entry = entry_of(entries, operation, price);
            entry.first_uses = Some(rounded(((colder - without) / usual).max(0.0), 3));
        }
        Ok(())
    }
}

/// The entry of an operation, made where there is none.
fn entry_of<'a>(
    entries: &'a mut Vec<RequestCosts>,
    operation: &Operation,
    price: f64,
) -> &'a mut RequestCosts {
    let (name, attributes) = (operation.request.as_str(), fit::attributes(operation));
    let known = |it: &RequestCosts| it.name == name && it.attributes == attributes;
    let at = entries.iter().position(known).unwrap_or_else(|| {
        let point = Point {
            size: operation.op_size,
            cpu_us: Some(Micros(rounded(price.max(0.0), 4))),
            ..Point::default()
        };
        entries.push(RequestCosts {
            name: name.to_owned(),
            attributes,
            points: vec![point],
            ..RequestCosts::default()
        });
        entries.len() - 1
    });
    &mut entries[at]
}
