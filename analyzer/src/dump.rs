//! The plain dump: one line for each message and each control record.

use std::fmt::{self, Debug, Write as _};
use std::io;

use serde_json::{Value, json};
use thiserror::Error;
use x11prof_protocol::{DecodeError, Message, SetupStatus};
use x11prof_trace::{Control, Reader, Timestamp, TraceError};

use crate::pipeline::{Observation, Pipeline, Seen};
use crate::table::plain;

/// The decoded fields of a message are cut off at this many bytes of text: an image's pixels
/// would fill a page.
const LONGEST_FIELDS: usize = 1000;

/// How a dump looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum DumpFormat {
    /// For people: seconds, connection, direction, message, fields.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Why a dump ended early.
#[derive(Debug, Error)]
pub enum DumpError {
    /// The trace could not be read on.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The dump could not be written.
    #[error("cannot write the dump: {0}")]
    Write(#[from] io::Error),
}

/// Writes all that `reader` has to `out`.
pub fn dump<R: io::Read>(
    reader: &mut Reader<R>,
    out: &mut dyn io::Write,
    format: DumpFormat,
) -> Result<(), DumpError> {
    let mut pipeline = Pipeline::new();
    let mut dump = Dump::new(format);
    while let Some(record) = reader.next()? {
        let mut written = Ok(());
        pipeline.feed(&record, |observation| {
            if written.is_ok() {
                written = dump.observe(observation, out);
            }
        });
        written?;
    }
    Ok(())
}

/// Writes each observation as a line. Times count from the first one.
#[derive(Debug, Default)]
pub struct Dump {
    format: DumpFormat,
    start: Option<Timestamp>,
}

/// A message in words.
struct Described {
    kind: &'static str,
    name: String,
    /// The request that it answers.
    of: Option<&'static str>,
    sequence: Option<u64>,
    bytes: u64,
    /// The fields, or why they cannot be shown.
    fields: Result<String, String>,
}

impl Dump {
    /// A dump that has written nothing.
    pub fn new(format: DumpFormat) -> Dump {
        Dump {
            format,
            start: None,
        }
    }

    /// Writes the next observation of a pass.
    pub fn observe(
        &mut self,
        observation: &Observation<'_>,
        out: &mut dyn io::Write,
    ) -> io::Result<()> {
        match observation {
            Observation::Message(seen) => self.message(seen, out),
            Observation::Control(time, control) => self.control(*time, control, out),
            Observation::Lost(block) => {
                let time = self.time(block.time);
                let (connection, bytes) = (block.connection.0, block.wire_len);
                match self.format {
                    DumpFormat::Text => {
                        writeln!(out, "{time} #{connection} ?? {bytes} bytes behind a hole")
                    }
                    DumpFormat::Json => {
                        let seconds = self.seconds(block.time);
                        let line = json!({
                            "seconds": seconds, "connection": connection, "kind": "lost",
                            "bytes": bytes,
                        });
                        writeln!(out, "{line}")
                    }
                }
            }
            _ => Ok(()),
        }
    }

    fn seconds(&mut self, time: Timestamp) -> f64 {
        let start = *self.start.get_or_insert(time);
        time.since(start).as_nanos() as f64 / 1e9
    }

    fn time(&mut self, time: Timestamp) -> String {
        format!("{:>13.6}", self.seconds(time))
    }

    fn control(
        &mut self,
        time: Timestamp,
        control: &Control,
        out: &mut dyn io::Write,
    ) -> io::Result<()> {
        match self.format {
            DumpFormat::Text => {
                // As it is in the file.
                let control = serde_json::to_string(control)?;
                writeln!(out, "{} -- {}", self.time(time), plain(&control))
            }
            DumpFormat::Json => {
                let line = json!({
                    "seconds": self.seconds(time), "kind": "control",
                    "control": serde_json::to_value(control)?,
                });
                writeln!(out, "{line}")
            }
        }
    }

    fn message(&mut self, seen: &Seen<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let described = describe(seen);
        let to_server = matches!(seen.message, Message::ClientSetup(_) | Message::Request(_));
        let connection = seen.connection.0;
        match self.format {
            DumpFormat::Text => {
                let arrow = match described.kind {
                    "malformed" => "??",
                    _ if to_server => "->",
                    _ => "<-",
                };
                let name = plain(&described.name);
                write!(out, "{} #{connection} {arrow} {name}", self.time(seen.time))?;
                if !matches!(described.kind, "request" | "setup" | "malformed") {
                    write!(out, " {}", described.kind)?;
                }
                if let Some(of) = described.of {
                    write!(out, " of {}", plain(of))?;
                }
                if let Some(sequence) = described.sequence {
                    write!(out, " {sequence}")?;
                }
                match &described.fields {
                    Ok(fields) => writeln!(out, ", {} bytes: {fields}", described.bytes),
                    Err(why) => writeln!(out, ", {} bytes ({})", described.bytes, plain(why)),
                }
            }
            DumpFormat::Json => {
                let direction = match described.kind {
                    "malformed" => Value::Null,
                    _ if to_server => "to-server".into(),
                    _ => "to-client".into(),
                };
                let (fields, undecoded) = match described.fields {
                    Ok(fields) => (Some(fields), None),
                    Err(why) => (None, Some(why)),
                };
                let line = json!({
                    "seconds": self.seconds(seen.time), "connection": connection,
                    "direction": direction, "kind": described.kind, "name": described.name,
                    "of": described.of, "sequence": described.sequence,
                    "bytes": described.bytes, "fields": fields, "undecoded": undecoded,
                });
                writeln!(out, "{line}")
            }
        }
    }
}

fn describe(seen: &Seen<'_>) -> Described {
    let extensions = seen.extensions;
    match seen.message {
        Message::ClientSetup(setup) => Described {
            kind: "setup",
            name: "setup".to_owned(),
            of: None,
            sequence: None,
            bytes: setup.wire_len,
            fields: Ok(format!(
                "{:?}, protocol {}.{}, authorization {:?}",
                setup.order,
                setup.version.0,
                setup.version.1,
                String::from_utf8_lossy(setup.authorization),
            )),
        },
        Message::ServerSetup(setup) => Described {
            kind: "setup",
            name: match setup.status {
                SetupStatus::Success => "setup accepted",
                SetupStatus::Failed => "setup refused",
                SetupStatus::Authenticate => "setup needs authentication",
            }
            .to_owned(),
            of: None,
            sequence: None,
            bytes: setup.wire_len,
            fields: match setup.reason() {
                Some(reason) => Ok(format!("{:?}", String::from_utf8_lossy(reason))),
                None => fields(setup.decode()),
            },
        },
        Message::Request(request) => Described {
            kind: "request",
            name: request.name.to_string(),
            of: None,
            sequence: Some(request.sequence.0),
            bytes: request.wire_len,
            fields: fields(request.decode(extensions)),
        },
        Message::Reply(reply) => Described {
            kind: "reply",
            name: reply
                .request
                .map_or("unpaired", |request| request.as_str())
                .to_owned(),
            of: None,
            sequence: Some(reply.sequence.0),
            bytes: reply.wire_len,
            fields: fields(reply.decode(extensions)),
        },
        Message::Event(event) => Described {
            kind: "event",
            name: event.name.to_string(),
            of: None,
            sequence: event.sequence.map(|sequence| sequence.0),
            bytes: event.wire_len,
            fields: fields(event.decode(extensions)),
        },
        Message::Error(error) => Described {
            kind: "error",
            name: error.name.to_string(),
            of: Some(error.request.as_str()),
            sequence: Some(error.sequence.0),
            bytes: error.bytes.len() as u64,
            fields: fields(error.decode(extensions)),
        },
        Message::Malformed(malformed) => Described {
            kind: "malformed",
            name: "malformed".to_owned(),
            of: None,
            sequence: None,
            bytes: malformed.wire_len,
            fields: Err(malformed.why.to_owned()),
        },
    }
}

fn fields<T: Debug>(decoded: Result<T, DecodeError>) -> Result<String, String> {
    let decoded = decoded.map_err(|error| error.to_string())?;
    let mut clipped = Clipped::default();
    // It fails where the text is cut off, which ends the formatting early as well.
    let whole = write!(clipped, "{decoded:?}").is_ok();
    Ok(if whole { clipped.0 } else { clipped.0 + "..." })
}

/// Takes text up to `LONGEST_FIELDS` bytes, then fails.
#[derive(Default)]
struct Clipped(String);

impl fmt::Write for Clipped {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = LONGEST_FIELDS - self.0.len().min(LONGEST_FIELDS);
        if text.len() <= room {
            self.0.push_str(text);
            return Ok(());
        }
        self.0.push_str(&text[..text.floor_char_boundary(room)]);
        Err(fmt::Error)
    }
}

#[cfg(test)]
mod tests {
    use super::{Dump, DumpFormat, LONGEST_FIELDS, fields};
    use crate::pipeline::Pipeline;
    use crate::testing::*;

    fn dumped(trace: &Synthetic, format: DumpFormat) -> String {
        let (mut pipeline, mut dump) = (Pipeline::new(), Dump::new(format));
        let mut out = Vec::new();
        for record in &trace.records {
            pipeline.feed(record, |observation| {
                dump.observe(observation, &mut out).unwrap()
            });
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_line_for_each_message() {
        let mut trace = Synthetic::new();
        trace
            .wait(250)
            .client_sends(&[poly_fill_rectangle(1), get_input_focus()]);
        trace
            .wait(50)
            .server_sends(&[bad_window(1, 70), reply(2), expose(2)])
            .end();
        insta::assert_snapshot!("dump_text", dumped(&trace, DumpFormat::Text));
        let json = dumped(&trace, DumpFormat::Json);
        assert_eq!(
            json.lines().count(),
            dumped(&trace, DumpFormat::Text).lines().count()
        );
        for line in json.lines() {
            serde_json::from_str::<serde_json::Value>(line).unwrap();
        }
        insta::assert_snapshot!("dump_json", json);
    }

    #[test]
    fn long_fields_are_cut_off() {
        let text = fields(Ok(vec![255_u8; 1 << 20])).unwrap();
        assert_eq!(text.len(), LONGEST_FIELDS + 3);
        assert!(text.starts_with("[255, 255, ") && text.ends_with("..."));
        assert_eq!(fields(Ok(1)), Ok("1".to_owned()));
    }
}
