//! A terminal's text as a picture (SVG), which is small and sharp at any size.

/// A character's width and a line's height, in pixels.
const CHARACTER: f64 = 7.8;
const LINE: usize = 17;
/// Margin around the text, in pixels.
const MARGIN: usize = 10;

/// Renders `lines` of at most `columns`. The first line is bold; lines accepted by `is_heading` are light on dark.
pub(super) fn svg(lines: &[&str], columns: usize, is_heading: impl Fn(&str) -> bool) -> String {
    let width = (columns as f64 * CHARACTER) as usize + 2 * MARGIN;
    let height = lines.len() * LINE + 2 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" font-size=\"13\">\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"6\" fill=\"#1d1f21\"/>\n"
    );
    for (number, line) in lines.iter().enumerate() {
        let top = MARGIN + number * LINE;
        let heading = is_heading(line);
        if heading {
            let inner = width - 2 * MARGIN;
            svg.push_str(&format!(
                "<rect x=\"{MARGIN}\" y=\"{top}\" width=\"{inner}\" height=\"{LINE}\" fill=\"#c5c8c6\"/>\n"
            ));
        }
        if line.trim().is_empty() {
            continue;
        }
        let fill = if heading { "#1d1f21" } else { "#c5c8c6" };
        let weight = if number == 0 {
            " font-weight=\"bold\""
        } else {
            ""
        };
        let length = line.chars().count() as f64 * CHARACTER;
        svg.push_str(&format!(
            "<text x=\"{MARGIN}\" y=\"{}\" fill=\"{fill}\"{weight} xml:space=\"preserve\" \
             textLength=\"{length:.1}\" lengthAdjust=\"spacingAndGlyphs\">{}</text>\n",
            top + LINE - 4,
            escaped(line)
        ));
    }
    svg.push_str("</svg>\n");
    svg
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;")
}
