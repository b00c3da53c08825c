//! RENDER's pictures: the drawable or colour of each picture, and its attributes.

use x11prof_protocol::Body;
use x11rb_protocol::protocol::render;

use crate::geometry::clip::{Area, Point};
use crate::geometry::region::Region;
use crate::geometry::target::{Clip, DrawTarget, Effect};
use crate::ids::{By, IdMap, Made};
use crate::windows::drawables::Drawables;

/// The source of a picture's pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// A window or a pixmap, with the picture's format.
    Drawable {
        /// The id of the drawable.
        id: u32,
        /// The id of the picture's format.
        format: u32,
    },
    /// The picture has a single colour.
    Solid,
    /// A linear gradient, with its number of stops.
    Linear(u32),
    /// A radial gradient, with its number of stops.
    Radial(u32),
    /// A conical gradient, with its number of stops.
    Conical(u32),
}

/// The kind of a picture's transform. The kinds differ in the cost of sampling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Transform {
    /// The transform is the identity, or a translation by whole pixels.
    #[default]
    None,
    /// The transform is a translation by a fraction of a pixel.
    Translate,
    /// The transform scales the picture.
    Scale,
    /// The transform rotates or shears the picture.
    Affine,
    /// The transform is perspective.
    Projective,
}

/// The sampling filter of a picture. Servers use nearest for `fast`, and bilinear for `good` and `best`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Filter {
    #[default]
    Nearest,
    Bilinear,
    Convolution,
    Other,
}

/// The properties of a RENDER picture.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Picture {
    pub(crate) source: Source,
    /// The kind of repetition: 0 none, 1 normal, 2 pad, 3 reflect.
    pub(crate) repeat: u32,
    pub(crate) component_alpha: bool,
    pub(crate) filter: Filter,
    pub(crate) transform: Transform,
    /// The width and height of the picture's pixmap. The pixmap exists as long as the picture, even if the pixmap's id
    /// is freed (protocol, FreePixmap).
    pixmap: Option<(u16, u16)>,
    clip: Clip,
    clip_origin: (i16, i16),
    by: By,
}

impl Picture {
    fn new(source: Source, by: By) -> Picture {
        Picture {
            source,
            repeat: 0,
            component_alpha: false,
            filter: Filter::default(),
            transform: Transform::default(),
            pixmap: None,
            clip: Clip::None,
            clip_origin: (0, 0),
            by,
        }
    }

    /// The picture as the destination of a request. A picture without a drawable cannot be drawn on.
    pub(crate) fn target(&self, drawables: &Drawables) -> DrawTarget<'_> {
        let origin: Point = (i32::from(self.clip_origin.0), i32::from(self.clip_origin.1));
        let target = match (self.source, self.pixmap) {
            (_, Some((width, height))) => {
                DrawTarget::new(Area::new(0, 0, width, height), None, Effect::Full)
            }
            (Source::Drawable { id, .. }, None) => drawables.target(Some(id)),
            _ => return DrawTarget::UNKNOWN,
        };
        target.clipped(&self.clip, origin)
    }

    /// The width and height of the picture's drawable in pixels; `None` if unknown, and for a colour or a gradient.
    pub(crate) fn size(&self, drawables: &Drawables) -> Option<(u16, u16)> {
        match self.source {
            Source::Drawable { id, .. } => self.pixmap.or_else(|| drawables.size(id)),
            _ => None,
        }
    }

    /// Sets the attributes in `mask` to the values of the value list at the offset `at` (RENDER protocol,
    /// CreatePicture).
    fn change(&mut self, body: &Body<'_>, mask: u32, at: usize, drawables: &Drawables) {
        let value = |bit| body.value(at, mask, bit);
        if let Some(repeat) = value(1 << 0) {
            self.repeat = repeat;
        }
        if let Some(x) = value(1 << 4) {
            self.clip_origin.0 = (x as u16).cast_signed();
        }
        if let Some(y) = value(1 << 5) {
            self.clip_origin.1 = (y as u16).cast_signed();
        }
        match value(1 << 6) {
            Some(0) => self.clip = Clip::None,
            Some(bitmap) => self.clip = drawables.bitmap_clip(bitmap),
            None => {}
        }
        if let Some(component_alpha) = value(1 << 12) {
            self.component_alpha = component_alpha != 0;
        }
    }
}

/// The pictures of a display, by id.
#[derive(Debug, Default)]
pub(crate) struct Pictures(IdMap<Picture>);

impl Pictures {
    /// The id of the drawable of picture `id`; `None` if unknown, or if the picture has none.
    pub(crate) fn drawable(&self, id: u32) -> Option<u32> {
        match self.get(id)?.source {
            Source::Drawable { id, .. } => Some(id),
            _ => None,
        }
    }

    pub(crate) fn get(&self, id: u32) -> Option<&Picture> {
        self.0.get(id)
    }

    /// Applies a request that creates or changes a picture. Returns the id of a new picture; `None` if the request
    /// creates none.
    pub(crate) fn apply(
        &mut self,
        by: By,
        minor: u8,
        body: &Body<'_>,
        drawables: &Drawables,
    ) -> Option<u32> {
        let id = body.u32(0)?;
        let stops = |at| body.u32(at);
        let source = match minor {
            render::CREATE_PICTURE_REQUEST => Source::Drawable {
                id: body.u32(4)?,
                format: body.u32(8)?,
            },
            render::CREATE_SOLID_FILL_REQUEST => Source::Solid,
            render::CREATE_LINEAR_GRADIENT_REQUEST => Source::Linear(stops(20)?),
            render::CREATE_RADIAL_GRADIENT_REQUEST => Source::Radial(stops(28)?),
            render::CREATE_CONICAL_GRADIENT_REQUEST => Source::Conical(stops(16)?),
            render::FREE_PICTURE_REQUEST => {
                self.0.remove(id);
                return None;
            }
            _ => {
                self.change(id, minor, body, drawables);
                return None;
            }
        };
        let mut picture = Picture::new(source, by);
        if minor == render::CREATE_PICTURE_REQUEST {
            picture.change(body, body.u32(12)?, 16, drawables);
            let drawable = body.u32(4).filter(|id| drawables.is_pixmap(*id));
            picture.pixmap = drawable.and_then(|id| drawables.size(id));
        }
        self.0.insert(id, picture);
        Some(id)
    }

    fn change(&mut self, id: u32, minor: u8, body: &Body<'_>, drawables: &Drawables) -> Option<()> {
        let picture = self.0.get_mut(id)?;
        match minor {
            render::CHANGE_PICTURE_REQUEST => {
                picture.change(body, body.u32(4)?, 8, drawables);
            }
            render::SET_PICTURE_CLIP_RECTANGLES_REQUEST => {
                picture.clip = Clip::to(Region::read(body, 8));
                picture.clip_origin = (body.i16(4)?, body.i16(6)?);
            }
            render::SET_PICTURE_TRANSFORM_REQUEST => {
                let mut matrix = [0; 9];
                for (index, value) in matrix.iter_mut().enumerate() {
                    *value = body.u32(4 + 4 * index)?.cast_signed();
                }
                picture.transform = kind_of(matrix);
            }
            render::SET_PICTURE_FILTER_REQUEST => {
                let length = usize::from(body.u16(4)?);
                picture.filter = match body.from(8).get(..length)? {
                    b"nearest" | b"fast" => Filter::Nearest,
                    b"bilinear" | b"good" | b"best" => Filter::Bilinear,
                    b"convolution" => Filter::Convolution,
                    _ => Filter::Other,
                };
            }
            _ => {}
        }
        Some(())
    }

    /// Applies XFIXES SetPictureClipRegion to the picture `id`. If `region` is `None`, the clip is removed; otherwise
    /// the clip is the region, which may be unknown.
    pub(crate) fn set_clip_region(
        &mut self,
        id: u32,
        region: Option<Option<Region>>,
        origin: (i16, i16),
    ) {
        if let Some(picture) = self.0.get_mut(id) {
            picture.clip = region.map_or(Clip::None, Clip::to);
            picture.clip_origin = origin;
        }
    }

    /// Removes the picture `id` if `made` returns true for the request that created it.
    pub(crate) fn undo(&mut self, id: u32, made: Made<'_>) {
        if self.0.get(id).is_some_and(|picture| made(picture.by)) {
            self.0.remove(id);
        }
    }
}

/// Returns the kind of a transform, from a matrix of 16.16 fixed-point numbers, row by row.
fn kind_of([a, b, x, c, d, y, e, f, w]: [i32; 9]) -> Transform {
    const ONE: i32 = 1 << 16;
    let whole = |number: i32| number % ONE == 0;
    match () {
        () if (e, f, w) != (0, 0, ONE) => Transform::Projective,
        () if (b, c) != (0, 0) => Transform::Affine,
        () if (a, d) != (ONE, ONE) => Transform::Scale,
        () if !whole(x) || !whole(y) => Transform::Translate,
        () => Transform::None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Transform, kind_of};

    #[test]
    fn transforms_are_classified() {
        const ONE: i32 = 1 << 16;
        assert_eq!(kind_of([ONE, 0, 0, 0, ONE, 0, 0, 0, ONE]), Transform::None);
        assert_eq!(
            kind_of([ONE, 0, 7 * ONE, 0, ONE, -ONE, 0, 0, ONE]),
            Transform::None
        );
        assert_eq!(
            kind_of([ONE, 0, ONE / 2, 0, ONE, 0, 0, 0, ONE]),
            Transform::Translate
        );
        assert_eq!(
            kind_of([2 * ONE, 0, 0, 0, ONE, 0, 0, 0, ONE]),
            Transform::Scale
        );
        assert_eq!(
            kind_of([0, ONE, 0, -ONE, 0, 0, 0, 0, ONE]),
            Transform::Affine
        );
        assert_eq!(
            kind_of([ONE, 0, 0, 0, ONE, 0, 9, 0, ONE]),
            Transform::Projective
        );
    }
}
