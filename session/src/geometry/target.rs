//! The drawable that a request draws on, and the parts of shapes that remain after clipping to it.

use crate::geometry::clip::{Area, Point};
use crate::geometry::region::Region;

/// The share of a request's work that the server does, given the state of the request's destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Effect {
    /// The request does its full work.
    #[default]
    Full,
    /// The request draws on a window that is not viewable, or outside the clip. Only the fixed part of the request has
    /// a cost.
    Nothing,
    /// The effect is unknown, for example because the drawable existed before the recording.
    Unknown,
}

/// The clip of a GC or a picture, relative to the clip origin.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) enum Clip {
    /// The drawing is not clipped.
    #[default]
    None,
    /// Drawing is clipped to these pixels. A bitmap counts as its whole rectangle, because its bits are not tracked.
    Region(Box<Region>),
    /// Drawing is clipped to an unknown region.
    Unknown,
}

impl Clip {
    /// A clip to a region; `None` is an unknown region.
    pub(crate) fn to(region: Option<Region>) -> Clip {
        region.map_or(Clip::Unknown, |region| Clip::Region(Box::new(region)))
    }
}

/// A drawable as the destination of a request, with its clip.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DrawTarget<'a> {
    /// The bounds of the part of the drawable that is inside the clip. An unknown clip counts as no clip, and an
    /// unknown drawable contains every pixel.
    pub(crate) area: Area,
    pub(crate) depth: Option<u8>,
    /// The effect of drawing on the drawable, before clipping.
    pub(crate) effect: Effect,
    /// The rectangles of the clip and their offset, if the clip has several rectangles.
    pieces: Option<(&'a [Area], Point)>,
}

impl<'a> DrawTarget<'a> {
    /// The target of drawing on an unknown drawable.
    pub(crate) const UNKNOWN: DrawTarget<'static> = DrawTarget {
        area: Area::EVERYWHERE,
        depth: None,
        effect: Effect::Unknown,
        pieces: None,
    };

    pub(crate) fn new(area: Area, depth: Option<u8>, effect: Effect) -> DrawTarget<'static> {
        DrawTarget {
            area,
            depth,
            effect,
            pieces: None,
        }
    }

    /// The destination with a clip, whose origin is at `origin`.
    pub(crate) fn clipped<'b>(self, clip: &'b Clip, origin: Point) -> DrawTarget<'b>
    where
        'a: 'b,
    {
        match clip {
            Clip::None => self,
            Clip::Unknown => self.doubted(),
            Clip::Region(region) => DrawTarget {
                area: self
                    .area
                    .intersection(region.bounds().moved(origin.0, origin.1)),
                pieces: match region.pieces() {
                    [] | [_] => self.pieces,
                    pieces => Some((pieces, origin)),
                },
                ..self
            },
        }
    }

    /// The destination with the effect `Unknown` instead of `Full`, because a part of the state is unknown.
    pub(crate) fn doubted(self) -> DrawTarget<'a> {
        DrawTarget {
            effect: match self.effect {
                Effect::Full => Effect::Unknown,
                effect => effect,
            },
            ..self
        }
    }

    /// Returns the number of pixels of the rectangle `area` that remain after clipping.
    #[inline]
    pub(crate) fn pixels(&self, area: Area) -> f64 {
        let inside = area.intersection(self.area);
        match self.pieces {
            None => inside.pixels(),
            Some((pieces, (dx, dy))) => pieces
                .iter()
                .map(|piece| piece.moved(dx, dy).intersection(inside).pixels())
                .sum(),
        }
    }
}
