//! A program that draws through MIT-SHM as a video player or a toolkit does: it paints a picture in memory that the
//! server shares, puts the picture on its window, and paints the next one in a second picture until the server
//! reports completion of the first. If the server does not support shared memory, the program sends the pictures.
//!
//!     shm_painter FRAMES
#![allow(clippy::print_stderr, reason = "a program for tests")]

use std::error::Error;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::process::ExitCode;

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use x11rb::connection::{Connection, RequestConnection};
use x11rb::protocol::Event;
use x11rb::protocol::shm::{self, ConnectionExt as _, Seg};
use x11rb::protocol::xproto::{
    ConnectionExt as _, CreateGCAux, CreateWindowAux, EventMask, ImageFormat, WindowClass,
};
use x11rb::rust_connection::RustConnection;

const WIDTH: u16 = 480;
const HEIGHT: u16 = 360;
/// Pictures: one is shown while the other is painted.
const PICTURES: usize = 2;

fn main() -> ExitCode {
    let frames = std::env::args().nth(1).and_then(|word| word.parse().ok());
    match paint(frames.unwrap_or(100)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("shm_painter: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Memory that the server shares.
struct Picture {
    memory: File,
    segment: Seg,
}

impl Picture {
    fn new(connection: &RustConnection, bytes: u64) -> Result<Picture, Box<dyn Error>> {
        let memory = memfd_create("shm_painter", MemfdFlags::CLOEXEC)?;
        ftruncate(&memory, bytes)?;
        let segment = connection.generate_id()?;
        let servers: OwnedFd = memory.try_clone()?;
        connection.shm_attach_fd(segment, servers, false)?.check()?;
        Ok(Picture {
            memory: memory.into(),
            segment,
        })
    }
}

fn paint(frames: u32) -> Result<(), Box<dyn Error>> {
    let (connection, screen) = x11rb::connect(None)?;
    let screen = connection
        .setup()
        .roots
        .get(screen)
        .ok_or("the server has no such screen")?;
    let depth = screen.root_depth;
    let formats = &connection.setup().pixmap_formats;
    let format = formats.iter().find(|format| format.depth == depth);
    let format = format.ok_or("the root's depth has no format")?;
    let bits = usize::from(WIDTH) * usize::from(format.bits_per_pixel);
    let line = bits.next_multiple_of(usize::from(format.scanline_pad)) / 8;
    let bytes = line * usize::from(HEIGHT);
    let shares = connection.extension_information(shm::X11_EXTENSION_NAME)?;
    let shares = shares.is_some();

    let (window, gc) = (connection.generate_id()?, connection.generate_id()?);
    let seen = CreateWindowAux::new().event_mask(EventMask::EXPOSURE);
    connection.create_window(
        depth,
        window,
        screen.root,
        50,
        50,
        WIDTH,
        HEIGHT,
        0,
        WindowClass::INPUT_OUTPUT,
        screen.root_visual,
        &seen,
    )?;
    connection.create_gc(gc, window, &CreateGCAux::new().graphics_exposures(0))?;
    connection.map_window(window)?;
    connection.flush()?;
    while !matches!(connection.wait_for_event()?, Event::Expose(_)) {}

    let kept = if shares { PICTURES } else { 0 };
    let pictures = (0..kept)
        .map(|_| Picture::new(&connection, bytes as u64))
        .collect::<Result<Vec<_>, _>>()?;
    let mut pixels = vec![0_u8; bytes];
    for frame in 0..frames {
        if shares && frame as usize >= PICTURES {
            while !matches!(connection.wait_for_event()?, Event::ShmCompletion(_)) {}
        }
        // Moving bands, so that each frame differs.
        for (y, row) in pixels.chunks_exact_mut(line).enumerate() {
            row.fill((y as u32 + frame * 3) as u8);
        }
        let Some(picture) = pictures.get(frame as usize % PICTURES) else {
            let format = ImageFormat::Z_PIXMAP;
            connection.put_image(format, window, gc, WIDTH, HEIGHT, 0, 0, 0, depth, &pixels)?;
            continue;
        };
        picture.memory.write_all_at(&pixels, 0)?;
        connection.shm_put_image(
            window,
            gc,
            WIDTH,
            HEIGHT,
            0,
            0,
            WIDTH,
            HEIGHT,
            0,
            0,
            depth,
            ImageFormat::Z_PIXMAP.into(),
            true,
            picture.segment,
            0,
        )?;
        connection.flush()?;
    }
    connection.get_input_focus()?.reply()?;
    Ok(())
}
