//! The result of comparing a recording with a budget: a list in text form, and JUnit XML for CI.

use std::fmt::Write;

use x11prof_analyzer::{BudgetLine, BudgetVerdict, Found};

use crate::page::{Page, Style};
use crate::plain::{plain, xml_text};
use crate::units::counted;

/// The verdict as text: the exceeded limits, the number of limits, and the limits that are not exceeded.
pub fn text(verdict: &BudgetVerdict, page: &Page) -> String {
    let mut out = String::new();
    let over: Vec<&BudgetLine> = verdict
        .lines
        .iter()
        .filter(|line| !line.is_kept())
        .collect();
    for line in &over {
        let line = format!("over: {}", plain(&reported(line)));
        out.push_str(&page.wrap_in(Style::Caveat, &line, 6));
    }
    let kept = verdict.lines.len() - over.len();
    let counts = format!(
        "{} kept, {} over",
        counted(kept as u64, "limit"),
        over.len()
    );
    let _ = writeln!(out, "{}", page.paint(Style::Bold, &counts));
    for line in verdict.lines.iter().filter(|line| line.is_kept()) {
        out.push_str(&page.wrap(&format!("kept: {}", plain(&reported(line))), 6));
    }
    out
}

/// Returns the result of comparing the recording `name` with its budget as JUnit XML: a test case for each limit.
pub fn junit(verdict: &BudgetVerdict, name: &str) -> String {
    let over = verdict.lines.iter().filter(|line| !line.is_kept()).count();
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"x11prof check\" tests=\"{}\" failures=\"{over}\">\n",
        verdict.lines.len(),
    );
    for line in &verdict.lines {
        let _ = write!(
            out,
            "    <testcase classname=\"{}\" name=\"{}\"",
            xml_text(name),
            xml_text(&line.name)
        );
        let _ = match line.is_kept() {
            true => writeln!(out, "/>"),
            false => writeln!(
                out,
                "><failure message=\"{}\"/></testcase>",
                xml_text(&reported(line))
            ),
        };
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

fn reported(line: &BudgetLine) -> String {
    match &line.found {
        Found::Figure(found) => format!(
            "{}: {} found, {} allowed",
            line.name,
            figure(*found),
            figure(line.limit)
        ),
        Found::None(why) => format!("{}: unknown, because {why}", line.name),
    }
}

fn figure(value: f64) -> String {
    match value.fract() == 0.0 {
        true => format!("{value:.0}"),
        false => format!("{value:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use x11prof_analyzer::{BudgetLine, BudgetVerdict, Found};

    use super::{junit, text};
    use crate::page::Page;

    fn verdict() -> BudgetVerdict {
        let line = |name: &str, limit, found| BudgetLine {
            name: name.to_owned(),
            limit,
            found,
        };
        BudgetVerdict {
            lines: vec![
                line("total.requests", 10.0, Found::Figure(9.0)),
                line("start_up.round_trips", 3.0, Found::Figure(78.0)),
                line(
                    "start_up.latency_ms",
                    3.0,
                    Found::None("it mapped no <window>".to_owned()),
                ),
            ],
        }
    }

    #[test]
    fn exceeded_limits_come_first() {
        let expected = "over: start_up.round_trips: 78 found, 3 allowed\n\
            over: start_up.latency_ms: unknown, because it mapped no <window>\n\
            1 limit kept, 2 over\n\
            kept: total.requests: 9 found, 10 allowed\n";
        assert_eq!(text(&verdict(), &Page::default()), expected);
    }

    #[test]
    fn junit_has_a_case_for_each_limit() {
        let xml = junit(&verdict(), "a\"b.mcap");
        assert!(xml.contains("tests=\"3\" failures=\"2\""), "{xml}");
        assert!(
            xml.contains("<testcase classname=\"a&quot;b.mcap\" name=\"total.requests\"/>"),
            "{xml}"
        );
        assert!(
            xml.contains("it mapped no &lt;window&gt;\"/></testcase>"),
            "{xml}"
        );
    }
}
