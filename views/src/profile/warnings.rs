//! The warnings of a report as text, by kind.

use x11prof_analyzer::Warning;

use super::caveats::doubt;
use crate::page::Page;
use crate::plain::plain;

/// The maximum number of printed warnings of one kind. The JSON output contains all warnings.
const SHOWN: usize = 10;

pub(super) fn warnings(warnings: &[Warning], page: &Page) -> String {
    let mut text = String::new();
    for of_kind in warnings.chunk_by(|a, b| a.kind == b.kind) {
        let Some(first) = of_kind.first() else {
            continue;
        };
        let count: u64 = of_kind.iter().map(|warning| warning.count).sum();
        let lines: Vec<String> = of_kind.iter().filter_map(line).collect();
        if lines.is_empty() {
            continue;
        }
        text.push_str(&format!("\n{}:\n", doubt(first.kind, count).0));
        for line in lines.iter().take(SHOWN) {
            text.push_str(&page.wrap(&format!("  {line}"), 4));
        }
        if lines.len() > SHOWN {
            text.push_str(&format!("  … {} more\n", lines.len() - SHOWN));
        }
    }
    text
}

/// Returns the line of a warning, such as `PolyLine fillstyle: FillStippled -> FillOpaqueStippled (12)`. `None` for a
/// warning about the whole recording, because the caveat contains all its details.
fn line(warning: &Warning) -> Option<String> {
    let mut line = String::new();
    line.push_str(&plain(warning.request.as_ref()?));
    if let Some(attribute) = &warning.attribute {
        line.push_str(&format!(" {}:", plain(attribute)));
    }
    match (&warning.from, &warning.to) {
        (Some(from), Some(to)) => line.push_str(&format!(" {} -> {}", plain(from), plain(to))),
        (Some(from), None) => line.push_str(&format!(" {}", plain(from))),
        (None, Some(to)) => line.push_str(&format!(" unknown -> {}", plain(to))),
        (None, None) => {}
    }
    line.push_str(&format!(" ({})", warning.count));
    Some(line)
}
