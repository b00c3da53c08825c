//! Names and texts of a trace without control characters.

use std::borrow::Cow;

/// Replaces control characters and direction marks in `text` by question marks: names in a trace may contain any
/// bytes, and terminals interpret some of them.
pub fn plain(text: &str) -> Cow<'_, str> {
    without(text, is_unsafe)
}

/// Like [`plain`], but keeps line feeds.
pub fn plain_lines(text: &str) -> Cow<'_, str> {
    without(text, |c| is_unsafe(c) && c != '\n')
}

/// True for characters that a terminal interprets, and for those that change the order of the surrounding text
/// (Unicode's Bidi_Control).
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
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
    fn terminal_control_characters_are_replaced() {
        assert_eq!(plain("\u{1b}[2J"), "?[2J");
        assert_eq!(plain("RENDER"), "RENDER");
        assert_eq!(plain("fdp.\u{202e}exe"), "fdp.?exe");
        assert_eq!(plain("two\nlines\u{9b}"), "two?lines?");
        assert_eq!(plain_lines("two\nlines\u{9b}\r"), "two\nlines??");
    }
}
