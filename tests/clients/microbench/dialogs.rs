//! Dialogs: a non-modal one, a modal one with its own event loop, and one with several widgets that is controlled
//! by the keyboard.

use std::error::Error;

use x11rb::protocol::Event;
use x11rb::protocol::xproto::{ConnectionExt as _, EventMask, Window};

use crate::benchmarks::Bench;
use crate::screen::{Place, SECOND};
use crate::truth::{Handling, now};

/// Tab and Return of the keyboards that X servers have by default (evdev).
const TAB: u8 = 23;
const RETURN: u8 = 36;

/// The dialog's widgets: two buttons and a field.
const WIDGETS: [Place; 3] = [
    Place {
        x: 20,
        y: 150,
        width: 100,
        height: 30,
    },
    Place {
        x: 140,
        y: 150,
        width: 100,
        height: 30,
    },
    Place {
        x: 20,
        y: 30,
        width: 220,
        height: 60,
    },
];

impl Bench {
    /// A press in the frame opens the dialog, and a press in the dialog closes it; a single event loop handles
    /// both.
    pub(crate) fn non_modal(&mut self, begin: u64, place: Window) -> Result<(), Box<dyn Error>> {
        if place == self.frame {
            return self.opens(begin, EventMask::BUTTON_PRESS).map(|_| ());
        }
        self.closes(begin, place)
    }

    /// The handler of the press that opens the dialog returns when the dialog is closed.
    pub(crate) fn modal(&mut self, begin: u64) -> Result<(), Box<dyn Error>> {
        let dialog = self.opens(begin, EventMask::BUTTON_PRESS)?;
        while !self.is_done() {
            let event = self.screen.next(None)?;
            let begin = now();
            match event {
                Some(Event::Expose(expose)) => self.paints(begin, expose.window)?,
                Some(Event::ButtonPress(press)) if press.event == dialog => {
                    return self.closes(begin, dialog);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A dialog with widgets; Tab moves the focus, Return closes the dialog.
    pub(crate) fn built_in(&mut self, begin: u64) -> Result<(), Box<dyn Error>> {
        let dialog = self.opens(begin, EventMask::KEY_PRESS)?;
        let mut widgets = Vec::new();
        for place in WIDGETS {
            let parent = Some(dialog);
            let window = self
                .screen
                .window(parent, place, false, EventMask::EXPOSURE)?;
            widgets.push(window);
        }
        let mut focus = widgets.iter().cycle();
        while !self.is_done() {
            let event = self.screen.next(None)?;
            let begin = now();
            match event {
                Some(Event::Expose(expose)) => self.paints(begin, expose.window)?,
                Some(Event::KeyPress(press)) if press.detail == TAB => {
                    let handling = Handling::of("focus", begin);
                    if let Some(widget) = focus.next() {
                        self.screen.item(*widget, 0)?;
                    }
                    self.ends(&handling)?;
                }
                Some(Event::KeyPress(press)) if press.detail == RETURN => {
                    return self.closes(begin, dialog);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn opens(&mut self, begin: u64, wants: EventMask) -> Result<Window, Box<dyn Error>> {
        let mut handling = Handling::of("open", begin);
        self.spends(&mut handling)?;
        let wants = wants | EventMask::EXPOSURE;
        let dialog = self.screen.window(None, SECOND, false, wants)?;
        self.ends(&handling)?;
        Ok(dialog)
    }

    fn closes(&mut self, begin: u64, dialog: Window) -> Result<(), Box<dyn Error>> {
        let mut handling = Handling::of("close", begin);
        self.spends(&mut handling)?;
        self.screen.x.destroy_window(dialog)?;
        self.screen.item(self.frame, 2)?;
        self.ends(&handling)
    }
}
