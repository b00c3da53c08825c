//! The pages of one recording, as checks read them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::figure::evaluate;
use super::messages::added_up;

/// The pages of one recording, by their names.
#[derive(Debug, Default)]
pub struct Pages(pub(super) BTreeMap<String, Page>);

/// A page, as far as checks read it.
#[derive(Debug)]
pub(crate) enum Page {
    /// Figures by their names; of a CSV file a list of its lines.
    Figures(Value),
    /// Text for people, on one line.
    Words(String),
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
            "lines" => Page::Figures(added_up(text)),
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
        evaluate(path, &|page| self.figures(page))
    }

    pub(super) fn figures(&self, page: &str) -> Option<&Value> {
        match self.0.get(page)? {
            Page::Figures(figures) => Some(figures),
            Page::Words(_) => None,
        }
    }

    pub(super) fn words(&self, page: &str) -> Option<&str> {
        match self.0.get(page)? {
            Page::Words(words) => Some(words),
            Page::Figures(_) => None,
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
