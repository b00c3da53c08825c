//! Draws, creates resources and makes round trips in functions of known names, over its own x11rb connection. Each
//! function flushes its requests. A separate thread, started after the connection, clears.

use std::error::Error;
use std::hint::black_box;
use std::thread;

use x11rb::connection::Connection;
use x11rb::protocol::xproto::{
    ConnectionExt as _, CreateGCAux, CreateWindowAux, Gcontext, Window, WindowClass,
};
use x11rb::rust_connection::RustConnection;

const SIZE: u16 = 400;

struct Picture {
    x: RustConnection,
    window: Window,
    gc: Gcontext,
}

type Drawn = Result<(), Box<dyn Error + Send + Sync>>;

impl Picture {
    #[inline(never)]
    fn clear_areas(&self, count: u32) -> Drawn {
        for _ in 0..count {
            self.x.clear_area(false, self.window, 0, 0, SIZE, SIZE)?;
        }
        self.x.flush()?;
        Ok(())
    }

    #[inline(never)]
    fn copy_areas(&self, count: u32) -> Drawn {
        let (from, gc) = (self.window, self.gc);
        for _ in 0..count {
            self.x.copy_area(from, from, gc, 0, 0, 5, 5, SIZE, SIZE)?;
        }
        self.x.flush()?;
        Ok(())
    }

    #[inline(never)]
    fn leak_pixmaps(&self, count: u32) -> Drawn {
        for _ in 0..count {
            let id = self.x.generate_id()?;
            self.x.create_pixmap(24, id, self.window, 8, 8)?;
        }
        self.x.flush()?;
        Ok(())
    }

    #[inline(never)]
    fn ask_for_atoms(&self, count: u32) -> Drawn {
        for name in 0..count {
            let name = format!("AN_ATOM_OF_FLUSHER_{name}");
            self.x.intern_atom(false, name.as_bytes())?.reply()?;
        }
        Ok(())
    }

    /// Recursive, so that the same requests are made at several stack depths.
    #[inline(never)]
    fn draw_again(&self, depth: u32) -> Drawn {
        self.clear_areas(100)?;
        if black_box(depth) > 1 {
            self.draw_again(depth - 1)?;
        }
        self.copy_areas(1)
    }
}

fn main() -> Drawn {
    let (x, screen) = RustConnection::connect(None)?;
    let root = x.setup().roots[screen].root;
    let (window, gc) = (x.generate_id()?, x.generate_id()?);
    let (class, looks) = (WindowClass::INPUT_OUTPUT, CreateWindowAux::new());
    x.create_window(0, window, root, 0, 0, SIZE, SIZE, 0, class, 0, &looks)?;
    x.create_gc(gc, window, &CreateGCAux::new())?;
    x.map_window(window)?;
    x.get_input_focus()?.reply()?;
    let picture = Picture { x, window, gc };
    thread::scope(|scope| scope.spawn(|| picture.draw_again(3)).join())
        .map_err(|_| "the thread failed")??;
    picture.copy_areas(197)?;
    picture.leak_pixmaps(7)?;
    picture.ask_for_atoms(5)?;
    picture.x.get_input_focus()?.reply()?;
    Ok(())
}
