//! A consistency check of `checks.txt`: the required relation between figures of the report's outputs. If a check
//! fails, this module also creates the message.

use std::collections::BTreeMap;

use serde_json::Value;

use super::figure::{all, evaluate};
use super::outcome::Audit;
use super::pages::Pages;
use super::said::number;

/// The text of `checks.txt`: all checks, one per line.
pub(super) const CHECKS: &str = include_str!("checks.txt");

/// A consistency check from `checks.txt`. A check is skipped if the recording lacks its figures.
#[derive(Debug, PartialEq)]
pub(super) struct Check<'a> {
    /// The path of the list to whose elements the check applies; `None` if the check does not apply to list elements.
    each: Option<&'a str>,
    kind: CheckKind,
    /// The name of the compared figure, for messages.
    pub(super) figure: &'a str,
    /// The paths of the figures to compare.
    sides: Vec<&'a str>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum CheckKind {
    /// All figures are equal.
    Same,
    /// The first figure is at most as large as the other figures.
    Most,
    /// The figures are equal within a relative and an absolute tolerance.
    About(f64, f64),
    /// Several lists have the same figures for elements with the same name.
    Names,
    /// A text output contains the figure.
    Said,
}

/// Returns the tolerance between two figures that should be equal. The figures may be sums of many rounded parts.
fn apart(here: f64, there: f64) -> f64 {
    1e-5 + 1e-6 * here.abs().max(there.abs())
}

impl<'a> Check<'a> {
    /// Parses a list of checks, such as `CHECKS`. Invalid lines are skipped (a test detects them).
    pub(super) fn all(list: &'a str) -> Vec<Check<'a>> {
        let mut checks: Vec<Check<'a>> = Vec::new();
        for line in list.lines().filter(|line| !line.starts_with('#')) {
            let side = line.trim_start();
            match (side.len() < line.len(), checks.last_mut()) {
                (true, Some(last)) => {
                    let side = side.trim_start_matches('<').trim_start_matches("= ");
                    last.sides.push(side);
                }
                _ => checks.extend(Check::first(line)),
            }
        }
        checks
    }

    fn first(line: &'a str) -> Option<Check<'a>> {
        let (each, line) = match line.strip_prefix("each ") {
            Some(rest) => rest
                .split_once(' ')
                .map(|(list, rest)| (Some(list), rest))?,
            None => (None, line),
        };
        let (kind, rest) = line.split_once(' ')?;
        let (figure, side) = rest.split_once(": ")?;
        let (kind, figure) = match kind {
            "same" => (CheckKind::Same, figure),
            "most" => (CheckKind::Most, figure),
            "names" => (CheckKind::Names, figure),
            "said" => (CheckKind::Said, figure),
            "about" => {
                let (share, rest) = figure.split_once("% ")?;
                let (much, figure) = rest.split_once(' ')?;
                let share: f64 = share.parse().ok()?;
                (CheckKind::About(share / 100.0, much.parse().ok()?), figure)
            }
            _ => return None,
        };
        Some(Check {
            each,
            kind,
            figure,
            sides: vec![side],
        })
    }

    pub(super) fn apply(&self, pages: &Pages, audit: &mut Audit) {
        let page = |name: &str| pages.figures(name);
        match (self.kind, self.each) {
            // In this case, a printed caveat already reports the difference.
            (CheckKind::About(..), _)
                if pages.figure("report:warnings[kind=clocks-differ].count") > Some(0.0) => {}
            (CheckKind::Names, _) => self.by_name(pages, audit),
            (CheckKind::Said, _) => self.said(pages, audit),
            (_, None) => self.compare(&page, self.figure, audit),
            (_, Some(list)) => {
                let (name, path) = list.split_once(':').unwrap_or(("", list));
                let elements = page(name).and_then(|root| all(root, path));
                for (number, element) in elements.unwrap_or_default().into_iter().enumerate() {
                    let figure = format!("{} of {list} {number}", self.figure);
                    self.compare(&|_: &str| Some(element), &figure, audit);
                }
            }
        }
    }

    fn compare<'v>(
        &self,
        page: &impl Fn(&str) -> Option<&'v Value>,
        figure: &str,
        audit: &mut Audit,
    ) {
        let value = |path: &&'a str| Some((*path, evaluate(path, page)?));
        let (sides, more) = match self.kind {
            CheckKind::About(..) => self.sides.split_at(2),
            _ => self.sides.split_at(self.sides.len()),
        };
        let more: f64 = more.iter().filter_map(value).map(|(_, ms)| ms).sum();
        let mut known = sides.iter().filter_map(value);
        let Some(first) = known.next() else { return };
        for next in known {
            let (a, b) = (first.1, next.1);
            let (holds, why) = match self.kind {
                CheckKind::Most => (a <= b + apart(a, b), "more than"),
                CheckKind::About(share, much) => {
                    ((a - b).abs() <= share * a.max(b) + much + more, "far from")
                }
                _ => ((a - b).abs() <= apart(a, b), "but"),
            };
            audit.note(holds, figure, first, why, next);
        }
    }

    /// Compares the figures of elements with the same name in several lists. Each of `sides` contains the path of a
    /// list, the field with the name, and the path of the figure.
    fn by_name(&self, pages: &Pages, audit: &mut Audit) {
        let read = |side: &&str| -> Option<BTreeMap<String, f64>> {
            let mut words = side.splitn(3, ' ');
            let (page, list) = words.next()?.split_once(':')?;
            let (key, path) = (words.next()?, words.next()?);
            let mut sums = BTreeMap::new();
            for element in all(pages.figures(page)?, list)? {
                let Some(figure) = evaluate(path, &|_| Some(element)) else {
                    continue;
                };
                let key = element.get(key)?;
                let key = key.as_str().map_or_else(|| key.to_string(), str::to_owned);
                *sums.entry(key).or_default() += figure;
            }
            Some(sums)
        };
        let sides: Option<Vec<_>> = self.sides.iter().map(read).collect();
        let Some([ours, theirs]) = sides.as_deref() else {
            return;
        };
        let names: std::collections::BTreeSet<_> = ours.keys().chain(theirs.keys()).collect();
        for name in names {
            let of = |from: &BTreeMap<String, f64>| from.get(name).copied().unwrap_or_default();
            let (a, b) = (of(ours), of(theirs));
            let figure = format!("{} of {name}", self.figure);
            let holds = (a - b).abs() <= apart(a, b);
            audit.note(
                holds,
                &figure,
                (self.sides[0], a),
                "but",
                (self.sides[1], b),
            );
        }
    }

    /// Compares a number in a text output with a figure. `sides` are a text output with the index of the number and the
    /// words before it, and the path of the figure.
    fn said(&self, pages: &Pages, audit: &mut Audit) {
        let found = || {
            let [side, path] = self.sides.as_slice() else {
                return None;
            };
            let (page, rest) = side.split_once(' ')?;
            let (place, after) = rest.split_once(" after ")?;
            let number = number(pages.words(page)?, after, place.parse().ok()?)?;
            Some((number, (*path, pages.figure(path)?)))
        };
        if let Some((number, (path, value))) = found() {
            let here = (self.sides[0], number.value);
            audit.note(number.is(value), self.figure, here, "but", (path, value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Audit, CHECKS, Check, CheckKind, Pages};

    fn audit(list: &'static str, pages: &[(&str, &str, &str)]) -> Audit {
        let mut all = Pages::default();
        for (name, format, text) in pages {
            all.add(name, format, text).unwrap();
        }
        let mut audit = Audit::default();
        Check::all(list)
            .iter()
            .for_each(|check| check.apply(&all, &mut audit));
        audit
    }

    #[test]
    fn every_line_of_the_check_list_parses() {
        let list = CHECKS;
        let checks = Check::all(list);
        let begun = list.lines().filter(|line| !line.starts_with(['#', ' ']));
        assert_eq!(checks.len(), begun.count());
        for check in checks {
            let sides = check.sides.len();
            assert!(
                sides == 2
                    || (sides > 2 && check.kind == CheckKind::Same)
                    || (sides == 3 && matches!(check.kind, CheckKind::About(..))),
                "{check:?}"
            );
        }
    }

    #[test]
    fn same_check_compares_totals_with_sums() {
        let page = r#"{"total": 5, "parts": [{"name": "a", "n": 2}, {"name": "b", "n": 3.5}]}"#;
        let list = "same things: p:total\n    = p:parts[].n\n    = p:missing\nmost part: max p:parts[].n\n    <= p:total\n";
        let found = audit(list, &[("p", "json", page)]);
        assert_eq!((found.held, found.violations.len()), (1, 1));
        assert_eq!(
            found.violations[0].to_string(),
            "things: 5 by p:total, but 5.5 by p:parts[].n"
        );
    }

    #[test]
    fn checks_read_xml_and_stacks() {
        let xml = "<EVENTS>\n<EVENT START='1' NAME='Key &amp; button'>\n  <STATS CALLS='2'\n    REAL='500' REALA='250' />\n</EVENT>\n</EVENTS>\n";
        let pages = [
            (
                "e",
                "json",
                r#"{"l": [{"k": "Key &amp; button", "ms": 6e-4}]}"#,
            ),
            ("x", "xml", xml),
            ("s", "stacks", "a;b 1500\na;c d 500\n"),
        ];
        let list = "names time: e:l[] k ms * 1000000\n    = x:[] NAME REAL\n\
                    same calls: 2\n    = x:[].CALLS\nsame stacks: 2\n    = s:ms\n";
        let found = audit(list, &pages);
        assert_eq!((found.held, found.violations.len()), (2, 1), "{found}");
    }

    #[test]
    fn checks_read_values_by_name_element_and_text() {
        let pages = [
            ("p", "json", r#"{"l": [{"k": "x", "n": 2, "of": 1}]}"#),
            ("c", "csv", "name,n\nx,2\ny,1\n"),
            ("t", "text", "In 5.10 s clients ran\n741 ms (15 %)"),
        ];
        let list = "names n: p:l[] k n\n    = c:[] name n\neach p:l[] most n: n\n    <= of\n\
                    said clients: t 0 after clients ran\n    = 741.4\nsaid clock: t 0 after In\n    = 5094\n";
        let found = audit(list, &pages);
        let said: Vec<String> = found.violations.iter().map(ToString::to_string).collect();
        assert_eq!(found.held, 2, "{said:?}");
        assert_eq!(said[0], "n of y: 0 by p:l[] k n, but 1 by c:[] name n");
        assert_eq!(said[1], "n of p:l[] 0: 2 by n, more than 1 by of");
        assert_eq!(said[2], "clock: 5100 by t 0 after In, but 5094 by 5094");
    }
}
