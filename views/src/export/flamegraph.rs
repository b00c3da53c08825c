//! A flame graph (SVG) of the server's time: clients, their windows, their requests.

use std::io;

use inferno::flamegraph::{Direction, Options, from_lines};
use x11prof_analyzer::Stack;

use super::collapsed::lines;

/// Draws the stacks, with `title` above them. An error where they took no time.
pub fn flame_graph(title: &str, stacks: &[Stack], out: &mut dyn io::Write) -> io::Result<()> {
    let lines: Vec<String> = lines(stacks).collect();
    let mut options = Options::default();
    title.clone_into(&mut options.title);
    "µs".clone_into(&mut options.count_name);
    "client, window, request:".clone_into(&mut options.name_type);
    // The client on top, as a reader goes.
    options.direction = Direction::Inverted;
    // Equal names have equal colours, in every run.
    options.hash = true;
    from_lines(&mut options, lines.iter().map(String::as_str), out)
}

#[cfg(test)]
mod tests {
    use x11prof_analyzer::Stack;
    use x11prof_cost_model::Micros;

    use super::flame_graph;

    #[test]
    fn it_is_drawn_and_needs_no_network() {
        let stack = Stack {
            client: "xterm <1>".into(),
            window: "(no window)".into(),
            request: "PolyLine".into(),
            server: Micros(12.0),
            ..Stack::default()
        };
        let mut svg = Vec::new();
        flame_graph("a.mcap", &[stack], &mut svg).unwrap();
        let svg = String::from_utf8(svg).unwrap();
        assert!(
            svg.contains("<title>xterm &lt;1&gt; (12 µs, 100.00%)</title>"),
            "{svg}"
        );
        assert!(svg.contains("<title>PolyLine (12 µs, 100.00%)</title>"));
        assert!(!svg.contains("href=\"http") && !svg.contains("url(http"));
    }
}
