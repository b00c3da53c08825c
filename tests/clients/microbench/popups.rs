//! Popups: a menu that is open while the button is held, and a list that stays until the next click.
//! Both grab the pointer, as toolkits do.

use std::error::Error;

use x11rb::protocol::Event;
use x11rb::protocol::xproto::{ConnectionExt as _, EventMask, GrabMode, Window};
use x11rb::{CURRENT_TIME, NONE};

use crate::benchmarks::Bench;
use crate::screen::{LIST, MENU, Place};
use crate::truth::{Handling, now};

/// The height of an item, in pixels.
const ITEM: i16 = 20;

impl Bench {
    /// Opens a menu; releasing the button over an item selects the item.
    pub(crate) fn menu(&mut self, begin: u64) -> Result<(), Box<dyn Error>> {
        let popup = self.pops_up(begin, MENU)?;
        self.until(
            popup,
            |event| matches!(event, Event::ButtonRelease(release) if release.event_y >= 0),
        )
    }

    /// Opens a list; a press over an item selects the item.
    pub(crate) fn combo_box(&mut self, begin: u64) -> Result<(), Box<dyn Error>> {
        let popup = self.pops_up(begin, LIST)?;
        self.until(popup, |event| matches!(event, Event::ButtonPress(_)))
    }

    fn pops_up(&mut self, begin: u64, place: Place) -> Result<Window, Box<dyn Error>> {
        let handling = Handling::of("pop-up", begin);
        let popup = self.screen.window(None, place, true, EventMask::EXPOSURE)?;
        let wants = EventMask::POINTER_MOTION | EventMask::BUTTON_PRESS | EventMask::BUTTON_RELEASE;
        self.screen
            .x
            .grab_pointer(
                false,
                popup,
                wants,
                GrabMode::ASYNC,
                GrabMode::ASYNC,
                NONE,
                NONE,
                CURRENT_TIME,
            )?
            .reply()?;
        self.ends(&handling)?;
        Ok(popup)
    }

    /// Tracks the pointer over the items until one is selected, and handles the selection.
    fn until(
        &mut self,
        popup: Window,
        selects: impl Fn(&Event) -> bool,
    ) -> Result<(), Box<dyn Error>> {
        loop {
            let event = self.screen.next(None)?;
            let begin = now();
            match event {
                Some(Event::Expose(expose)) => self.paints(begin, expose.window)?,
                Some(Event::MotionNotify(motion)) if motion.event_y >= 0 => {
                    let handling = Handling::of("highlight", begin);
                    self.screen.item(popup, motion.event_y / ITEM)?;
                    self.ends(&handling)?;
                }
                Some(event) if selects(&event) => {
                    let mut handling = Handling::of("select", begin);
                    self.screen.x.ungrab_pointer(CURRENT_TIME)?;
                    self.screen.x.destroy_window(popup)?;
                    self.spends(&mut handling)?;
                    self.screen.item(self.frame, 2)?;
                    return self.ends(&handling);
                }
                _ => {}
            }
        }
    }
}
