//! Names and texts of a trace without control characters.

use std::borrow::Cow;

/// `text` without control characters: names in a trace may hold any bytes, and a terminal obeys
/// some of them. Each becomes a question mark.
pub fn plain(text: &str) -> Cow<'_, str> {
    without(text, char::is_control)
}

/// The text as [`plain`] has it, but with its line feeds.
pub fn plain_lines(text: &str) -> Cow<'_, str> {
    without(text, |c| c.is_control() && c != '\n')
}

fn without(text: &str, bad: impl Fn(char) -> bool) -> Cow<'_, str> {
    match text.chars().any(&bad) {
        true => Cow::Owned(text.chars().map(|c| if bad(c) { '?' } else { c }).collect()),
        false => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::{plain, plain_lines};

    #[test]
    fn terminal_controls_in_names_are_disarmed() {
        assert_eq!(plain("\u{1b}[2J"), "?[2J");
        assert_eq!(plain("RENDER"), "RENDER");
        assert_eq!(plain("two\nlines\u{9b}"), "two?lines?");
        assert_eq!(plain_lines("two\nlines\u{9b}\r"), "two\nlines??");
    }
}
