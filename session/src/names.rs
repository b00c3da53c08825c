//! The names of attributes and of their values, interned once.
//!
//! Attributes are spelled as in the paper's Figure 6, values as in `X11/X.h`, as there.

use x11prof_protocol::Symbol;

use crate::Attribute;

/// The names that operations use.
#[derive(Debug)]
pub(crate) struct Names {
    pub(crate) depth: Attribute,
    pub(crate) fillstyle: Attribute,
    pub(crate) fontname: Attribute,
    pub(crate) format: Attribute,
    pub(crate) gxmode: Attribute,
    pub(crate) linestyle: Attribute,
    pub(crate) linewidth: Attribute,
    functions: [Symbol; 16],
    line_styles: [Symbol; 3],
    fill_styles: [Symbol; 4],
    image_formats: [Symbol; 3],
    counted_in_bytes: [Symbol; COUNTED_IN_BYTES.len()],
}

/// Requests of extensions whose work grows with their length, until they are taken apart.
const COUNTED_IN_BYTES: [&str; 13] = [
    "GLX:Render",
    "GLX:RenderLarge",
    "RENDER:AddGlyphs",
    "RENDER:AddTraps",
    "RENDER:CompositeGlyphs16",
    "RENDER:CompositeGlyphs32",
    "RENDER:CompositeGlyphs8",
    "RENDER:FillRectangles",
    "RENDER:SetPictureClipRectangles",
    "RENDER:Trapezoids",
    "RENDER:TriFan",
    "RENDER:TriStrip",
    "RENDER:Triangles",
];

impl Names {
    pub(crate) fn new() -> Names {
        Names {
            depth: Symbol::new("depth"),
            fillstyle: Symbol::new("fillstyle"),
            fontname: Symbol::new("fontname"),
            format: Symbol::new("format"),
            gxmode: Symbol::new("gxmode"),
            linestyle: Symbol::new("linestyle"),
            linewidth: Symbol::new("linewidth"),
            functions: [
                "GXclear",
                "GXand",
                "GXandReverse",
                "GXcopy",
                "GXandInverted",
                "GXnoop",
                "GXxor",
                "GXor",
                "GXnor",
                "GXequiv",
                "GXinvert",
                "GXorReverse",
                "GXcopyInverted",
                "GXorInverted",
                "GXnand",
                "GXset",
            ]
            .map(Symbol::new),
            line_styles: ["LineSolid", "LineOnOffDash", "LineDoubleDash"].map(Symbol::new),
            fill_styles: [
                "FillSolid",
                "FillTiled",
                "FillStippled",
                "FillOpaqueStippled",
            ]
            .map(Symbol::new),
            image_formats: ["XYBitmap", "XYPixmap", "ZPixmap"].map(Symbol::new),
            counted_in_bytes: COUNTED_IN_BYTES.map(Symbol::new),
        }
    }

    /// `GXcopy` of 3; `None` for a value that the protocol does not have, as below.
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

    /// Whether the op-size of this extension's request is its length.
    pub(crate) fn is_counted_in_bytes(&self, request: Symbol) -> bool {
        self.counted_in_bytes.contains(&request)
    }
}

fn of(names: &[Symbol], value: u32) -> Option<Symbol> {
    names.get(usize::try_from(value).ok()?).copied()
}
