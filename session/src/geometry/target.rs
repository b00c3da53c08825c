//! The destination of a request, and the parts of shapes left after clipping to it.

use crate::geometry::clip::{Area, Point};
use crate::geometry::region::Region;

/// The work of an operation on the server, as far as its cost depends on the destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Effect {
    /// The request does its full work.
    #[default]
    Full,
    /// The request draws on a window that is not viewable, or outside its clip. Only its fixed part has a cost.
    Nothing,
    /// Unknown, because the drawable was created before the recording.
    Unknown,
}

/// The clip of a GC or a picture, relative to its clip origin.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) enum Clip {
    /// Drawing is not clipped.
    #[default]
    None,
    /// Clipped to these pixels. A bitmap counts as its whole rectangle, because its bits are not tracked.
    Region(Box<Region>),
    /// Clipped to an unknown region.
    Unknown,
}

impl Clip {
    /// A clip to a region, which may be unknown.
    pub(crate) fn to(region: Option<Region>) -> Clip {
        region.map_or(Clip::Unknown, |region| Clip::Region(Box::new(region)))
    }
}

/// A drawable as the target of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DrawTarget<'a> {
    /// The clip's area; everywhere if the clip is unknown.
    pub(crate) area: Area,
    pub(crate) depth: Option<u8>,
    /// The effect of drawing on the destination, before clipping.
    pub(crate) effect: Effect,
    /// The rectangles of a clip that has several, and their offset.
    pieces: Option<(&'a [Area], Point)>,
}

impl<'a> DrawTarget<'a> {
    /// An unknown drawable.
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

    /// The destination with a clip.
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

    /// The destination with an unknown effect, because part of the state is unknown.
    pub(crate) fn doubted(self) -> DrawTarget<'a> {
        DrawTarget {
            effect: match self.effect {
                Effect::Full => Effect::Unknown,
                effect => effect,
            },
            ..self
        }
    }

    /// The number of pixels of a rectangle that remain after clipping.
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
