//! Graphics contexts: their components, and the requests that create and change them.

use x11prof_protocol::{Body, Symbol};

use crate::geometry::clip::Point;
use crate::geometry::region::Region;
use crate::geometry::target::Clip;
use crate::ids::{By, IdMap, Made};
use crate::resources::fonts::Fonts;
use crate::windows::drawables::Drawables;

/// A component of a GC. The components are in the order of the bits of CreateGC's value mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the protocol's own names of the components")]
pub enum Component {
    Function,
    PlaneMask,
    Foreground,
    Background,
    LineWidth,
    LineStyle,
    CapStyle,
    JoinStyle,
    FillStyle,
    FillRule,
    Tile,
    Stipple,
    TileStippleXOrigin,
    TileStippleYOrigin,
    Font,
    SubwindowMode,
    GraphicsExposures,
    ClipXOrigin,
    ClipYOrigin,
    ClipMask,
    DashOffset,
    Dashes,
    ArcMode,
}

impl Component {
    fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// The number of components of a GC.
const COMPONENTS: usize = 23;
/// A value mask with the bits of all components.
const ALL: u32 = (1 << COMPONENTS) - 1;

/// The value of each component in a new GC (protocol, CreateGC): GXcopy, all planes,
/// foreground 0, background 1, and so on.
const DEFAULTS: [u32; COMPONENTS] = [
    3, !0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 4, 1,
];

/// The components whose default values are unknown to a session. The default tile is a pixmap of unspecified size
/// filled with the foreground, the default stipple is filled with ones, and the default font depends on the server.
const WITHOUT_DEFAULT: u32 = (1 << Component::Tile as u32)
    | (1 << Component::Stipple as u32)
    | (1 << Component::Font as u32);

/// The width of each component's value in bits. The rest of its 32-bit unit on the wire is unused.
const WIDTHS: [u32; COMPONENTS] = [
    8, 32, 32, 32, 16, 8, 8, 8, 8, 8, 32, 32, 16, 16, 32, 8, 8, 16, 16, 32, 16, 8, 8,
];

/// A graphics context, with the components that its client's requests set.
#[derive(Debug, Clone, PartialEq)]
pub struct Gc {
    values: [u32; COMPONENTS],
    known: u32,
    font_name: Option<Symbol>,
    clip: Clip,
    pub(crate) by: By,
}

impl Gc {
    fn new(by: By) -> Gc {
        Gc {
            values: DEFAULTS,
            known: ALL & !WITHOUT_DEFAULT,
            font_name: None,
            clip: Clip::None,
            by,
        }
    }

    /// The value of a component. `None` if it is unknown, or is a list (the dashes after SetDashes, the
    /// clip mask after SetClipRectangles).
    pub fn get(&self, component: Component) -> Option<u32> {
        let value = self.values.get(component as usize)?;
        (self.known & component.bit() != 0).then_some(*value)
    }

    /// The name with which the GC's font was opened; `None` for the server's default font, or if unknown.
    pub fn font_name(&self) -> Option<Symbol> {
        self.font_name
    }

    /// The clip of the GC, and the clip's origin in the drawable.
    #[inline]
    pub(crate) fn clip(&self) -> (&Clip, Point) {
        let at = |component| {
            let value = self.get(component).unwrap_or(0) as u16;
            i32::from(value.cast_signed())
        };
        match &self.clip {
            Clip::Region(_) => (
                &self.clip,
                (at(Component::ClipXOrigin), at(Component::ClipYOrigin)),
            ),
            clip => (clip, (0, 0)),
        }
    }

    /// Sets the font of the GC to the font of a text item (protocol, PolyText8).
    pub(crate) fn set_font(&mut self, font: u32, fonts: &Fonts) {
        self.set(Component::Font as usize, Some(font));
        // The name is stored now, because the GC keeps its font when the id is closed.
        self.font_name = fonts.name(font);
    }

    fn set(&mut self, component: usize, value: Option<u32>) {
        let (Some(slot), Some(width)) = (self.values.get_mut(component), WIDTHS.get(component))
        else {
            return;
        };
        match value {
            Some(value) => {
                *slot = value & (u32::MAX >> (32 - width));
                self.known |= 1 << component;
            }
            None => self.known &= !(1 << component),
        }
    }

    /// Sets the components in `mask` to the values of the value list at the offset `at` of `body`. Values that are cut
    /// off become unknown.
    fn change(&mut self, body: &Body<'_>, mask: u32, at: usize, known: &Known<'_>) {
        let mut rest = mask & ALL;
        while rest != 0 {
            let component = rest.trailing_zeros();
            rest &= rest - 1;
            self.set(component as usize, body.value(at, mask, 1 << component));
        }
        if mask & Component::Font.bit() != 0 {
            self.font_name = self
                .get(Component::Font)
                .and_then(|font| known.fonts.name(font));
        }
        if mask & Component::ClipMask.bit() != 0 {
            self.clip = match self.get(Component::ClipMask) {
                Some(0) => Clip::None,
                Some(bitmap) => known.drawables.bitmap_clip(bitmap),
                None => Clip::Unknown,
            };
        }
    }

    fn copy(&mut self, from: &Gc, mask: u32) {
        for component in 0..COMPONENTS {
            if mask & (1 << component) != 0 {
                let known = from.known & (1 << component) != 0;
                self.set(component, known.then(|| from.values[component]));
            }
        }
        if mask & Component::Font.bit() != 0 {
            self.font_name = from.font_name;
        }
        if mask & Component::ClipMask.bit() != 0 {
            self.clip.clone_from(&from.clip);
        }
    }
}

/// The fonts and drawables that a GC's components refer to.
#[derive(Debug)]
pub(crate) struct Known<'a> {
    pub(crate) fonts: &'a Fonts,
    pub(crate) drawables: &'a Drawables,
}

/// The graphics contexts (GCs) of a display, by id.
#[derive(Debug, Default)]
pub(crate) struct Gcs(IdMap<Gc>);

impl Gcs {
    pub(crate) fn get(&self, id: u32) -> Option<&Gc> {
        self.0.get(id)
    }

    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut Gc> {
        self.0.get_mut(id)
    }

    /// Applies CreateGC. Returns the id of the new GC; `None` if the request is truncated.
    pub(crate) fn create(&mut self, by: By, body: &Body<'_>, known: &Known<'_>) -> Option<u32> {
        let (id, mask) = (body.u32(0)?, body.u32(8)?);
        let mut gc = Gc::new(by);
        gc.change(body, mask, 12, known);
        self.0.insert(id, gc);
        Some(id)
    }

    /// Applies ChangeGC. Returns the id of the GC and the value mask; `None` for a GC from before the recording, which
    /// stays unknown.
    pub(crate) fn change(&mut self, body: &Body<'_>, known: &Known<'_>) -> Option<(u32, u32)> {
        let (id, mask) = (body.u32(0)?, body.u32(4)?);
        let gc = self.0.get_mut(id)?;
        gc.change(body, mask, 8, known);
        Some((id, mask))
    }

    /// Processes the failure of a request to change the components in `mask` of the GC `id`. The server may have
    /// changed some of these components before the failure, so all of them become unknown.
    pub(crate) fn doubt(&mut self, id: u32, mask: u32) {
        let Some(gc) = self.0.get_mut(id) else { return };
        gc.known &= !mask;
        if mask & Component::Font.bit() != 0 {
            gc.font_name = None;
        }
        if mask & Component::ClipMask.bit() != 0 {
            gc.clip = Clip::Unknown;
        }
    }

    /// Applies CopyGC. Returns the id of the changed GC and the mask of the components that may have changed.
    /// Components copied from an unknown GC become unknown.
    pub(crate) fn copy(&mut self, body: &Body<'_>) -> Option<(u32, u32)> {
        let (from, to, mask) = (body.u32(0)?, body.u32(4)?, body.u32(8)?);
        match self.0.get(from).cloned() {
            Some(from) => self.0.get_mut(to)?.copy(&from, mask),
            None => {
                let gc = self.0.get_mut(to)?;
                let unknown = Gc {
                    known: 0,
                    font_name: None,
                    clip: Clip::Unknown,
                    ..gc.clone()
                };
                gc.copy(&unknown, mask);
            }
        }
        Some((to, mask))
    }

    /// Applies SetDashes. Returns the id of the GC and the mask of the components that may have changed.
    pub(crate) fn set_dashes(&mut self, body: &Body<'_>) -> Option<(u32, u32)> {
        let id = body.u32(0)?;
        let gc = self.0.get_mut(id)?;
        gc.set(Component::DashOffset as usize, body.u16(4).map(u32::from));
        gc.set(Component::Dashes as usize, None);
        Some((id, Component::DashOffset.bit() | Component::Dashes.bit()))
    }

    /// Applies SetClipRectangles. Returns the id of the GC and the mask of the components that may have changed.
    pub(crate) fn set_clip_rectangles(&mut self, body: &Body<'_>) -> Option<(u32, u32)> {
        let id = body.u32(0)?;
        let gc = self.0.get_mut(id)?;
        gc.set(Component::ClipXOrigin as usize, body.u16(4).map(u32::from));
        gc.set(Component::ClipYOrigin as usize, body.u16(6).map(u32::from));
        gc.set(Component::ClipMask as usize, None);
        gc.clip = Clip::to(Region::read(body, 8));
        let origin = Component::ClipXOrigin.bit() | Component::ClipYOrigin.bit();
        Some((id, origin | Component::ClipMask.bit()))
    }

    /// Applies XFIXES SetGCClipRegion to the GC `id`. If `region` is `None`, the clip is removed; otherwise the clip is
    /// the region, which may be unknown.
    pub(crate) fn set_clip_region(
        &mut self,
        id: u32,
        region: Option<Option<Region>>,
        (x, y): (u16, u16),
    ) {
        let Some(gc) = self.0.get_mut(id) else { return };
        gc.set(Component::ClipXOrigin as usize, Some(u32::from(x)));
        gc.set(Component::ClipYOrigin as usize, Some(u32::from(y)));
        gc.set(Component::ClipMask as usize, region.is_none().then_some(0));
        gc.clip = region.map_or(Clip::None, Clip::to);
    }

    /// Applies FreeGC: removes the GC `id`.
    pub(crate) fn free(&mut self, id: u32) {
        self.0.remove(id);
    }

    /// Removes the GC `id` if `made` returns true for the request that created it.
    pub(crate) fn undo(&mut self, id: u32, made: Made<'_>) {
        if self.0.get(id).is_some_and(|gc| made(gc.by)) {
            self.0.remove(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use x11prof_protocol::SequenceNumber;

    use super::{Component, Gc};
    use crate::ids::{By, ClientId};

    #[test]
    fn new_gc_has_the_protocol_defaults() {
        let gc = Gc::new(By {
            client: ClientId(1),
            sequence: SequenceNumber(1),
        });
        assert_eq!(gc.get(Component::Function), Some(3));
        assert_eq!(gc.get(Component::PlaneMask), Some(u32::MAX));
        assert_eq!(gc.get(Component::Background), Some(1));
        assert_eq!(gc.get(Component::CapStyle), Some(1));
        assert_eq!(gc.get(Component::GraphicsExposures), Some(1));
        assert_eq!(gc.get(Component::Dashes), Some(4));
        assert_eq!(gc.get(Component::ArcMode), Some(1));
        assert_eq!(gc.get(Component::ClipMask), Some(0));
        assert_eq!(gc.get(Component::Font), None);
        assert_eq!(gc.get(Component::Tile), None);
        assert_eq!(gc.font_name(), None);
    }
}
