//! Collapsed stacks: one line per stack, `client;window;request MICROSECONDS`, for Brendan Gregg's flamegraph.pl,
//! inferno, speedscope and the Firefox Profiler.

use std::io;

use x11prof_analyzer::Stack;

use crate::plain;

/// Writes the stacks with the server's time in whole microseconds, one stack per line. The rounding error of a line is
/// added to the next line. The sum is therefore the server's time, even if most stacks take less than a microsecond.
/// Stacks of zero microseconds are dropped.
pub fn collapsed(stacks: &[Stack], out: &mut dyn io::Write) -> io::Result<()> {
    for line in lines(stacks) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// The lines of the file, without line feeds.
pub(super) fn lines(stacks: &[Stack]) -> impl Iterator<Item = String> {
    let mut error = 0.0;
    stacks.iter().filter_map(move |stack| {
        let exact = stack.server.0 + error;
        let micros = exact.round();
        error = exact - micros;
        let names = [&stack.client].into_iter().chain(&stack.place);
        let names: Vec<String> = names
            .chain([&stack.request])
            .map(|name| frame(name))
            .collect();
        (micros >= 1.0).then(|| format!("{} {}", names.join(";"), micros as u64))
    })
}

/// Returns a name as a frame of a collapsed stack. `;` separates frames and a line feed ends the stack, so both
/// characters are replaced. Characters that a terminal interprets are also replaced.
fn frame(name: &str) -> String {
    plain(name).replace(';', ",")
}

#[cfg(test)]
mod tests {
    use x11prof_analyzer::Stack;
    use x11prof_cost_model::Micros;

    use super::collapsed;

    #[test]
    fn frame_names_are_escaped_and_rounding_errors_carried() {
        let stack = |window: &str, server| Stack {
            client: "xterm".into(),
            place: vec![window.into()],
            request: "PolyLine".into(),
            server: Micros(server),
            ..Stack::default()
        };
        let mut out = Vec::new();
        let stacks = [
            stack("a;b\nc\u{202e}", 1.6),
            stack("w", 0.4),
            stack("x", 0.4),
            stack("y", 0.4),
        ];
        collapsed(&stacks, &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "xterm;a,b?c?;PolyLine 2\nxterm;y;PolyLine 1\n"
        );
    }
}
