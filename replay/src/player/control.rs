//! The player's own connection: it asks for names, makes input, and looks at the screen.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;

use x11prof_protocol::{Extension, Extensions, Symbol};
use x11rb::connection::Connection as _;
use x11rb::protocol::render::{ConnectionExt as _, Pictforminfo};
use x11rb::protocol::xproto::{ConnectionExt as _, ImageFormat, Screen};
use x11rb::protocol::xtest::ConnectionExt as _;
use x11rb::rust_connection::RustConnection;

use crate::ReplayError;
use crate::script::Input;

/// The connection.
pub(super) struct Control {
    x: RustConnection,
    screen: usize,
    pointer: Option<(i16, i16)>,
}

fn lost(error: impl Display) -> ReplayError {
    ReplayError::display("the display")(&error)
}

impl Control {
    pub(super) fn open() -> Result<Control, ReplayError> {
        let (x, screen) = x11rb::connect(None).map_err(lost)?;
        Ok(Control {
            x,
            screen,
            pointer: None,
        })
    }

    pub(super) fn screen(&self) -> &Screen {
        &self.x.setup().roots[self.screen]
    }

    /// The display's extensions among those of the recording.
    pub(super) fn extensions(&self, recorded: &Extensions) -> Result<Extensions, ReplayError> {
        let asked: Result<Vec<_>, _> = recorded
            .iter()
            .map(|one| {
                Ok((
                    one.name,
                    self.x.query_extension(one.name.as_str().as_bytes())?,
                ))
            })
            .collect();
        let mut here = Extensions::new();
        for (name, cookie) in asked.map_err(|error: x11rb::errors::ConnectionError| lost(error))? {
            let reply = cookie.reply().map_err(lost)?;
            if reply.present {
                here.insert(Extension {
                    name: Symbol::new(name.as_str()),
                    major: reply.major_opcode,
                    first_event: reply.first_event,
                    first_error: reply.first_error,
                });
            }
        }
        Ok(here)
    }

    /// The display's atoms of the recorded names, by recorded atom.
    pub(super) fn atoms(
        &self,
        recorded: &BTreeMap<u32, Vec<u8>>,
    ) -> Result<Vec<(u32, u32)>, ReplayError> {
        let mut cookies = Vec::with_capacity(recorded.len());
        for (atom, name) in recorded {
            cookies.push((*atom, self.x.intern_atom(false, name).map_err(lost)?));
        }
        let answers = cookies.into_iter();
        answers
            .map(|(atom, cookie)| Ok((atom, cookie.reply().map_err(lost)?.atom)))
            .collect()
    }

    /// RENDER's picture formats.
    pub(super) fn formats(&self) -> Result<Vec<Pictforminfo>, ReplayError> {
        let cookie = self.x.render_query_pict_formats().map_err(lost)?;
        Ok(cookie.reply().map_err(lost)?.formats)
    }

    /// Gives the display an input, with a motion before it if the pointer is elsewhere.
    pub(super) fn input(&mut self, input: Input) -> Result<(), ReplayError> {
        const MOTION: u8 = 6;
        let root = self.screen().root;
        let (x, y) = input.at;
        let fake = |kind, detail| {
            let cookie = self.x.xtest_fake_input(kind, detail, 0, root, x, y, 0);
            cookie.map(|_| ()).map_err(lost)
        };
        if self.pointer != Some(input.at) {
            fake(MOTION, 0)?;
        }
        if input.kind != MOTION {
            fake(input.kind, input.detail)?;
        }
        self.pointer = Some(input.at);
        self.x.flush().map_err(lost)
    }

    /// Writes the screen as a picture (PPM; its pixels have eight bits of red, green and blue).
    pub(super) fn picture(&self, file: &Path) -> Result<(), ReplayError> {
        let screen = self.screen();
        let (width, height) = (screen.width_in_pixels, screen.height_in_pixels);
        let (root, all) = (screen.root, u32::MAX);
        let cookie = self
            .x
            .get_image(ImageFormat::Z_PIXMAP, root, 0, 0, width, height, all);
        let image = cookie.map_err(lost)?.reply().map_err(lost)?;
        let mut picture = format!("P6\n{width} {height}\n255\n").into_bytes();
        match image.depth {
            24.. => {
                for pixel in image.data.chunks_exact(4) {
                    picture.extend([pixel[2], pixel[1], pixel[0]]);
                }
            }
            // The pixels themselves: colours are the colormap's.
            _ => image
                .data
                .iter()
                .for_each(|pixel| picture.extend([*pixel; 3])),
        }
        std::fs::write(file, picture).map_err(ReplayError::Picture)
    }
}
