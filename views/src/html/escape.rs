//! Text within HTML: names come from recorded programs and must not become markup.

/// Escapes text for the space between HTML tags.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_text_is_escaped() {
        assert_eq!(text("a <b> & \"c\""), "a &lt;b&gt; &amp; &quot;c&quot;");
    }
}
