//! The rows that the user selects with keys, and their order.

use x11prof_views::clients_now::{By, Order};

/// The help text on the keys, in two lines of at most 80 columns.
pub(super) const KEYS: [&str; 2] = [
    "Show: c clients, w windows, r requests. Sort: t time, n number, o round trips,",
    "b bytes, h held, a name. / filters, space freezes, q quits.",
];
/// The maximum length of the filter, in bytes.
const LONGEST: usize = 64;

/// The user's selection of rows, and their order.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Choice {
    pub(super) by: By,
    pub(super) order: Order,
    /// Only rows whose name contains this text are displayed. The empty filter displays all rows.
    pub(super) filter: String,
    /// True while the user types the filter.
    pub(super) typing: bool,
    /// True while the user has frozen the displayed figures.
    pub(super) frozen: bool,
}

/// The effect of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyAction {
    /// The key has no action.
    Nothing,
    /// Draw the screen again.
    Draw,
    /// Stop the process.
    Suspend,
    /// End the view.
    Quit,
}

impl Choice {
    /// Processes the typed keys, and returns what the view has to do.
    pub(super) fn take(&mut self, typed: &str) -> KeyAction {
        let mut asked = KeyAction::Nothing;
        for key in typed.chars() {
            let known = match self.typing {
                // Ctrl-Z.
                _ if key == '\u{1a}' => return KeyAction::Suspend,
                true => self.text(key),
                false if key == 'q' => return KeyAction::Quit,
                false => self.key(key),
            };
            if known {
                asked = KeyAction::Draw;
            }
        }
        asked
    }

    /// Returns the filter; `None` if it is empty.
    pub(super) fn wanted(&self) -> Option<&str> {
        (!self.filter.is_empty()).then_some(self.filter.as_str())
    }

    fn key(&mut self, key: char) -> bool {
        match key {
            'c' => self.by = By::Client,
            'w' => self.by = By::Window,
            'r' => self.by = By::Request,
            't' => self.order = Order::Time,
            'n' => self.order = Order::Number,
            'o' => self.order = Order::RoundTrips,
            'b' => self.order = Order::Bytes,
            'h' => self.order = Order::Held,
            'a' => self.order = Order::Name,
            ' ' => self.frozen = !self.frozen,
            '/' => {
                self.filter.clear();
                self.typing = true;
            }
            // Escape removes the filter.
            '\u{1b}' => self.filter.clear(),
            _ => return false,
        }
        true
    }

    /// Adds a typed character to the filter, or ends the typing. Returns true if the key was used.
    fn text(&mut self, key: char) -> bool {
        match key {
            '\r' | '\n' => self.typing = false,
            '\u{1b}' => {
                self.filter.clear();
                self.typing = false;
            }
            '\u{7f}' | '\u{8}' => {
                self.filter.pop();
            }
            key if key.is_control() || self.filter.len() >= LONGEST => return false,
            key => self.filter.push(key),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use x11prof_views::clients_now::{By, Order};

    use super::{Choice, KEYS, KeyAction};

    #[test]
    fn keys_sort_group_filter_freeze_and_quit() {
        let mut choice = Choice::default();
        let orders = [
            ("n", Order::Number),
            ("o", Order::RoundTrips),
            ("b", Order::Bytes),
            ("h", Order::Held),
            ("a", Order::Name),
            ("t", Order::Time),
        ];
        for (key, order) in orders {
            assert_eq!(choice.take(key), KeyAction::Draw);
            assert_eq!(choice.order, order);
        }
        assert_eq!(choice.take("wr"), KeyAction::Draw);
        assert_eq!(choice.by, By::Request);
        choice.take(" ");
        assert!(choice.frozen);
        // Letters of a filter do not act as keys.
        choice.take("/qtr\u{7f}\u{1b}");
        assert_eq!((choice.wanted(), choice.typing), (None, false));
        choice.take("/xeyesq\u{7f}\r");
        assert_eq!((choice.wanted(), choice.typing), (Some("xeyes"), false));
        assert_eq!(choice.take("z"), KeyAction::Nothing);
        assert_eq!(choice.take("q"), KeyAction::Quit);
        assert!(KEYS.iter().all(|line| line.chars().count() <= 80));
    }
}
