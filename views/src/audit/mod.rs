//! All pages of one recording held against each other: parts against their whole, one page's figure against
//! another's. The list of what must hold is `checks.txt`.

mod check;
mod figure;
mod messages;
mod said;
mod walk;

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

pub use check::Violation;

use check::Check;

/// What must hold.
const CHECKS: &str = include_str!("checks.txt");

/// The pages of one recording, by their names.
#[derive(Debug, Default)]
pub struct Pages(BTreeMap<String, Page>);

/// A page, as far as checks read it.
#[derive(Debug)]
pub(crate) enum Page {
    /// Figures by their names; of a CSV file a list of its lines.
    Figures(Value),
    /// What is for people, on one line.
    Words(String),
}

/// The result of an audit.
#[derive(Debug, Default)]
pub struct Audit {
    /// Checks that hold.
    pub held: usize,
    /// Those that do not.
    pub violations: Vec<Violation>,
    /// Figures of checks that found nothing to compare in this recording.
    pub idle: Vec<&'static str>,
}

impl Pages {
    /// Adds what a command printed, read by the format that it was asked for.
    ///
    /// # Errors
    ///
    /// Text that is not in that format.
    pub fn add(&mut self, name: &str, format: &str, text: &str) -> Result<(), String> {
        let page = match format {
            "json" => Page::Figures(serde_json::from_str(text).map_err(|error| error.to_string())?),
            "lines" => Page::Figures(messages::added_up(text)),
            "csv" => Page::Figures(table(text).map_err(|error| error.to_string())?),
            "html" => Page::Figures(embedded(text)?),
            _ => Page::Words(text.split_whitespace().collect::<Vec<_>>().join(" ")),
        };
        self.0.insert(name.to_owned(), page);
        Ok(())
    }

    /// A figure of a page, by its path.
    #[must_use]
    pub fn figure(&self, path: &str) -> Option<f64> {
        figure::evaluate(path, &|page| self.figures(page))
    }

    /// Holds all pages against each other.
    #[must_use]
    pub fn audit(&self) -> Audit {
        let mut audit = Audit::default();
        for check in Check::all(CHECKS) {
            let before = audit.made();
            check.apply(self, &mut audit);
            if audit.made() == before {
                audit.idle.push(check.figure);
            }
        }
        for (name, page) in &self.0 {
            match page {
                Page::Figures(figures) => walk::figures(name, figures, &mut audit),
                Page::Words(words) => walk::words(name, words, &mut audit),
            }
        }
        audit
    }

    fn figures(&self, page: &str) -> Option<&Value> {
        match self.0.get(page)? {
            Page::Figures(figures) => Some(figures),
            Page::Words(_) => None,
        }
    }

    fn words(&self, page: &str) -> Option<&str> {
        match self.0.get(page)? {
            Page::Words(words) => Some(words),
            Page::Figures(_) => None,
        }
    }
}

impl fmt::Display for Audit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for violation in &self.violations {
            writeln!(out, "{violation}")?;
        }
        match self.violations.len() {
            0 => writeln!(out, "all {} checks hold", self.held)?,
            failed => writeln!(out, "{failed} of {} checks do not hold", self.made())?,
        }
        match self.idle.is_empty() {
            true => Ok(()),
            false => writeln!(out, "not in this recording: {}", self.idle.join(", ")),
        }
    }
}

/// The lines of a CSV file as records; what looks like a number is one.
fn table(text: &str) -> Result<Value, csv::Error> {
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .from_reader(text.as_bytes());
    let heads = reader.headers()?.clone();
    let mut lines = Vec::new();
    for line in reader.records() {
        let line = line?;
        let cells = heads.iter().zip(&line).map(|(head, cell)| {
            let value = match cell {
                "" => Value::Null,
                cell => serde_json::from_str(cell).unwrap_or_else(|_| Value::from(cell)),
            };
            (head.to_owned(), value)
        });
        lines.push(Value::Object(cells.collect::<Map<_, _>>()));
    }
    Ok(Value::Array(lines))
}

/// The figures in a page for a browser.
fn embedded(page: &str) -> Result<Value, String> {
    let begin = "<script type=\"application/json\" id=\"data\">";
    let data = page
        .split_once(begin)
        .and_then(|(_, rest)| rest.split_once("</script>"));
    let (data, _) = data.ok_or("the page has no figures in it")?;
    serde_json::from_str(data).map_err(|error| error.to_string())
}
