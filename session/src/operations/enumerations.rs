//! The names of the protocol's enumerations that are attributes of operations.

/// The raster operations by their names in `X11/X.h`, in the protocol's order.
pub const RASTER_OPERATIONS: [&str; 16] = [
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
];

/// The line styles by their names in `X11/X.h`, in the protocol's order.
pub const LINE_STYLES: [&str; 3] = ["LineSolid", "LineOnOffDash", "LineDoubleDash"];

/// The fill styles by their names in `X11/X.h`, in the protocol's order.
pub const FILL_STYLES: [&str; 4] = [
    "FillSolid",
    "FillTiled",
    "FillStippled",
    "FillOpaqueStippled",
];

/// RENDER's first operators, by their numbers (RENDER protocol, PICTOP).
pub const PICTURE_OPERATORS: [&str; 14] = [
    "Clear",
    "Src",
    "Dst",
    "Over",
    "OverReverse",
    "In",
    "InReverse",
    "Out",
    "OutReverse",
    "Atop",
    "AtopReverse",
    "Xor",
    "Add",
    "Saturate",
];

/// RENDER's operators. The operators of a row have consecutive numbers, starting with the number of the row.
pub(crate) const ALL_PICTURE_OPERATORS: [(usize, &[&str]); 4] = [
    (0x00, &PICTURE_OPERATORS),
    (
        0x10,
        &[
            "DisjointClear",
            "DisjointSrc",
            "DisjointDst",
            "DisjointOver",
            "DisjointOverReverse",
            "DisjointIn",
            "DisjointInReverse",
            "DisjointOut",
            "DisjointOutReverse",
            "DisjointAtop",
            "DisjointAtopReverse",
            "DisjointXor",
        ],
    ),
    (
        0x20,
        &[
            "ConjointClear",
            "ConjointSrc",
            "ConjointDst",
            "ConjointOver",
            "ConjointOverReverse",
            "ConjointIn",
            "ConjointInReverse",
            "ConjointOut",
            "ConjointOutReverse",
            "ConjointAtop",
            "ConjointAtopReverse",
            "ConjointXor",
        ],
    ),
    (
        0x30,
        &[
            "Multiply",
            "Screen",
            "Overlay",
            "Darken",
            "Lighten",
            "ColorDodge",
            "ColorBurn",
            "HardLight",
            "SoftLight",
            "Difference",
            "Exclusion",
            "HSLHue",
            "HSLSaturation",
            "HSLColor",
            "HSLLuminosity",
        ],
    ),
];
