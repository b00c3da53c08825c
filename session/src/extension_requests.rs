//! The effects of extensions' requests on the state of a session.

use x11prof_protocol::Body;
use x11rb_protocol::protocol::{composite, damage, dri3, shm, xfixes};

use crate::extension_kind::ExtensionKind;
use crate::ids::By;
use crate::state::State;
use crate::windows::drawables::Pixmap;

impl State {
    /// Applies an extension's request to the state. Returns the id of the resource that the request creates; `None` if
    /// it creates none.
    pub(crate) fn extension(
        &mut self,
        by: By,
        extension: ExtensionKind,
        minor: u8,
        body: &Body<'_>,
    ) -> Option<u32> {
        match extension {
            ExtensionKind::Render => self.render.apply(by, minor, body, &self.drawables),
            ExtensionKind::Xfixes => self.fixes(by, minor, body),
            ExtensionKind::Shm if minor == shm::CREATE_PIXMAP_REQUEST => {
                self.pixmap(by, body, 8, body.u8(12))
            }
            ExtensionKind::Dri3 => self.buffers(by, minor, body),
            ExtensionKind::Composite if minor == composite::NAME_WINDOW_PIXMAP_REQUEST => {
                let (window, id) = (body.u32(0)?, body.u32(4)?);
                self.drawables.name_window_pixmap(by, window, id)
            }
            ExtensionKind::Damage if minor == damage::SUBTRACT_REQUEST => {
                // The damage is added to the `parts` region, which becomes unknown.
                self.regions.doubt(body.u32(8)?, by);
                None
            }
            _ => None,
        }
    }

    /// Adds the pixmap that a DRI3 request creates from buffers of the graphics card. `minor` is the request's minor
    /// opcode. Returns the id of the pixmap.
    fn buffers(&mut self, by: By, minor: u8, body: &Body<'_>) -> Option<u32> {
        match minor {
            dri3::PIXMAP_FROM_BUFFER_REQUEST => self.pixmap(by, body, 12, body.u8(18)),
            dri3::PIXMAP_FROM_BUFFERS_REQUEST => self.pixmap(by, body, 12, body.u8(48)),
            _ => None,
        }
    }

    /// Adds a pixmap whose pixels are in memory shared with the client. The pixmap's id is the first field of `body`;
    /// its width and height are at the offset `size`. Returns the id.
    fn pixmap(&mut self, by: By, body: &Body<'_>, size: usize, depth: Option<u8>) -> Option<u32> {
        let (id, width, height) = (body.u32(0)?, body.u16(size)?, body.u16(size + 2)?);
        self.drawables.add_pixmap(
            id,
            Pixmap {
                width,
                height,
                depth,
                shared: true,
                by,
            },
        )
    }

    fn fixes(&mut self, by: By, minor: u8, body: &Body<'_>) -> Option<u32> {
        match minor {
            xfixes::SET_GC_CLIP_REGION_REQUEST => {
                let region = self.regions.as_clip(body.u32(4)?);
                let origin = (body.u16(8)?, body.u16(10)?);
                self.gcs.set_clip_region(body.u32(0)?, region, origin);
                None
            }
            xfixes::SET_PICTURE_CLIP_REGION_REQUEST => {
                let region = self.regions.as_clip(body.u32(4)?);
                let origin = (body.i16(8)?, body.i16(10)?);
                let pictures = &mut self.render.pictures;
                pictures.set_clip_region(body.u32(0)?, region, origin);
                None
            }
            xfixes::CHANGE_SAVE_SET_REQUEST => {
                self.clients
                    .change_save_set(by.client, body.u8(0)? == 0, body.u32(4)?);
                None
            }
            // Barriers are not tracked.
            xfixes::CREATE_POINTER_BARRIER_REQUEST | xfixes::DELETE_POINTER_BARRIER_REQUEST => None,
            _ => self.regions.apply(by, minor, body),
        }
    }
}
