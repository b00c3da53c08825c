//! A client with a 15 ms timer that ignores keys and draws once in two seconds.
#![allow(clippy::print_stdout, reason = "a program for tests")]

use std::error::Error;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use x11rb::connection::Connection;
use x11rb::protocol::xproto::{
    ConnectionExt as _, CreateGCAux, CreateWindowAux, EventMask, Rectangle, WindowClass,
};

fn main() -> Result<(), Box<dyn Error>> {
    let (x, number) = x11rb::connect(None)?;
    let root = x.setup().roots.get(number).ok_or("no such screen")?.root;
    let (window, gc) = (x.generate_id()?, x.generate_id()?);
    let wants = CreateWindowAux::new()
        .background_pixel(0x30_60a0)
        .event_mask(EventMask::KEY_PRESS | EventMask::KEY_RELEASE);
    let class = WindowClass::INPUT_OUTPUT;
    x.create_window(0, window, root, 0, 0, 400, 300, 0, class, 0, &wants)?;
    x.create_gc(gc, window, &CreateGCAux::new().foreground(0xe0_c040))?;
    x.map_window(window)?;
    x.get_input_focus()?.reply()?;
    println!("ready 0x{window:x}");
    let mut drawn = Instant::now();
    let tick = Timespec::try_from(Duration::from_millis(15))?;
    loop {
        poll(
            &mut [PollFd::new(&x.stream().as_fd(), PollFlags::IN)],
            Some(&tick),
        )?;
        while x.poll_for_event()?.is_some() {}
        if drawn.elapsed() > Duration::from_secs(2) {
            drawn = Instant::now();
            let item = Rectangle {
                x: 10,
                y: 10,
                width: 50,
                height: 50,
            };
            x.poly_fill_rectangle(window, gc, &[item])?;
            x.flush()?;
        }
    }
}
