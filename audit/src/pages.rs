//! The output of all reports on a recording, parsed for the checks of `audit`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::figure::evaluate;
use super::messages::added_up;

/// The outputs (pages) for one recording, by name.
#[derive(Debug, Default)]
pub struct Pages(pub(super) BTreeMap<String, Page>);

/// An output that was parsed for the checks.
#[derive(Debug)]
pub(crate) enum Page {
    /// The figures of a JSON output by name; for CSV, a list of its records.
    Figures(Value),
    /// A text output, with all words on one line.
    Words(String),
}

impl Pages {
    /// Adds the page `name`: the output `text` of a command, parsed according to `format`.
    ///
    /// # Errors
    ///
    /// The text is not in that format.
    pub fn add(&mut self, name: &str, format: &str, text: &str) -> Result<(), String> {
        let page = match format {
            "json" => Page::Figures(serde_json::from_str(text).map_err(|error| error.to_string())?),
            "lines" => Page::Figures(added_up(text)),
            "csv" => Page::Figures(table(text).map_err(|error| error.to_string())?),
            "xml" => Page::Figures(attributes(text)),
            "stacks" => Page::Figures(stacks(text)),
            "html" => Page::Figures(embedded(text)?),
            _ => Page::Words(text.split_whitespace().collect::<Vec<_>>().join(" ")),
        };
        self.0.insert(name.to_owned(), page);
        Ok(())
    }

    /// Adds the outputs of a report in all formats, as `--format all` prints them. The outputs other than JSON are
    /// named after their formats. `plain` removes words that are not figures from these outputs.
    ///
    /// # Errors
    ///
    /// The text is not in that format.
    pub fn add_all(
        &mut self,
        name: &str,
        text: &str,
        plain: impl Fn(&str) -> String,
    ) -> Result<(), String> {
        let (figures, others): (Value, BTreeMap<String, String>) =
            serde_json::from_str(text).map_err(|error| error.to_string())?;
        self.0.insert(name.to_owned(), Page::Figures(figures));
        for (format, text) in others {
            self.add(&format!("{name}.{format}"), &format, &plain(&text))?;
        }
        Ok(())
    }

    /// The figure at a path of an output; `None` if it is missing.
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

/// Parses a CSV file to records. Cells that look like numbers become numbers.
fn table(text: &str) -> Result<Value, csv::Error> {
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .from_reader(text.as_bytes());
    let heads = reader.headers()?.clone();
    let mut lines = Vec::new();
    for line in reader.records() {
        let line = line?;
        let cells = heads.iter().zip(&line);
        let cells = cells.map(|(head, cell)| (head.to_owned(), read(cell)));
        lines.push(Value::Object(cells.collect::<Map<_, _>>()));
    }
    Ok(Value::Array(lines))
}

fn read(cell: &str) -> Value {
    match cell {
        "" => Value::Null,
        cell => serde_json::from_str(cell).unwrap_or_else(|_| Value::from(cell)),
    }
}

/// Parses the events of an XML file to records of their attributes.
fn attributes(xml: &str) -> Value {
    let events = xml.split("<EVENT ").skip(1).map(|event| {
        let mut words = event.split('\'');
        let mut fields = Map::new();
        while let (Some(name), Some(value)) = (words.next(), words.next()) {
            let name = name.trim_end_matches('=').rsplit([' ', '\n']).next();
            fields.insert(name.unwrap_or_default().to_owned(), read(value));
        }
        Value::Object(fields)
    });
    events.collect()
}

/// Returns the sum of all collapsed stacks, and its tolerance. Each stack is rounded to a microsecond, and the shortest
/// stacks are omitted.
fn stacks(lines: &str) -> Value {
    let micros = |line: &str| line.rsplit(' ').next()?.parse::<f64>().ok();
    let micros: Vec<f64> = lines.lines().filter_map(micros).collect();
    serde_json::json!({
        "ms": micros.iter().sum::<f64>() / 1e3,
        "rounded_ms": 0.0005 * (micros.len() + 50) as f64,
    })
}

/// Returns the JSON data that an HTML report contains.
fn embedded(page: &str) -> Result<Value, String> {
    let begin = "<script type=\"application/json\" id=\"data\">";
    let data = page
        .split_once(begin)
        .and_then(|(_, rest)| rest.split_once("</script>"));
    let (data, _) = data.ok_or("the page has no figures in it")?;
    serde_json::from_str(data).map_err(|error| error.to_string())
}
