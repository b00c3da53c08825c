//! The names of attributes and of their values, interned once.
//!
//! Attributes are spelled as in the paper's Figure 6, values as in `X11/X.h`, and RENDER's as in its protocol.

use x11prof_protocol::Symbol;

use crate::geometry::directions::Directions;
use crate::operations::enumerations::{
    ALL_PICTURE_OPERATORS, FILL_STYLES, LINE_STYLES, RASTER_OPERATIONS,
};
use crate::operations::operation::Attribute;
use crate::rendering::pictures::{Filter, Transform};

/// The names that operations use.
#[derive(Debug)]
pub(crate) struct Names {
    pub(crate) change: Attribute,
    pub(crate) componentalpha: Attribute,
    pub(crate) cursor: Attribute,
    pub(crate) depth: Attribute,
    pub(crate) direction: Attribute,
    pub(crate) dstformat: Attribute,
    pub(crate) event: Attribute,
    pub(crate) fillstyle: Attribute,
    pub(crate) filter: Attribute,
    pub(crate) fontname: Attribute,
    pub(crate) format: Attribute,
    pub(crate) glyphformat: Attribute,
    pub(crate) gxmode: Attribute,
    pub(crate) linestyle: Attribute,
    pub(crate) linewidth: Attribute,
    pub(crate) loaded: Attribute,
    pub(crate) maskformat: Attribute,
    pub(crate) masktransform: Attribute,
    pub(crate) op: Attribute,
    pub(crate) repeat: Attribute,
    pub(crate) srcformat: Attribute,
    pub(crate) transform: Attribute,
    pub(crate) viewable: Attribute,
    pub(crate) none: Symbol,
    pub(crate) yes: Symbol,
    pub(crate) no: Symbol,
    pub(crate) solid: Symbol,
    pub(crate) linear: Symbol,
    pub(crate) radial: Symbol,
    pub(crate) conical: Symbol,
    pub(crate) key: Symbol,
    pub(crate) button: Symbol,
    pub(crate) motion: Symbol,
    pub(crate) changes: Changes,
    pub(crate) directions: Directions,
    functions: [Symbol; 16],
    line_styles: [Symbol; 3],
    fill_styles: [Symbol; 4],
    image_formats: [Symbol; 3],
    operators: Vec<Option<Symbol>>,
    repeats: [Symbol; 4],
    filters: [Symbol; 4],
    transforms: [Symbol; 5],
}

/// The kinds of changes of a ConfigureWindow.
#[derive(Debug)]
pub(crate) struct Changes {
    pub(crate) move_and_resize: Symbol,
    pub(crate) resize: Symbol,
    pub(crate) move_only: Symbol,
    pub(crate) border: Symbol,
    pub(crate) restack: Symbol,
}

impl Names {
    pub(crate) fn new() -> Names {
        let mut operators = vec![None; 0x40];
        for (first, names) in ALL_PICTURE_OPERATORS {
            for (slot, name) in operators.iter_mut().skip(first).zip(names) {
                *slot = Some(Symbol::new(name));
            }
        }
        Names {
            change: Symbol::new("change"),
            componentalpha: Symbol::new("componentalpha"),
            cursor: Symbol::new("cursor"),
            depth: Symbol::new("depth"),
            direction: Symbol::new("direction"),
            dstformat: Symbol::new("dstformat"),
            event: Symbol::new("event"),
            fillstyle: Symbol::new("fillstyle"),
            filter: Symbol::new("filter"),
            fontname: Symbol::new("fontname"),
            format: Symbol::new("format"),
            glyphformat: Symbol::new("glyphformat"),
            gxmode: Symbol::new("gxmode"),
            linestyle: Symbol::new("linestyle"),
            linewidth: Symbol::new("linewidth"),
            loaded: Symbol::new("loaded"),
            maskformat: Symbol::new("maskformat"),
            masktransform: Symbol::new("masktransform"),
            op: Symbol::new("op"),
            repeat: Symbol::new("repeat"),
            srcformat: Symbol::new("srcformat"),
            transform: Symbol::new("transform"),
            viewable: Symbol::new("viewable"),
            none: Symbol::new("none"),
            yes: Symbol::new("yes"),
            no: Symbol::new("no"),
            solid: Symbol::new("solid"),
            linear: Symbol::new("linear"),
            radial: Symbol::new("radial"),
            conical: Symbol::new("conical"),
            key: Symbol::new("key"),
            button: Symbol::new("button"),
            motion: Symbol::new("motion"),
            changes: Changes {
                move_and_resize: Symbol::new("move+resize"),
                resize: Symbol::new("resize"),
                move_only: Symbol::new("move"),
                border: Symbol::new("border"),
                restack: Symbol::new("restack"),
            },
            directions: Directions::new(),
            functions: RASTER_OPERATIONS.map(Symbol::new),
            line_styles: LINE_STYLES.map(Symbol::new),
            fill_styles: FILL_STYLES.map(Symbol::new),
            image_formats: ["XYBitmap", "XYPixmap", "ZPixmap"].map(Symbol::new),
            operators,
            repeats: ["none", "normal", "pad", "reflect"].map(Symbol::new),
            filters: ["nearest", "bilinear", "convolution", "other"].map(Symbol::new),
            transforms: ["none", "translate", "scale", "affine", "projective"].map(Symbol::new),
        }
    }

    /// The name of a raster operation: `GXcopy` for 3; `None` for an invalid value.
    pub(crate) fn function(&self, value: u32) -> Option<Symbol> {
        of(&self.functions, value)
    }

    pub(crate) fn line_style(&self, value: u32) -> Option<Symbol> {
        of(&self.line_styles, value)
    }

    pub(crate) fn fill_style(&self, value: u32) -> Option<Symbol> {
        of(&self.fill_styles, value)
    }

    pub(crate) fn image_format(&self, value: u8) -> Option<Symbol> {
        of(&self.image_formats, u32::from(value))
    }

    /// The name of a RENDER operator: `Over` for 3.
    pub(crate) fn operator(&self, value: u8) -> Option<Symbol> {
        self.operators.get(usize::from(value)).copied().flatten()
    }

    pub(crate) fn repeat(&self, value: u32) -> Option<Symbol> {
        of(&self.repeats, value)
    }

    pub(crate) fn filter(&self, filter: Filter) -> Option<Symbol> {
        of(&self.filters, filter as u32)
    }

    pub(crate) fn transform(&self, transform: Transform) -> Option<Symbol> {
        of(&self.transforms, transform as u32)
    }
}

fn of(names: &[Symbol], value: u32) -> Option<Symbol> {
    names.get(usize::try_from(value).ok()?).copied()
}

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn operator_numbers_map_to_names() {
        let names = Names::new();
        let name = |value| names.operator(value).map(|name| name.as_str());
        assert_eq!(name(3), Some("Over"));
        assert_eq!(name(12), Some("Add"));
        assert_eq!(name(0x1B), Some("DisjointXor"));
        assert_eq!(name(0x3E), Some("HSLLuminosity"));
        assert_eq!((name(14), name(0x3F), name(255)), (None, None, None));
    }
}
