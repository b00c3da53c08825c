//! The requests whose first uses are measured: input and cursors, and clients' keyboard requests before they send keys.

use std::borrow::Cow;

use x11rb_protocol::protocol::xinput::XIChangeCursorRequest;
use x11rb_protocol::protocol::xproto::{
    ChangeWindowAttributesAux, ChangeWindowAttributesRequest, CreateGCAux,
    GetModifierMappingRequest, PolyFillRectangleRequest, Rectangle,
};

use crate::error::MeasureError;
use crate::plan::Plan;
use crate::server::client::Client;
use crate::server::wire::{core, extension};
use crate::workloads::{
    MOTION, POINTER, cursor_of, fake_input, keyboard_mapping, same_locks, warp,
};

/// Pixels along a cursor's side.
const SIDE: u16 = 16;
/// A place in the window, which is the screen's upper left.
const PLACE: i16 = 20;
/// A letter on an evdev keyboard; a button; types of events (X.h).
const LETTER: u8 = 38;
const BUTTON: u8 = 1;
const KEYS: [u8; 2] = [2, 3];
const BUTTONS: [u8; 2] = [4, 5];

/// Requests as bytes.
#[derive(Default)]
pub(super) struct FirstUseRequests {
    /// The request that prepares the server, if any.
    pub(super) before: Option<Vec<u8>>,
    /// Requests with answers.
    pub(super) questions: Vec<Vec<u8>>,
    /// Two requests of a kind, of which the second undoes the first.
    pub(super) pairs: Vec<[Vec<u8>; 2]>,
    /// The request that restores the server, if any.
    pub(super) after: Option<Vec<u8>>,
}

impl FirstUseRequests {
    /// The requests that `plan` wants, and that do not disturb other clients of the display.
    pub(super) fn new(client: &mut Client, plan: &Plan) -> Result<FirstUseRequests, MeasureError> {
        let mut requests = FirstUseRequests::default();
        requests.keyboard(client, plan)?;
        if plan.intrusive {
            requests.input(client, plan)?;
            requests.cursors(client, plan)?;
        }
        Ok(requests)
    }

    fn add(&mut self, plan: &Plan, name: &str, both: [Vec<u8>; 2]) {
        if plan.wants(name) {
            self.pairs.push(both);
        }
    }

    fn keyboard(&mut self, client: &mut Client, plan: &Plan) -> Result<(), MeasureError> {
        let mapping = core(keyboard_mapping(client));
        let modifiers = core(GetModifierMappingRequest);
        for (name, question) in [
            ("GetKeyboardMapping", mapping),
            ("GetModifierMapping", modifiers),
        ] {
            if plan.wants(name) {
                self.questions.push(question);
            }
        }
        if let Some(major) = client.extension("XKEYBOARD")? {
            let lock = extension(same_locks(plan), major);
            self.add(plan, "XKEYBOARD:LatchLockState", [lock.clone(), lock]);
        }
        Ok(())
    }

    /// Keys and buttons that nobody has asked for, and the pointer's way there and back.
    fn input(&mut self, client: &mut Client, plan: &Plan) -> Result<(), MeasureError> {
        let warp = |x| core(warp(client.window, (x, PLACE)));
        self.add(plan, "WarpPointer", [warp(30), warp(20)]);
        let root = client.screen.root;
        if let Some(major) = client.extension("XTEST")? {
            let fake = |type_, detail, x| {
                let request = fake_input(root, type_, detail, (x, PLACE));
                extension(request, major)
            };
            let name = "XTEST:FakeInput";
            self.add(plan, name, KEYS.map(|type_| fake(type_, LETTER, 0)));
            self.add(plan, name, BUTTONS.map(|type_| fake(type_, BUTTON, 0)));
            self.add(plan, name, [30, 20].map(|x| fake(MOTION, 0, x)));
        }
        Ok(())
    }

    /// Two cursors in turn on the window with the pointer. A server that draws them checks from then on if drawing
    /// meets one, so this comes last.
    fn cursors(&mut self, client: &mut Client, plan: &Plan) -> Result<(), MeasureError> {
        let window = client.window;
        self.before = Some(core(warp(window, (PLACE, PLACE))));
        let cursors = [cursor(client)?, cursor(client)?];
        let change = |cursor| {
            let value_list = ChangeWindowAttributesAux::new().cursor(cursor);
            core(ChangeWindowAttributesRequest {
                window,
                value_list: Cow::Owned(value_list),
            })
        };
        self.add(plan, "ChangeWindowAttributes", cursors.map(change));
        self.after = Some(change(0));
        if let Some(major) = client.extension("XInputExtension")? {
            let change = |cursor| {
                let request = XIChangeCursorRequest {
                    window,
                    cursor,
                    deviceid: POINTER,
                };
                extension(request, major)
            };
            // A device's own cursor has precedence over the window's: it is removed at once.
            let [cursor, _] = cursors;
            let both = [change(cursor), change(0)];
            self.add(plan, "XInputExtension:XIChangeCursor", both);
        }
        Ok(())
    }
}

/// A cursor that is a black square.
fn cursor(client: &mut Client) -> Result<u32, MeasureError> {
    let bitmap = client.pixmap(1, SIDE)?;
    let gc = client.gc(bitmap, CreateGCAux::new().foreground(1))?;
    let whole = Rectangle {
        x: 0,
        y: 0,
        width: SIDE,
        height: SIDE,
    };
    client.send(PolyFillRectangleRequest {
        drawable: bitmap,
        gc,
        rectangles: [whole].as_slice().into(),
    })?;
    let cursor = client.id();
    client.send(cursor_of(cursor, bitmap))?;
    Ok(cursor)
}
