//! Names that reveal nothing about a user: names of the protocol, of the window manager conventions, and of X.Org's own
//! fonts, which the cost tables use.

use x11prof_session::PREDEFINED_ATOMS;

/// Prefixes of the atoms of conventions (ICCCM, EWMH, Xdnd, Motif) and toolkits.
const PREFIXES: [&str; 9] = [
    "_NET_", "WM_", "Xdnd", "XDND", "_MOTIF_", "_GTK_", "GDK_", "_KDE_", "_QT_",
];

/// Names of selections, targets and types (ICCCM, section 2.6).
const ATOMS: &str = "\
    ATOM_PAIR,CLIPBOARD,CLIPBOARD_MANAGER,COMPOUND_TEXT,C_STRING,DELETE,INCR,INSERT_PROPERTY,\
    INSERT_SELECTION,LENGTH,MANAGER,MULTIPLE,SAVE_TARGETS,TARGETS,TEXT,TIMESTAMP,UTF8_STRING";

/// The maximum length of a name with a convention's prefix that counts as well known.
const LONGEST: usize = 40;

/// Foundries of X.Org's fonts.
const FOUNDRIES: &str =
    ",*,adobe,arabic,b&h,bitstream,daewoo,dec,isas,jis,misc,mutt,schumacher,sony,sun,xos4";

/// Families of X.Org's fonts.
const FAMILIES: &str = "\
    *,charter,clean,clearlyu,clearlyu alternate glyphs,clearlyu arabic,clearlyu arabic extra,\
    clearlyu devanagari,clearlyu devangari extra,clearlyu ligature,clearlyu pua,courier,\
    cursor,fangsong ti,fixed,gothic,helvetica,lucida,lucidabright,lucidatypewriter,mincho,\
    new century schoolbook,newspaper,nil,open look cursor,open look glyph,song ti,symbol,\
    terminal,times,utopia";

/// Aliases of X.Org's fonts, except for those like `6x13` and `9x15bold`.
const ALIASES: &str = "\
    *,a14,cursor,decw$cursor,decw$session,fixed,hanzigb16fs,hanzigb16st,hanzigb24st,heb6x13,\
    heb8x13,k14,kana14,kanji16,kanji24,nil2,olcursor,r14,r16,r24,rk14,rk16,rk24,variable";

/// True if `name` is a well-known name of an atom.
pub(super) fn is_atom(name: &[u8]) -> bool {
    let of_convention = |prefix: &&str| name.starts_with(prefix.as_bytes());
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    PREDEFINED_ATOMS
        .iter()
        .any(|known| known.as_bytes() == name)
        || is_one_of(ATOMS, name)
        || (name.len() <= LONGEST && name.iter().all(plain) && PREFIXES.iter().any(of_convention))
}

/// True if `name` is the name or the pattern of one of X.Org's own fonts.
pub(super) fn is_font(name: &[u8]) -> bool {
    let name = name.to_ascii_lowercase();
    is_one_of(ALIASES, &name) || is_cell(&name) || is_description(&name)
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
    let mut is_next_of = |names| fields.next().is_some_and(|field| is_one_of(names, field));
    is_next_of(FOUNDRIES) && is_next_of(FAMILIES) && fields.all(|field| field.len() <= 16)
}

/// True for one of `names`, which are separated by commas.
fn is_one_of(names: &str, name: &[u8]) -> bool {
    names.split(',').any(|known| known.as_bytes() == name)
}

/// Known extensions: message bodies of other extensions are removed.
const KNOWN: &str = "\
    BIG-REQUESTS,Composite,DAMAGE,DOUBLE-BUFFER,DPMS,DRI2,DRI3,GLX,Generic Event Extension,\
    MIT-SCREEN-SAVER,MIT-SHM,Present,RANDR,RENDER,SHAPE,SYNC,XC-MISC,XFIXES,XINERAMA,\
    XInputExtension,XKEYBOARD,XTEST,XVideo";

/// True if the layout of messages with this name is known.
pub(super) fn is_known(name: &str) -> bool {
    match name.split_once(':') {
        Some(("Unknown", _)) => false,
        // A request or an event without a name has a number.
        Some((extension, message)) => {
            is_one_of(KNOWN, extension.as_bytes())
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
        ] {
            assert!(is_atom(name.as_bytes()), "{name}");
        }
        for name in ["", "secret", "WM_ my secret", "_NET_/home/me", "text/plain"] {
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
