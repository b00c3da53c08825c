//! Writes a parameter file: one line per point, as if written by hand.

use std::fmt::Write;

use toml::{Table, Value};

use crate::ServerParameters;

impl ServerParameters {
    /// The parameters as the text of a parameter file (docs/REFERENCE.md). Parsing it results in the same parameters.
    pub fn to_toml(&self) -> String {
        let mut out = String::new();
        // TOML can represent all values: numbers, texts, and lists and tables of them.
        let file = Table::try_from(self).unwrap_or_default();
        for (name, value) in &file {
            match value {
                Value::Table(part) if part.is_empty() => {}
                Value::Table(part) => section(&mut out, &format!("[{name}]"), part),
                Value::Array(entries) => {
                    let entries = entries.iter().filter_map(Value::as_table);
                    entries.for_each(|entry| section(&mut out, &format!("[[{name}]]"), entry));
                }
                value => line(&mut out, name, value),
            }
        }
        out
    }
}

fn section(out: &mut String, heading: &str, table: &Table) {
    out.push_str(&format!("\n{heading}\n"));
    table
        .iter()
        .for_each(|(name, value)| line(out, name, value));
}

/// Writes the line `name = value`. A list of tables has one table per line.
fn line(out: &mut String, name: &str, value: &Value) {
    let value = match value {
        Value::Array(tables) if tables.first().is_some_and(Value::is_table) => {
            let lines = tables
                .iter()
                .map(|table| format!("    {},\n", inline(table)));
            format!("[\n{}]", lines.collect::<String>())
        }
        value => inline(value),
    };
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{} = {value}", key(name));
}

fn inline(value: &Value) -> String {
    match value {
        Value::Float(value) => number(*value),
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(inline).collect();
            format!("[{}]", values.join(", "))
        }
        Value::Table(table) => {
            let field =
                |(name, value): (&String, &Value)| format!("{} = {}", key(name), inline(value));
            let fields: Vec<String> = table.iter().map(field).collect();
            format!("{{ {} }}", fields.join(", "))
        }
        value => value.to_string(),
    }
}

/// The shortest text that is parsed as the same number. Whole numbers are written without a decimal point, unless
/// they exceed TOML's integers.
fn number(number: f64) -> String {
    if number.fract() == 0.0 && number.abs() < 1e15 {
        format!("{number}")
    } else {
        format!("{number:?}")
    }
}

fn key(name: &str) -> String {
    let bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if !name.is_empty() && name.bytes().all(bare) {
        name.to_owned()
    } else {
        Value::String(name.to_owned()).to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::{AttributeValue, Measured, Micros, ServerParameters, TransportCosts};

    const EVERYTHING: &str = r#"format = 1

[server]
name = "xvfb"
executable = "Xvfb"
arguments = [":7", "-screen", "0", "1280x1024x24"]
vendor = 'The X.Org "Foundation"'
release = 12101011
depth = 24
screen = [1280, 1024]

[host]
cpu_model = "AMD EPYC"
cpus = 2
kernel = "Linux 6.18"

[method]
source = "x11prof calibrate 0.1.0"
date = "2026-11-20"
notes = "pinned"
brought = { from = "Intel Xeon", factor = 1.25, low = 1, high = 1.5 }

[transport]
wakeup = { cpu_us = 6.5, wall_us = 13, spread = 0.02 }
byte_read = { cpu_us = 0.0001 }
reply = { cpu_us = 1 }
byte_written = { cpu_us = 0.0002 }
event = { cpu_us = 0.5 }
after_sleep = [
    { asleep_us = 200, wakeup_us = 6.5, connection_us = 25, spread = 0.1 },
    { asleep_us = 10000, wakeup_us = 26, connection_us = 70 },
]

[[request]]
name = "PolyLine"
attributes = { gxmode = "GXcopy", linewidth = 0 }
fixed = { cpu_us = 0.25, spread = 0.1 }
points = [
    { size = 0, cpu_us = 0.3, wall_us = 0.4, spread = 0.03 },
    { size = 10.5, cpu_us = 1, per_second = 19161.61 },
]

[[request]]
name = "PolyText8"
points = [
    { size = 80, cpu_us = 2 },
]
"#;

    #[test]
    fn every_field_is_written() {
        let parameters = ServerParameters::from_toml(EVERYTHING).unwrap();
        assert_eq!(parameters.to_toml(), EVERYTHING);
    }

    #[test]
    fn names_with_special_characters_round_trip() {
        let mut parameters = ServerParameters::from_toml(EVERYTHING).unwrap();
        let attributes = &mut parameters.requests[0].attributes;
        attributes.insert(
            "a \"b\" = c".into(),
            AttributeValue::Name("-*-fixed\n\\".into()),
        );
        parameters.method.notes = Some("two\nlines".into());
        assert_eq!(
            ServerParameters::from_toml(&parameters.to_toml()),
            Ok(parameters)
        );
    }

    proptest! {
        #[test]
        fn numbers_round_trip(time in 0.0..1e15_f64, small in 0.0..1e-6_f64) {
            let mut parameters = ServerParameters::from_toml(EVERYTHING).unwrap();
            parameters.requests[0].points[0].cpu_us = Some(Micros(time));
            let tiny = Measured { cpu_us: Some(Micros(small)), ..Measured::default() };
            parameters.transport = Some(TransportCosts {
                wakeup: tiny, byte_read: tiny, reply: tiny, event: tiny, ..TransportCosts::default()
            });
            prop_assert_eq!(ServerParameters::from_toml(&parameters.to_toml()), Ok(parameters));
        }
    }
}
