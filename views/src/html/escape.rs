//! Text and JSON within HTML: names come from recorded programs and must not become markup.

use std::io::{self, Write};

/// Escapes text between tags.
pub(crate) fn text(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
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

/// Escapes JSON so that it cannot end its script element. A `<` occurs only within JSON strings, where an escape
/// sequence has the same meaning.
pub(super) struct ScriptSafe<W>(pub(super) W);

impl<W: Write> Write for ScriptSafe<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut parts = bytes.split(|&byte| byte == b'<');
        if let Some(first) = parts.next() {
            self.0.write_all(first)?;
        }
        for part in parts {
            self.0.write_all(b"\\u003c")?;
            self.0.write_all(part)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_cannot_close_the_script_element() {
        let mut out = Vec::new();
        serde_json::to_writer(ScriptSafe(&mut out), "</script><!-- <b>").expect("a Vec takes all");
        assert_eq!(out, br#""\u003c/script>\u003c!-- \u003cb>""#);
        let back: String = serde_json::from_slice(&out).expect("JSON");
        assert_eq!(back, "</script><!-- <b>");
    }

    #[test]
    fn markup_in_text_is_escaped() {
        assert_eq!(text("a <b> & \"c\""), "a &lt;b&gt; &amp; &quot;c&quot;");
    }
}
