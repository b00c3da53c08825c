//! The names in a window's properties (ICCCM, section 4.1.2; EWMH, _NET_WM_NAME).

use crate::latin1::latin1;

/// The longest stored name, in bytes.
const LONGEST: usize = 256;

/// The names of a window, from its properties.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WindowNames {
    /// The instance name in WM_CLASS; `None` if not set.
    pub instance: Option<Box<str>>,
    /// The class name in WM_CLASS; `None` if not set.
    pub class: Option<Box<str>>,
    /// The latest _NET_WM_NAME, or else the latest WM_NAME; `None` if neither was set.
    pub title: Option<Box<str>>,
    /// The first title of the window. Later titles may describe the window's content.
    pub first_title: Option<Box<str>>,
    /// True if `title` is from _NET_WM_NAME. A later WM_NAME, in an older encoding, does not replace it.
    pub is_utf8: bool,
}

impl WindowNames {
    /// Sets a name from the value of the property `property`. Returns `None` if the property is not a name.
    pub(crate) fn set(&mut self, property: &str, value: &[u8]) -> Option<()> {
        let mut parts = value.split(|byte| *byte == 0).map(text);
        match property {
            // Instance and class, each terminated by a NUL.
            "WM_CLASS" => {
                self.instance = parts.next();
                self.class = parts.next();
            }
            "WM_NAME" if self.is_utf8 => {}
            "WM_NAME" | "_NET_WM_NAME" => {
                let first_is_ascii = self
                    .first_title
                    .as_ref()
                    .is_none_or(|first| first.is_ascii());
                let replaces = !self.is_utf8 && property == "_NET_WM_NAME" && !first_is_ascii;
                self.is_utf8 |= property == "_NET_WM_NAME";
                self.title = parts.next();
                if self.first_title.is_none() || replaces {
                    self.first_title = self.title.clone();
                }
            }
            _ => return None,
        }
        Some(())
    }
}

/// True if the property called `property` holds the title or the class of its window.
pub(crate) fn is_name(property: &str) -> bool {
    matches!(property, "WM_CLASS" | "WM_NAME" | "_NET_WM_NAME")
}

fn text(bytes: &[u8]) -> Box<str> {
    let cut = bytes.len() > LONGEST;
    let bytes = &bytes[..bytes.len().min(LONGEST)];
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        // The value was truncated within a character.
        Err(error) if cut && error.error_len().is_none() => {
            String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into()
        }
        Err(_) => latin1(bytes).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::WindowNames;

    fn names(properties: &[(&str, &[u8])]) -> WindowNames {
        let mut names = WindowNames::default();
        for (property, value) in properties {
            names.set(property, value).unwrap();
        }
        names
    }

    #[test]
    fn utf8_title_overrides_wm_name() {
        let compound_text = b"Caf\xe9 \x1b%G\xe2\x82\xac\x1b%@";
        let both = [
            ("_NET_WM_NAME", "Café €".as_bytes()),
            ("WM_NAME", compound_text),
        ];
        assert_eq!(names(&both).title.as_deref(), Some("Café €"));
        let reversed = names(&[both[1], both[0]]);
        assert_eq!(reversed.title.as_deref(), Some("Café €"));
        assert_eq!(reversed.first_title.as_deref(), Some("Café €"));
    }

    #[test]
    fn wm_name_is_decoded_as_latin1() {
        let names = names(&[("WM_NAME", b"Caf\xe9")]);
        assert_eq!(names.title.as_deref(), Some("Café"));
    }
}
