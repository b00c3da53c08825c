//! The meaning of numbers in the fields of a message, derived from the fields' names.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

/// The meaning of a number in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberKind {
    /// The number is a plain number.
    Plain,
    /// The number is the id of a resource.
    Id,
    /// The number can be the id of a resource: an item of a property whose type does not define its items.
    MaybeId,
    /// The number is an atom.
    Atom,
    /// The number is a time of the server's clock, in milliseconds.
    Time,
    /// The number counts 65536ths, of a pixel in most fields (XI2, "FP1616").
    Fixed,
    /// The number is an opcode, event code or error code that the server assigned to an extension (QueryExtension).
    Opcode,
}

impl NumberKind {
    /// The meaning of the numbers in the field `field` of the message `message`. For the data of a property,
    /// `property_type` is the property's type.
    pub fn of_field(message: &str, field: &str, property_type: Option<u32>) -> NumberKind {
        kind(message, field, property_type)
    }
}

fn kind(message: &str, field: &str, of_type: Option<u32>) -> NumberKind {
    match field {
        // Protocol, appendix B: of the predefined atoms, ATOM is 4 and WINDOW 33; the others are types of ids.
        "data" | "value" => match of_type {
            Some(4) => NumberKind::Atom,
            Some(5 | 7 | 8 | 18 | 20 | 33) => NumberKind::Id,
            // WM_HINTS has a window, and toolkits store windows and counters as CARDINAL.
            Some(_) if message.ends_with("Property") => NumberKind::MaybeId,
            _ => NumberKind::Plain,
        },
        "type" if message.ends_with("Property") => NumberKind::Atom,
        "type" if message == "ClientMessage" => NumberKind::Atom,
        "target" if message.contains("Selection") => NumberKind::Atom,
        // These masks are ids; in other messages a mask is a set of bits.
        "mask" if message.contains("Composite") || message == "CreateCursor" => NumberKind::Id,
        "format" if message.starts_with("RENDER:") => NumberKind::Id,
        // Picture formats and RANDR modes have ids that the server assigned.
        "id" if message.starts_with("RENDER:") || message.starts_with("RANDR:") => NumberKind::Id,
        "mode" | "modes" if message.starts_with("RANDR:") => NumberKind::Id,
        "context" | "mode" | "modes" | "id" | "format" => NumberKind::Plain,
        "name" if message.starts_with("GLX:") => NumberKind::Plain,
        field if is_xi2(message) && FIXED.split_whitespace().any(|one| one == field) => {
            NumberKind::Fixed
        }
        // Names that are not text are atoms (XFIXES, RANDR, XKB).
        "name" | "groups" | "kt_level_names" => NumberKind::Atom,
        field => LISTED.get(field).copied().unwrap_or(NumberKind::Plain),
    }
}

/// True for messages of XInput 2. Messages of XInput 1 contain coordinates in whole pixels.
fn is_xi2(message: &str) -> bool {
    let name = message.strip_prefix("XInputExtension:");
    name.is_some_and(|name| !name.contains("Device") && !name.starts_with("Prox"))
}

/// The fields of XI 2 that contain 65536ths (XI2 protocol, type FP1616).
const FIXED: &str = "\
    delta_angle delta_unaccel_x delta_unaccel_y delta_x delta_y dst_x dst_y event_x event_y root_x \
    root_y scale src_x src_y win_x win_y";

/// The fields that contain atoms.
const ATOMS: &str = "\
    atom atoms attribute compat_name cursor_atom dev_type device_type geometry_name indicator \
    indicator_names keycodes_name label labels phys_symbols_name properties property \
    radio_group_names resource_type selection symbols_name type_names types_name \
    virtual_mod_names";

/// The fields that contain ids.
const IDS: &str = "\
    above_sibling affected_window alarm alphamap background_pixmap bad_value barrier bitmap \
    border_pixmap child children cid clip_mask clipmask clones cmap cmaps colormap confine_to \
    counter crtc crtcs cursor damage default_colormap dest destination destination_window \
    drawable drawables dst dst_drawable dst_gc dst_win dst_window event event_window existing \
    fbconfig fence fence_list fid focus font gc glx_pixmap glx_window glxwindow glyphset \
    grab_window gsid idle_fence mask_font mask_format mid output outputs overlay_win owner \
    parent parts pbuffer picture pid pixmap provider providers read_drawable region repair \
    request_window requestor resource_id_base resource_id_mask root root_visual saver_window \
    share_list shmseg sibling source source1 source2 source_bitmap source_font source_window \
    src src_cmap src_drawable src_gc src_win src_window stipple syncobj target_crtc tile update \
    update_region valid valid_region visual visual_id wait_fence wid window";

/// The fields that contain server times.
const TIMES: &str = "config_timestamp msc selection_timestamp server_time time timestamp ust";

/// The fields that contain an extension's numbers.
const OPCODES: &str = "first_error first_event major_event major_opcode";

/// The kinds of the listed fields.
static LISTED: LazyLock<FxHashMap<&str, NumberKind>> = LazyLock::new(|| {
    let atoms = ATOMS.split(' ').map(|field| (field, NumberKind::Atom));
    let ids = IDS.split(' ').map(|field| (field, NumberKind::Id));
    let times = TIMES.split(' ').map(|field| (field, NumberKind::Time));
    let opcodes = OPCODES.split(' ');
    let opcodes = opcodes.map(|field| (field, NumberKind::Opcode));
    atoms.chain(ids).chain(times).chain(opcodes).collect()
});

#[cfg(test)]
mod tests {
    use super::{ATOMS, IDS, LISTED, NumberKind, OPCODES, TIMES, kind};

    #[test]
    fn names_are_listed_once() {
        let words = [ATOMS, IDS, TIMES, OPCODES].map(|words| words.split(' '));
        let words = words.into_iter().flatten();
        assert_eq!(words.count(), LISTED.len());
        assert_eq!(kind("", "windows", None), NumberKind::Plain);
        assert_eq!(kind("", "window", None), NumberKind::Id);
    }

    #[test]
    fn ambiguous_field_names_depend_on_the_message() {
        assert_eq!(kind("ChangeProperty", "type", None), NumberKind::Atom);
        assert_eq!(kind("XTEST:FakeInput", "type", None), NumberKind::Plain);
        assert_eq!(kind("RENDER:Composite", "mask", None), NumberKind::Id);
        assert_eq!(kind("XKEYBOARD:SetMap", "mask", None), NumberKind::Plain);
        assert_eq!(kind("ChangeProperty", "data", Some(4)), NumberKind::Atom);
        assert_eq!(kind("ChangeProperty", "data", Some(6)), NumberKind::MaybeId);
        assert_eq!(kind("ClientMessage", "data", Some(6)), NumberKind::Plain);
        assert_eq!(
            kind("GLX:QueryServerString", "name", None),
            NumberKind::Plain
        );
        let root_x = |message| kind(message, "root_x", None);
        assert_eq!(root_x("XInputExtension:Motion"), NumberKind::Fixed);
        assert_eq!(
            root_x("XInputExtension:DeviceMotionNotify"),
            NumberKind::Plain
        );
        assert_eq!(root_x("MotionNotify"), NumberKind::Plain);
    }
}
