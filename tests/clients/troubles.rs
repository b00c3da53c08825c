//! Programs that cause problems on a desktop, for a minute at most: `troubles poll [TIMES] | grab | leak | hog |
//! redraw [SIDE]`.
#![allow(clippy::print_stdout, reason = "a program for tests")]

use std::error::Error;
use std::thread::sleep;
use std::time::{Duration, Instant};

use x11rb::connection::Connection;
use x11rb::protocol::xproto::{
    Arc, ConnectionExt as _, CreateGCAux, CreateWindowAux, EventMask, ImageFormat, LineStyle,
    WindowClass,
};
use x11rb::rust_connection::RustConnection;
use x11rb::wrapper::ConnectionExt as _;

/// Default side of the redrawn picture, and side of the leaked pixmaps, in pixels.
const SIDE: u16 = 100;
/// Number of circles in one request: at least a tenth of a second of server work.
const CIRCLES: u16 = 400;

fn main() -> Result<(), Box<dyn Error>> {
    let what = std::env::args().nth(1).unwrap_or_default();
    let number = std::env::args().nth(2);
    let number: Option<u16> = number.map(|number| number.parse()).transpose()?;
    let (side, mut times) = (number.unwrap_or(SIDE), number.unwrap_or(u16::MAX));
    let (x, screen) = x11rb::connect(None)?;
    let screen = x.setup().roots.get(screen).ok_or("no such screen")?;
    let (root, depth) = (screen.root, screen.root_depth);
    let window = x.generate_id()?;
    let wants = CreateWindowAux::new().event_mask(EventMask::EXPOSURE);
    let class = WindowClass::INPUT_OUTPUT;
    x.create_window(0, window, root, 0, 0, 400, 300, 0, class, 0, &wants)?;
    x.map_window(window)?;
    let gc = x.generate_id()?;
    x.create_gc(gc, window, &CreateGCAux::new())?;
    x.sync()?;
    println!("ready");
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(60) && times > 0 {
        match what.as_str() {
            "poll" => {
                x.query_pointer(root)?.reply()?;
                times -= 1;
                sleep(Duration::from_millis(15));
            }
            "grab" => {
                x.grab_server()?;
                x.sync()?;
                sleep(Duration::from_millis(300));
                x.ungrab_server()?;
                x.sync()?;
                sleep(Duration::from_millis(700));
            }
            "leak" => {
                x.create_pixmap(depth, x.generate_id()?, window, SIDE, SIDE)?;
                x.flush()?;
                // Rare enough to use less server time than redrawing, on a busy machine too.
                sleep(Duration::from_millis(40));
            }
            "hog" => {
                hog(&x, window)?;
                sleep(Duration::from_millis(300));
            }
            "redraw" => redraw(&x, window, gc, depth, side)?,
            _ => return Err("which trouble?".into()),
        }
        while x.poll_for_event()?.is_some() {}
    }
    Ok(())
}

/// Draws wide dashed circles in one expensive request and waits for the server.
fn hog(x: &RustConnection, window: u32) -> Result<(), Box<dyn Error>> {
    let gc = x.generate_id()?;
    let dashed = CreateGCAux::new()
        .line_width(40)
        .line_style(LineStyle::DOUBLE_DASH);
    x.create_gc(gc, window, &dashed)?;
    let circle = |n: u16| Arc {
        x: 10,
        y: 10,
        width: 250 + n,
        height: 200,
        angle1: 0,
        angle2: 360 * 64,
    };
    let circles: Vec<Arc> = (0..CIRCLES).map(circle).collect();
    x.poly_arc(window, gc, &circles)?;
    x.free_gc(gc)?;
    x.sync()?;
    Ok(())
}

/// Draws the same picture repeatedly, with pauses in which other clients are served.
fn redraw(
    x: &RustConnection,
    window: u32,
    gc: u32,
    depth: u8,
    side: u16,
) -> Result<(), Box<dyn Error>> {
    let picture = vec![0x55; usize::from(side) * usize::from(side) * 4];
    for _ in 0..10 {
        let to = ImageFormat::Z_PIXMAP;
        x.put_image(to, window, gc, side, side, 0, 0, 0, depth, &picture)?;
    }
    x.flush()?;
    sleep(Duration::from_millis(5));
    Ok(())
}
