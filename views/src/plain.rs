//! Removes control characters from names and texts of a trace.

use std::borrow::Cow;
use std::io::{self, Write};

use x11prof_protocol::is_unsafe;

/// Replaces control characters and direction marks in `text` by question marks. Names in a trace may contain any bytes,
/// and terminals interpret some of them.
pub fn plain(text: &str) -> Cow<'_, str> {
    without(text, is_unsafe)
}

/// Escapes `text` for an attribute of XML 1.0. Characters that XML does not allow become question marks.
pub(crate) fn xml_text(text: &str) -> String {
    markup(&plain(text)).replace('\'', "&apos;")
}

/// Escapes `text` for HTML: names come from recorded programs and must not become markup. Replaces the same characters
/// as [`plain_lines`].
pub(crate) fn markup(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in plain_lines(text).chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            other => safe.push(other),
        }
    }
    safe
}

/// Replaces control characters and direction marks like [`plain`], but keeps line feeds.
pub fn plain_lines(text: &str) -> Cow<'_, str> {
    without(text, |c| is_unsafe(c) && c != '\n')
}

fn without(text: &str, bad: impl Fn(char) -> bool) -> Cow<'_, str> {
    match text.chars().any(&bad) {
        true => Cow::Owned(text.chars().map(|c| if bad(c) { '?' } else { c }).collect()),
        false => Cow::Borrowed(text),
    }
}

/// A writer that replaces some characters in JSON by escape sequences. These characters occur only inside of strings.
/// Each write must contain whole characters, as the writes of serde_json do.
pub struct EscapedJson<W> {
    out: W,
    is_escaped: fn(char) -> bool,
}

/// serde_json escapes the ASCII control characters except DEL. The remaining control characters are line feeds between
/// values.
fn is_unsafe_beyond_serde(c: char) -> bool {
    c >= '\u{7f}' && is_unsafe(c)
}

impl<W: Write> EscapedJson<W> {
    /// Escapes the characters that [`plain`] replaces.
    pub fn plain(out: W) -> EscapedJson<W> {
        EscapedJson {
            out,
            is_escaped: is_unsafe_beyond_serde,
        }
    }

    /// Escapes the characters that [`plain`] replaces, and also `<`, so that the JSON cannot end its script element.
    pub(crate) fn in_script(out: W) -> EscapedJson<W> {
        EscapedJson {
            out,
            is_escaped: |c| c == '<' || is_unsafe_beyond_serde(c),
        }
    }
}

impl<W: Write> Write for EscapedJson<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for chunk in bytes.utf8_chunks() {
            let mut rest = chunk.valid();
            while let Some((at, c)) = rest.char_indices().find(|(_, c)| (self.is_escaped)(*c)) {
                self.out.write_all(&rest.as_bytes()[..at])?;
                for unit in c.encode_utf16(&mut [0; 2]) {
                    write!(self.out, "\\u{unit:04x}")?;
                }
                rest = &rest[at + c.len_utf8()..];
            }
            self.out.write_all(rest.as_bytes())?;
            self.out.write_all(chunk.invalid())?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::{EscapedJson, markup, plain, plain_lines, xml_text};

    /// The JSON of a text, escaped.
    fn json(text: &str, escaped: fn(Vec<u8>) -> EscapedJson<Vec<u8>>) -> String {
        let mut out = escaped(Vec::new());
        serde_json::to_writer_pretty(&mut out, &[text]).expect("a Vec takes all");
        let back: [String; 1] = serde_json::from_slice(&out.out).expect("JSON");
        assert_eq!(back, [text]);
        String::from_utf8(out.out).expect("UTF-8")
    }

    #[test]
    fn json_has_no_control_characters_or_direction_marks() {
        let text = json(
            "\u{1b}[2J \u{9b}2J\u{7f} \u{202e}é\u{e0041}",
            EscapedJson::plain,
        );
        let escaped = r#"\u001b[2J \u009b2J\u007f \u202eé\udb40\udc41"#;
        assert_eq!(text, format!("[\n  \"{escaped}\"\n]"));
    }

    #[test]
    fn json_cannot_close_the_script_element() {
        let text = json("</script><!-- <b>\u{202e}", EscapedJson::in_script);
        assert!(
            text.contains(r#""\u003c/script>\u003c!-- \u003cb>\u202e""#),
            "{text}"
        );
    }

    #[test]
    fn markup_is_escaped() {
        assert_eq!(markup("a <b> & \"c\""), "a &lt;b&gt; &amp; &quot;c&quot;");
        assert_eq!(markup("\u{1b}[2J\u{202e}\n"), "?[2J?\n");
        assert_eq!(xml_text("<'\u{1}\u{ffff}"), "&lt;&apos;??");
    }

    #[test]
    fn terminal_control_characters_are_replaced() {
        assert_eq!(plain("\u{1b}[2J"), "?[2J");
        assert_eq!(plain("RENDER"), "RENDER");
        assert_eq!(plain("fdp.\u{202e}exe\u{2028}\u{feff}"), "fdp.?exe??");
        assert_eq!(plain("two\nlines\u{9b}"), "two?lines?");
        assert_eq!(plain_lines("two\nlines\u{9b}\r"), "two\nlines??");
    }
}
