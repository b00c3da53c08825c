//! RENDER's pictures as sources and masks: the attributes of a compositing request.

use x11prof_protocol::Symbol;

use crate::geometry::clip::Area;
use crate::operations::names::Names;
use crate::operations::operation::Attributes;
use crate::rendering::pict_formats::PictFormat;
use crate::rendering::pictures::{Filter, Picture, Source, Transform};
use crate::rendering::render::Render;
use crate::windows::drawables::Drawables;

/// The properties of a source or mask picture that determine the cost of a request. Unknown properties are `None`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Paint {
    /// The pixel format of the picture, or `solid`, `linear` and so on for a picture without pixels.
    format: Option<Symbol>,
    /// The filter; `None` if the picture's transform makes the filter irrelevant.
    filter: Option<Symbol>,
    repeat: Option<Symbol>,
    transform: Option<Symbol>,
    component_alpha: Option<bool>,
}

/// The picture `id` as a source or a mask. `sampled` is the part of the picture that the request reads, if known.
pub(crate) fn paint(
    render: &Render,
    names: &Names,
    drawables: &Drawables,
    id: Option<u32>,
    sampled: Option<Area>,
) -> Paint {
    let Some(picture) = id.and_then(|id| render.pictures.get(id)) else {
        return Paint::default();
    };
    let plain = |format| Paint {
        format: Some(format),
        filter: None,
        repeat: Some(names.none),
        transform: Some(names.none),
        component_alpha: Some(false),
    };
    match picture.source {
        Source::Solid => Paint {
            component_alpha: Some(picture.component_alpha),
            ..plain(names.solid)
        },
        Source::Linear(_) => plain(names.linear),
        Source::Radial(_) => plain(names.radial),
        Source::Conical(_) => plain(names.conical),
        Source::Drawable { format, .. } => {
            let format = render.formats.get(format);
            let size = picture.size(drawables);
            // A repeated pixel is a single colour. Servers also treat it as such.
            if size == Some((1, 1)) && picture.repeat != 0 {
                return Paint {
                    component_alpha: has_component_alpha(picture, format),
                    ..plain(names.solid)
                };
            }
            sampled_paint(names, picture, format, size, sampled)
        }
    }
}

fn sampled_paint(
    names: &Names,
    picture: &Picture,
    format: Option<&PictFormat>,
    size: Option<(u16, u16)>,
    sampled: Option<Area>,
) -> Paint {
    let plain = picture.transform == Transform::None;
    // Repeating has no effect if the used area is completely inside.
    let covered = plain
        && size
            .zip(sampled)
            .is_some_and(|((width, height), used)| Area::new(0, 0, width, height).encloses(used));
    let filtered = !plain || picture.filter == Filter::Convolution;
    Paint {
        format: format.map(|format| format.name),
        filter: filtered.then(|| names.filter(picture.filter)).flatten(),
        repeat: if covered {
            Some(names.none)
        } else {
            names.repeat(picture.repeat)
        },
        transform: names.transform(picture.transform),
        component_alpha: has_component_alpha(picture, format),
    }
}

/// Returns true if the picture has component alpha. `None` if its attribute is set and its format is unknown. A picture
/// whose format has no colours never has component alpha.
fn has_component_alpha(picture: &Picture, format: Option<&PictFormat>) -> Option<bool> {
    if !picture.component_alpha {
        return Some(false);
    }
    format.map(|format| format.has_colour)
}

/// The mask picture of a compositing request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Mask {
    /// The request has no mask.
    None,
    /// The mask is a picture of the client.
    Picture(Paint),
    /// The server creates the mask, with a picture format of this name.
    Made(Option<Symbol>),
}

/// The parts of a compositing request that determine the attributes of its operation.
#[derive(Debug)]
pub(crate) struct Composition {
    pub(crate) operator: Option<Symbol>,
    pub(crate) source: Option<Paint>,
    pub(crate) mask: Option<Mask>,
    pub(crate) destination: Option<Symbol>,
    pub(crate) glyphs: Option<Symbol>,
}

impl Composition {
    /// Appends the attributes in the order of their names, as [`Attributes::append`] requires.
    pub(crate) fn describe(&self, attributes: &mut Attributes, names: &Names) {
        let (mask_format, mask) = match self.mask {
            None => (None, None),
            Some(Mask::None) => (Some(names.none), None),
            Some(Mask::Made(format)) => (format, None),
            Some(Mask::Picture(paint)) => (paint.format, Some(paint)),
        };
        let source = self.source;
        let component_alpha = mask.and_then(|mask| mask.component_alpha);
        let component_alpha = component_alpha.map(|is| if is { names.yes } else { names.no });
        attributes.append_name(names.componentalpha, component_alpha);
        attributes.append_name(names.dstformat, self.destination);
        attributes.append_name(names.filter, source.and_then(|source| source.filter));
        attributes.append_name(names.glyphformat, self.glyphs);
        attributes.append_name(names.maskformat, mask_format);
        attributes.append_name(names.masktransform, mask.and_then(|mask| mask.transform));
        attributes.append_name(names.op, self.operator);
        attributes.append_name(names.repeat, source.and_then(|source| source.repeat));
        attributes.append_name(names.srcformat, source.and_then(|source| source.format));
        attributes.append_name(names.transform, source.and_then(|source| source.transform));
    }
}
