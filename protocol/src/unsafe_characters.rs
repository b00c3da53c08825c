//! Characters that a terminal or a reader misreads.

/// True for characters that a terminal interprets, for those that change the order of the surrounding text (Unicode's
/// Bidi_Control), for other separators of lines, and for invisible ones.
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' | '\u{e0000}'..='\u{e007f}')
}
