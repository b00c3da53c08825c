//! Writing a parameter file: one line a point, as a person would.

use std::fmt::Write;

use toml::Value as Toml;

use crate::{
    AfterSleep, AfterWork, AttributeValue, Brought, Deferred, Factor, Host, Measured, Method, Pace,
    Point, Reference, RequestCosts, ServerIdentity, ServerParameters,
};

impl ServerParameters {
    /// The parameter file (docs/PARAMETERS.md); reading it gives the same parameters again.
    pub fn to_toml(&self) -> String {
        let mut out = Lines(String::new());
        out.line("format", self.format.to_string());
        out.server(&self.server);
        out.host(&self.host);
        out.method(&self.method);
        if let Some(transport) = &self.transport {
            out.heading("[transport]");
            for (name, part) in transport.parts() {
                out.line(name, inline(&measured(part)));
            }
            out.list("after_sleep", transport.after_sleep.iter().map(after_sleep));
            out.list("after_work", transport.after_work.iter().map(after_work));
            let later = transport.deferred.as_ref();
            out.optional("deferred", later.map(|update| inline(&deferred(update))));
        }
        for entry in &self.requests {
            out.request(entry);
        }
        out.0
    }
}

/// The text as it grows.
struct Lines(String);

impl Lines {
    fn heading(&mut self, heading: &str) {
        self.0.push('\n');
        self.0.push_str(heading);
        self.0.push('\n');
    }

    fn line(&mut self, key: &str, value: String) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.0, "{key} = {value}");
    }

    fn optional(&mut self, key: &str, value: Option<String>) {
        if let Some(value) = value {
            self.line(key, value);
        }
    }

    fn server(&mut self, server: &ServerIdentity) {
        self.heading("[server]");
        self.line("name", text(&server.name));
        self.optional("executable", server.executable.as_deref().map(text));
        if !server.arguments.is_empty() {
            let arguments: Vec<String> = server
                .arguments
                .iter()
                .map(|argument| text(argument))
                .collect();
            self.line("arguments", format!("[{}]", arguments.join(", ")));
        }
        self.optional("vendor", server.vendor.as_deref().map(text));
        self.optional("release", server.release.map(|value| value.to_string()));
        self.optional("depth", server.depth.map(|value| value.to_string()));
        self.optional(
            "screen",
            server
                .screen
                .map(|(width, height)| format!("[{width}, {height}]")),
        );
        self.optional("viewed", server.viewed.map(|value| value.to_string()));
    }

    fn host(&mut self, host: &Host) {
        if *host == Host::default() {
            return;
        }
        self.heading("[host]");
        self.optional("cpu_model", host.cpu_model.as_deref().map(text));
        self.optional("cpus", host.cpus.map(|value| value.to_string()));
        self.optional("kernel", host.kernel.as_deref().map(text));
    }

    fn method(&mut self, method: &Method) {
        if *method == Method::default() {
            return;
        }
        self.heading("[method]");
        self.optional("source", method.source.as_deref().map(text));
        self.optional("date", method.date.as_deref().map(text));
        self.optional("notes", method.notes.as_deref().map(text));
        self.list("references", method.references.iter().map(reference));
        if !method.unmeasured.is_empty() {
            let names: Vec<String> = method.unmeasured.iter().map(|name| text(name)).collect();
            self.line("unmeasured", format!("[{}]", names.join(", ")));
        }
        self.optional("pace", method.pace.as_ref().map(|read| inline(&pace(read))));
        let from = method.brought.as_ref();
        self.optional("brought", from.map(|from| inline(&brought(from))));
    }

    /// A list of tables, one a line; nothing of an empty one.
    fn list(&mut self, name: &str, tables: impl ExactSizeIterator<Item = Vec<Field>>) {
        if tables.len() == 0 {
            return;
        }
        let _ = writeln!(self.0, "{name} = [");
        for table in tables {
            let _ = writeln!(self.0, "    {},", inline(&table));
        }
        self.0.push_str("]\n");
    }

    fn request(&mut self, entry: &RequestCosts) {
        self.heading("[[request]]");
        self.line("name", text(&entry.name));
        if !entry.attributes.is_empty() {
            let attributes: Vec<Field> = entry.attributes.iter().map(attribute).collect();
            self.line("attributes", inline(&attributes));
        }
        self.optional(
            "fixed",
            entry.fixed.as_ref().map(|fixed| inline(&measured(fixed))),
        );
        self.optional(
            "blank",
            entry.blank.as_ref().map(|blank| {
                inline(&numbers(&[
                    ("share", Some(blank.share)),
                    ("spread", blank.spread),
                ]))
            }),
        );
        self.optional("first_uses", entry.first_uses.map(number));
        self.0.push_str("points = [\n");
        for one in &entry.points {
            let _ = writeln!(self.0, "    {},", inline(&point(one)));
        }
        self.0.push_str("]\n");
    }
}

/// A key with its value as TOML.
type Field = (String, String);

fn inline(fields: &[Field]) -> String {
    let fields: Vec<String> = fields
        .iter()
        .map(|(key, value)| format!("{key} = {value}"))
        .collect();
    format!("{{ {} }}", fields.join(", "))
}

fn attribute((name, value): (&String, &AttributeValue)) -> Field {
    let value = match value {
        AttributeValue::Number(number) => number.to_string(),
        AttributeValue::Name(name) => text(name),
    };
    (key(name), value)
}

fn measured(cost: &Measured) -> Vec<Field> {
    let parts = [
        ("cpu_us", cost.cpu_us.map(|time| time.0)),
        ("wall_us", cost.wall_us.map(|time| time.0)),
        ("spread", cost.spread),
    ];
    numbers(&parts)
}

fn point(point: &Point) -> Vec<Field> {
    let parts = [
        ("size", Some(point.size)),
        ("cpu_us", point.cpu_us.map(|time| time.0)),
        ("wall_us", point.wall_us.map(|time| time.0)),
        ("per_second", point.per_second),
        ("spread", point.spread),
        ("busy", point.busy),
    ];
    numbers(&parts)
}

fn reference(reference: &Reference) -> Vec<Field> {
    let mut fields = vec![("load".to_owned(), text(&reference.load))];
    fields.extend(numbers(&[
        ("start_us", Some(reference.start_us.0)),
        ("end_us", Some(reference.end_us.0)),
        ("spread", reference.spread),
    ]));
    fields
}

fn pace(pace: &Pace) -> Vec<Field> {
    numbers(&[
        ("fastest_us", Some(pace.fastest_us.0)),
        ("mean_us", Some(pace.mean_us.0)),
        ("at_us", pace.at_us.map(|time| time.0)),
    ])
}

fn brought(brought: &Brought) -> Vec<Field> {
    let factor = |factor: &Factor| {
        inline(&numbers(&[
            ("times", Some(factor.times)),
            ("low", Some(factor.low)),
            ("high", Some(factor.high)),
        ]))
    };
    vec![
        ("from".to_owned(), text(&brought.from)),
        ("requests".to_owned(), factor(&brought.requests)),
        ("wakeups".to_owned(), factor(&brought.wakeups)),
    ]
}

fn after_sleep(sleep: &AfterSleep) -> Vec<Field> {
    let parts = [
        ("asleep_us", Some(sleep.asleep_us.0)),
        ("wakeup_us", Some(sleep.wakeup_us.0)),
        ("first_us", Some(sleep.first_us.0)),
        ("connection_us", Some(sleep.connection_us.0)),
        ("megapixel_us", sleep.megapixel_us.map(|time| time.0)),
        ("spread", sleep.spread),
    ];
    numbers(&parts)
}

fn after_work(work: &AfterWork) -> Vec<Field> {
    let parts = [
        ("worked_us", Some(work.worked_us.0)),
        ("wakeup_us", Some(work.wakeup_us.0)),
        ("first_us", Some(work.first_us.0)),
        ("connection_us", Some(work.connection_us.0)),
        ("spread", work.spread),
    ];
    numbers(&parts)
}

fn deferred(update: &Deferred) -> Vec<Field> {
    let parts = [
        ("interval_us", Some(update.interval_us.0)),
        ("update_us", Some(update.update_us.0)),
        ("pixel_us", Some(update.pixel_us.0)),
        ("same_us", update.same_us.map(|time| time.0)),
        ("smooth_us", update.smooth_us.map(|time| time.0)),
        ("first_us", update.first_us.map(|time| time.0)),
        ("box_us", update.box_us.map(|time| time.0)),
        ("chill", update.chill),
        ("spread", update.spread),
    ];
    numbers(&parts)
}

fn numbers(parts: &[(&str, Option<f64>)]) -> Vec<Field> {
    let there = parts
        .iter()
        .filter_map(|(key, value)| Some((key, (*value)?)));
    there
        .map(|(key, value)| ((*key).to_owned(), number(value)))
        .collect()
}

/// The shortest text that reads back as the same number. Whole numbers lose their point, but
/// not beyond what TOML takes as an integer.
fn number(number: f64) -> String {
    if number.fract() == 0.0 && number.abs() < 1e15 {
        format!("{number}")
    } else {
        format!("{number:?}")
    }
}

fn text(text: &str) -> String {
    Toml::String(text.to_owned()).to_string()
}

fn key(name: &str) -> String {
    let bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if !name.is_empty() && name.bytes().all(bare) {
        name.to_owned()
    } else {
        text(name)
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
viewed = false

[host]
cpu_model = "AMD EPYC"
cpus = 2
kernel = "Linux 6.18"

[method]
source = "x11prof measure 0.1.0"
date = "2026-11-20"
notes = "pinned"
references = [
    { load = "NoOperation", start_us = 0.008, end_us = 0.0081, spread = 0.02 },
]
brought = { from = "Intel Xeon", requests = { times = 1.25, low = 1, high = 1.5 }, wakeups = { times = 2, low = 2, high = 2 } }

[transport]
wakeup = { cpu_us = 6.5, wall_us = 13, spread = 0.02 }
wakeup_other_cpu = { cpu_us = 22, wall_us = 51 }
byte_read = { cpu_us = 0.0001 }
reply = { cpu_us = 1 }
byte_written = { cpu_us = 0.0002 }
event = { cpu_us = 0.5 }
after_sleep = [
    { asleep_us = 200, wakeup_us = 6.5, first_us = 0, connection_us = 25, spread = 0.1 },
    { asleep_us = 10000, wakeup_us = 26, first_us = 4.5, connection_us = 70 },
]
after_work = [
    { worked_us = 100, wakeup_us = 1, first_us = 0.5, connection_us = 2 },
    { worked_us = 1000, wakeup_us = 9, first_us = 2.5, connection_us = 30, spread = 0.2 },
]
deferred = { interval_us = 16667, update_us = 50, pixel_us = 0.02, same_us = 0.001, smooth_us = 0.05, first_us = 0, box_us = 18, chill = 1.5, spread = 0.1 }

[[request]]
name = "PolyLine"
attributes = { gxmode = "GXcopy", linewidth = 0 }
fixed = { cpu_us = 0.25, spread = 0.1 }
first_uses = 7.5
points = [
    { size = 0, cpu_us = 0.3, wall_us = 0.4, spread = 0.03 },
    { size = 10.5, cpu_us = 1, per_second = 19161.61 },
]

[[request]]
name = "PolyText8"
blank = { share = 0.53, spread = 0.02 }
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
    fn odd_names_are_quoted() {
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
        fn numbers_come_back_as_they_went(time in 0.0..1e15_f64, small in 0.0..1e-6_f64) {
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
