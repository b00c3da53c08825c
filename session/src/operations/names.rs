//! The names of attributes and of their values, interned once.
//!
//! Attributes are spelled as in the paper's Figure 6, values as in `X11/X.h`, and RENDER's values as in the RENDER
//! protocol.

use std::fmt::Debug;
use std::ops::Deref;

use x11prof_protocol::Symbol;
use x11rb_protocol::protocol::render::{PictOp, Repeat};
use x11rb_protocol::protocol::xproto::{FillStyle, GX, ImageFormat, LineStyle};

use crate::geometry::directions::Directions;
use crate::rendering::pictures::{Filter, Transform};

/// Declares a struct of symbols. Each has the name of its field, or the text after `=`.
macro_rules! symbols {
    ($(#[$about:meta])* $name:ident { $($field:ident $(= $text:literal)?),* $(,)? }) => {
        $(#[$about])*
        #[derive(Debug)]
        pub(crate) struct $name {
            $(pub(crate) $field: Symbol),*
        }

        impl $name {
            fn new() -> $name {
                $name { $($field: Symbol::new(symbols!(@$field $($text)?))),* }
            }
        }
    };
    (@$field:ident $text:literal) => { $text };
    (@$field:ident) => { stringify!($field) };
}

symbols! {
    /// Attributes and values.
    Words {
        change, componentalpha, cursor, depth, direction, dstformat, event, fillstyle, filter, fontname, format,
        glyphformat, gxmode, linestyle, linewidth, loaded, maskformat, masktransform, op, repeat, srcformat,
        transform, viewable, none, yes, no, solid, linear, radial, conical, key, button, motion,
    }
}

symbols! {
    /// The kinds of changes of a ConfigureWindow.
    Changes {
        move_and_resize = "move+resize", resize, move_only = "move", border, restack,
    }
}

/// The names that are used in operations.
#[derive(Debug)]
pub(crate) struct Names {
    words: Words,
    pub(crate) changes: Changes,
    pub(crate) directions: Directions,
    functions: Vec<Option<Symbol>>,
    line_styles: Vec<Option<Symbol>>,
    fill_styles: Vec<Option<Symbol>>,
    image_formats: Vec<Option<Symbol>>,
    operators: Vec<Option<Symbol>>,
    repeats: Vec<Option<Symbol>>,
    filters: [Symbol; 4],
    transforms: [Symbol; 5],
}

impl Deref for Names {
    type Target = Words;

    fn deref(&self) -> &Words {
        &self.words
    }
}

impl Names {
    pub(crate) fn new() -> Names {
        Names {
            words: Words::new(),
            changes: Changes::new(),
            directions: Directions::new(),
            functions: values::<GX>(16, |name| format!("GX{}", lower(name))),
            line_styles: values::<LineStyle>(3, |name| format!("Line{name}")),
            fill_styles: values::<FillStyle>(4, |name| format!("Fill{name}")),
            image_formats: values::<ImageFormat>(3, str::to_owned),
            operators: values::<PictOp>(0x40, str::to_owned),
            repeats: values::<Repeat>(4, lower),
            filters: ["nearest", "bilinear", "convolution", "other"].map(Symbol::new),
            transforms: ["none", "translate", "scale", "affine", "projective"].map(Symbol::new),
        }
    }

    /// The name of a raster operation by its number, such as `GXcopy` for 3; `None` for an invalid number.
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

    /// The name of a RENDER operator by its number, such as `Over` for 3; `None` for an invalid number.
    pub(crate) fn operator(&self, value: u8) -> Option<Symbol> {
        of(&self.operators, u32::from(value))
    }

    pub(crate) fn repeat(&self, value: u32) -> Option<Symbol> {
        of(&self.repeats, value)
    }

    pub(crate) fn filter(&self, filter: Filter) -> Option<Symbol> {
        self.filters.get(filter as usize).copied()
    }

    pub(crate) fn transform(&self, transform: Transform) -> Option<Symbol> {
        self.transforms.get(transform as usize).copied()
    }
}

fn of(names: &[Option<Symbol>], value: u32) -> Option<Symbol> {
    *names.get(usize::try_from(value).ok()?)?
}

/// Returns the names of an enumeration's values from 0 to `end` - 1, indexed by value. `spell` converts the spelling of
/// the protocol to the spelling in operations. A value that the protocol does not define has no name.
fn values<E: From<u8> + Debug>(end: u8, spell: impl Fn(&str) -> String) -> Vec<Option<Symbol>> {
    let name = |value: u8| {
        // The alternate form has the protocol's own spelling; an undefined value is a number.
        let name = format!("{:#?}", E::from(value));
        let defined = name.starts_with(|first: char| first.is_ascii_alphabetic());
        defined.then(|| Symbol::new(&spell(&name)))
    };
    (0..end).map(name).collect()
}

/// Returns `name` with its first letter in lower case: `andReverse` for `AndReverse`.
fn lower(name: &str) -> String {
    let (first, rest) = name.split_at(name.len().min(1));
    first.to_ascii_lowercase() + rest
}
