//! Names that reveal nothing about a user: names of the protocol, of the window manager conventions, and of X.Org's own
//! fonts, which the cost tables use.

use std::sync::LazyLock;

use rustc_hash::FxHashSet;
use x11prof_session::PREDEFINED_ATOMS;

/// The names with their kinds. Each line has a kind, a colon, and names that are separated by commas.
static NAMES: LazyLock<FxHashSet<(&str, &[u8])>> = LazyLock::new(|| {
    let lines = include_str!("well_known.txt").lines();
    let kinds = lines.filter_map(|line| line.split_once(':'));
    let names = |(kind, names): (&'static str, &'static str)| {
        names.split(',').map(move |name| (kind, name.as_bytes()))
    };
    kinds.flat_map(names).collect()
});

/// True if `name` is a well-known name of an atom.
pub(super) fn is_atom(name: &[u8]) -> bool {
    let words = name.strip_prefix(b"_").unwrap_or(name);
    let mut words = words.split(|byte| *byte == b'_');
    PREDEFINED_ATOMS
        .iter()
        .any(|known| known.as_bytes() == name)
        || is_one_of("atom", name)
        || words.all(|word| is_one_of("word", word))
}

/// True if `name` is the name or the pattern of one of X.Org's own fonts.
pub(super) fn is_font(name: &[u8]) -> bool {
    let name = name.to_ascii_lowercase();
    is_one_of("alias", &name) || is_cell(&name) || is_description(&name)
}

/// `6x13`, `7x13bold`, `9x15-iso8859-1`… of the alias files.
fn is_cell(name: &[u8]) -> bool {
    let digits = |bytes: &[u8]| {
        bytes
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    };
    let width = digits(name);
    let rest = &name[width..];
    let Some((b'x', rest)) = rest.split_first() else {
        return false;
    };
    let height = digits(rest);
    let rest = &rest[height..];
    let style = rest.strip_prefix(b"bold").unwrap_or(rest);
    matches!((width, height), (1..=2, 1..=2)) && (style.is_empty() || style == b"-iso8859-1")
}

/// True for a description (X Logical Font Description). Its first fields are foundry and family; fonts of these
/// families contain only short words in the other fields.
fn is_description(name: &[u8]) -> bool {
    let Some((b'-', fields)) = name.split_first() else {
        return false;
    };
    let mut fields = fields.split(|byte| *byte == b'-');
    let mut is_next_of = |kind| fields.next().is_some_and(|field| is_one_of(kind, field));
    is_next_of("foundry") && is_next_of("family") && fields.all(|field| field.len() <= 16)
}

/// True for one of the names of this kind.
fn is_one_of(kind: &str, name: &[u8]) -> bool {
    NAMES.contains(&(kind, name))
}

/// True if the layout of messages with this name is known.
pub(super) fn is_known(name: &str) -> bool {
    match name.split_once(':') {
        Some(("Unknown", _)) => false,
        // A request or an event without a name has a number; a generic event has only its kind.
        Some((extension, message)) => {
            is_one_of("extension", extension.as_bytes())
                && message != "GenericEvent"
                && !message.starts_with(|first: char| first.is_ascii_digit())
        }
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::{is_atom, is_font};

    #[test]
    fn conventional_atoms_and_server_fonts_are_recognised() {
        for name in [
            "WM_NAME",
            "_NET_WM_NAME",
            "CLIPBOARD",
            "STRING",
            "XdndDrop",
            "_MOTIF_WM_HINTS",
            "_NET_WM_CM_S0",
            "_KDE_NET_WM_FRAME_STRUT",
        ] {
            assert!(is_atom(name.as_bytes()), "{name}");
        }
        for name in [
            "",
            "secret",
            "WM_ my secret",
            "_NET_/home/me",
            "text/plain",
            "_NET_WM_ALICE",
            "Xdndalice",
        ] {
            assert!(!is_atom(name.as_bytes()), "{name}");
        }
        for name in [
            "fixed",
            "6x13",
            "10x20",
            "7x13bold",
            "-misc-fixed-medium-r-semicondensed--13-120-75-75-c-60-iso10646-1",
            "-Adobe-Helvetica-Bold-R-*-*-12-*",
            "-*-*-*-R-Normal--*-120-100-100-*-*",
        ] {
            assert!(is_font(name.as_bytes()), "{name}");
        }
        for name in [
            "",
            "6x",
            "x13",
            "6x13 secret",
            "-acme-own face-medium-r",
            "secret",
            "-a",
        ] {
            assert!(!is_font(name.as_bytes()), "{name}");
        }
    }
}
