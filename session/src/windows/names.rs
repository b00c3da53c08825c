//! The names in a window's properties (ICCCM, section 4.1.2; EWMH, _NET_WM_NAME).

/// The longest name kept, in bytes.
const LONGEST: usize = 256;

/// The names in a window's properties.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WindowNames {
    /// The instance in WM_CLASS.
    pub instance: Option<Box<str>>,
    /// The class in WM_CLASS.
    pub class: Option<Box<str>>,
    /// The latest WM_NAME or _NET_WM_NAME.
    pub title: Option<Box<str>>,
    /// The first title: later ones describe the window's content.
    pub first_title: Option<Box<str>>,
}

impl WindowNames {
    /// Takes the value of a property; `None` if the property is no name.
    pub(crate) fn set(&mut self, property: &str, value: &[u8]) -> Option<()> {
        let mut parts = value.split(|byte| *byte == 0).map(text);
        match property {
            // Instance and class, each with a zero after it.
            "WM_CLASS" => {
                self.instance = parts.next();
                self.class = parts.next();
            }
            "WM_NAME" | "_NET_WM_NAME" => {
                self.title = parts.next();
                if self.first_title.is_none() {
                    self.first_title = self.title.clone();
                }
            }
            _ => return None,
        }
        Some(())
    }
}

/// True if a property is a name.
pub(crate) fn is_name(property: &str) -> bool {
    matches!(property, "WM_CLASS" | "WM_NAME" | "_NET_WM_NAME")
}

fn text(bytes: &[u8]) -> Box<str> {
    let bytes = bytes.get(..LONGEST).unwrap_or(bytes);
    String::from_utf8_lossy(bytes).into()
}
