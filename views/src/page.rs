//! The page that a text is formatted for: its width, its colours, and the number of rows.

use std::borrow::Cow;

use unicode_width::UnicodeWidthStr;
use x11prof_analyzer::{StartUpReport, program_of};

use crate::plain::plain;

/// The default number of rows of a table.
pub const ROWS: usize = 10;
/// The default width in columns, if the output is no terminal.
pub const WIDTH: usize = 80;
/// The minimum width of a page, in columns.
const NARROWEST: usize = 40;

/// The properties of the page that a text is formatted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// The width in columns. No line is longer.
    pub width: usize,
    /// True if the text has colours.
    pub colour: bool,
    /// True to print all results instead of only the first screen.
    pub all: bool,
    /// Maximum number of rows of a table.
    pub rows: usize,
}

impl Default for Page {
    fn default() -> Page {
        Page {
            width: WIDTH,
            colour: false,
            all: false,
            rows: ROWS,
        }
    }
}

/// The style of a part of the text, if colours are on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// Bold, for headings and totals.
    Bold,
    /// Faint, for legends.
    Faint,
    /// The style of the bars in charts.
    Bar,
    /// The style of caveats.
    Caveat,
}

impl Page {
    /// Returns the page with all results.
    pub fn whole(self) -> Page {
        Page {
            all: true,
            rows: usize::MAX,
            ..self
        }
    }

    /// The width in columns for which text is laid out: the page's width, or the minimum width.
    pub(crate) fn columns(&self) -> usize {
        self.width.max(NARROWEST)
    }

    /// Returns `text` in `style` (ECMA-48, section 8.3.117), if colours are on.
    pub(crate) fn paint(&self, style: Style, text: &str) -> String {
        let code = match style {
            _ if !self.colour || text.is_empty() => return text.to_owned(),
            Style::Bold => "1",
            Style::Faint => "2",
            Style::Bar => "36",
            Style::Caveat => "33",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    /// Formats the sentences of a verdict, wrapped with an indent of `indent` columns. The first sentence is
    /// emphasised.
    pub(crate) fn answer(
        &self,
        lines: impl IntoIterator<Item = impl AsRef<str>>,
        indent: usize,
    ) -> String {
        let lines = lines.into_iter().enumerate();
        let lines = lines.map(|(number, line)| match number {
            0 => self.wrap_in(Style::Bold, line.as_ref(), indent),
            _ => self.wrap(line.as_ref(), indent),
        });
        lines.collect()
    }

    /// Returns `text` in `style`, wrapped as [`Page::wrap`] does.
    pub(crate) fn wrap_in(&self, style: Style, text: &str, indent: usize) -> String {
        let text = self.wrap(text, indent);
        format!("{}\n", self.paint(style, text.trim_end()))
    }

    /// Wraps the lines of `text` that are wider than the page.
    pub(crate) fn fold(&self, text: &str) -> String {
        let fold = |line: &str| match line.width() > self.columns() && !line.contains('\u{1b}') {
            true => self.wrap(line, line.len() - line.trim_start().len() + 2),
            false => format!("{line}\n"),
        };
        text.lines().map(fold).collect()
    }

    /// Wraps `text` to the width of the page. All lines except the first are indented by `indent` columns. A word that
    /// is longer than a line is cut.
    pub(crate) fn wrap(&self, text: &str, indent: usize) -> String {
        let width = self.columns();
        let mut out = String::new();
        let mut column = 0;
        // Keep the indentation of the text.
        let lead = text.len() - text.trim_start_matches(' ').len();
        out.push_str(&" ".repeat(lead));
        let mut empty = true;
        for word in &words(text) {
            let long = word.width();
            let at = if empty { lead } else { column + 1 };
            if !empty && at + long > width {
                out.push('\n');
                out.push_str(&" ".repeat(indent));
                column = indent;
            } else {
                out.push_str(if empty { "" } else { " " });
                column = at;
            }
            let word = cut(word, width - column.min(width - 1));
            column += word.width();
            out.push_str(&word);
            empty = false;
        }
        out.push('\n');
        out
    }
}

/// The words of `text`; a number and its unit are one word.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let unit = word.trim_end_matches(['.', ',', ';', ':', ')']);
        let is_unit = matches!(unit, "s" | "ms" | "µs" | "%" | "kB" | "MB" | "Mbit/s");
        match words.last_mut() {
            Some(number) if is_unit && number.ends_with(|c: char| c.is_ascii_digit()) => {
                number.push(' ');
                number.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// The minimum number of columns for a part of a window's title. A shorter part would not be useful.
const TITLE: usize = 8;

/// Shortens the window's title in quotes at the end of `text`, or removes the title.
fn with_short_title(text: &str, width: usize) -> Cow<'_, str> {
    let Some((name, title)) = text.split_once(" \"") else {
        return text.into();
    };
    let room = width.saturating_sub(name.width() + 3);
    match title.strip_suffix('"') {
        Some(title) if room >= TITLE => format!("{name} \"{}\"", cut(title, room)).into(),
        None if !title.ends_with('…') => text.into(),
        _ => name.into(),
    }
}

/// Shortens `text` to `width` columns. The function first removes a library in brackets, or shortens a title in quotes,
/// at the end of `text`; then it removes characters in the middle, or the last callers of a function, or the end of a
/// window (`Key in …`).
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    // The library of a function is less important than its name.
    let text = match text.rsplit_once(" [") {
        Some((names, library)) if library.ends_with(']') => names.into(),
        _ => with_short_title(text, width),
    };
    if text.width() <= width {
        return text.into_owned();
    }
    let keep = width.saturating_sub(1);
    let is_ranked = text.contains(" < ") || text.contains(" in ");
    let tail = if is_ranked { 0 } else { keep / 3 };
    let head = keep - tail;
    let mut first = String::new();
    for c in text.chars() {
        if first.width() + c.to_string().width() > head {
            break;
        }
        first.push(c);
    }
    let mut last: Vec<char> = Vec::new();
    let mut wide = 0;
    for c in text.chars().rev() {
        wide += c.to_string().width();
        if wide > tail {
            break;
        }
        last.push(c);
    }
    first.push('…');
    first.extend(last.iter().rev());
    first
}

/// A name from a trace without control characters, shortened to `width` columns.
pub(crate) fn name(text: &str, width: usize) -> String {
    cut(&plain(text), width)
}

/// Returns a line with the number `more` of omitted rows; empty if there are none. `place` is the option or format that
/// shows these rows, and begins with a space.
pub(crate) fn left_out(more: usize, place: &str) -> String {
    match more {
        0 => String::new(),
        more => format!("… {more} more{place}\n"),
    }
}

/// Returns advice to limit a page to the client of its start-up; `None` if all `programs` are that client, or if there
/// is no start-up.
pub(crate) fn without_others<'a>(
    start_ups: &[StartUpReport],
    mut programs: impl Iterator<Item = &'a str>,
) -> Option<String> {
    let name = program_of(&StartUpReport::first(start_ups)?.client)?;
    let advice = || format!("Without other clients: --client {}", plain(name));
    programs.any(|program| program != name).then(advice)
}

#[cfg(test)]
mod tests {
    use super::{Page, Style, cut};

    #[test]
    fn long_words_are_shortened_in_the_middle() {
        assert_eq!(
            cut("RENDER:CompositeGlyphs16", 24),
            "RENDER:CompositeGlyphs16"
        );
        assert_eq!(cut("RENDER:CompositeGlyphs16", 13), "RENDER:C…hs16");
        assert_eq!(cut("日本語日本語", 7), "日本…語");
        assert_eq!(cut("abc", 1), "…");
        assert_eq!(cut("gdk_init < main [gtk]", 15), "gdk_init < main");
        assert_eq!(cut(r#"Key in "A long title""#, 18), r#"Key in "A long…le""#);
        assert_eq!(cut(r#"Key in "A long title""#, 16), "Key in");
    }

    #[test]
    fn text_is_wrapped_at_words() {
        let page = Page {
            width: 40,
            ..Page::default()
        };
        let text = page.wrap("? one two three four five six seven eight nine", 2);
        assert_eq!(text, "? one two three four five six seven\n  eight nine\n");
        let text = page.wrap("? one two three four five six seven 31.5 s, nine", 2);
        assert_eq!(
            text,
            "? one two three four five six seven\n  31.5 s, nine\n"
        );
        let long = page.wrap(&"x".repeat(100), 2);
        assert!(long.contains('…') && long.chars().count() == 41);
    }

    #[test]
    fn colours_are_only_for_terminals() {
        let page = Page::default();
        assert_eq!(page.paint(Style::Bold, "a"), "a");
        let page = Page {
            colour: true,
            ..page
        };
        assert_eq!(page.paint(Style::Bold, "a"), "\u{1b}[1ma\u{1b}[0m");
    }
}
