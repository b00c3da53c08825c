//! The dump of a recording as text: one line for each message and each control record.

mod filter;
mod names;
mod show;

use std::io;

use serde::Serialize;
use serde_json::json;
use x11prof_protocol::{Message, SetupStatus, Value};
use x11prof_trace::{ConnectionId, Control, Timestamp};

pub use filter::DumpFilter;

use x11prof_analyzer::{MessageContext, Observation, Step, name_matches};

use crate::plain::plain;
pub(crate) use names::Names;
use show::{LONGEST_READ, Named, Show, Shown, ShownOperation};

/// The format of a dump.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum DumpFormat {
    /// Text for reading and grep. A line has seconds, connection, direction, message, and fields by name.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// Writes each observation as a line. Times are counted from the first observation.
#[derive(Default)]
pub struct Dump {
    format: DumpFormat,
    filter: DumpFilter,
    start: Option<Timestamp>,
    names: Names,
    /// The filter's patterns that no message has matched so far.
    unmatched: Vec<String>,
    /// True after the end of the filter's time range.
    past: bool,
    /// A buffer for the line of JSON that is being written.
    line: Vec<u8>,
}

/// A message as a line of JSON. The fields are in alphabetical order.
#[derive(Serialize)]
struct Line<'a> {
    bytes: u64,
    connection: u32,
    direction: Option<&'static str>,
    fields: Option<Shown<'a, 'a>>,
    has_reply: Option<bool>,
    kind: &'static str,
    name: &'a str,
    /// The names of the resources in `fields`. The list is filled when `fields` is serialised, which happens earlier.
    names: &'a Named<'a>,
    of: Option<&'a str>,
    opcode: Option<(u8, u8)>,
    operation: Option<ShownOperation<'a>>,
    seconds: f64,
    sequence: Option<u64>,
    undecoded: Option<String>,
}

/// A message as text.
struct Described<'a> {
    kind: &'static str,
    name: &'a str,
    /// The name of the request to which this message is the reply or error.
    of: Option<&'a str>,
    sequence: Option<u64>,
    bytes: u64,
}

impl Dump {
    /// Creates a dump that has written nothing.
    pub fn new(format: DumpFormat, filter: DumpFilter) -> Dump {
        Dump {
            format,
            unmatched: filter.messages.clone(),
            filter,
            ..Dump::default()
        }
    }

    /// True if the time range of the filter has ended.
    pub fn is_over(&self) -> bool {
        self.past
    }

    /// The patterns in the filter that no message has matched.
    pub fn unmatched(&self) -> &[String] {
        &self.unmatched
    }

    /// Writes the next observation of a pass to `out`, if the filter selects it.
    pub fn observe(
        &mut self,
        observation: &Observation<'_>,
        out: &mut dyn io::Write,
    ) -> io::Result<()> {
        let mut names = std::mem::take(&mut self.names);
        if let Observation::Message(seen) = observation {
            names.observe(seen);
        }
        let written = self.write(observation, &names, out);
        self.names = names;
        written
    }

    /// Writes an observation. The caller provides the `names`, which several dumps may share.
    pub(crate) fn write(
        &mut self,
        observation: &Observation<'_>,
        names: &Names,
        out: &mut dyn io::Write,
    ) -> io::Result<()> {
        match observation {
            Observation::Message(seen) => self.message(seen, names, out),
            Observation::Control(time, control) => self.control(*time, control, out),
            Observation::Switches(steps) if self.filter.switches => {
                steps.iter().try_for_each(|step| self.switch(step, out))
            }
            Observation::Lost(block) => {
                let seconds = self.seconds(block.time);
                if !self.filter.place(Some(block.connection), seconds)
                    || !self.filter.shows_control()
                {
                    return Ok(());
                }
                let (connection, bytes) = (block.connection.0, block.wire_len);
                match self.format {
                    DumpFormat::Text => {
                        writeln!(
                            out,
                            "{seconds:>13.6} #{connection} ?? {bytes} bytes after a hole"
                        )
                    }
                    DumpFormat::Json => {
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

    /// Returns the seconds between the first observation and `time`.
    fn seconds(&mut self, time: Timestamp) -> f64 {
        let start = *self.start.get_or_insert(time);
        let seconds = time.since(start).as_nanos() as f64 / 1e9;
        self.past |= self.filter.past(seconds);
        seconds
    }

    fn control(
        &mut self,
        time: Timestamp,
        control: &Control,
        out: &mut dyn io::Write,
    ) -> io::Result<()> {
        let seconds = self.seconds(time);
        if !self.filter.shows_control() || !self.filter.place(connection_of(control), seconds) {
            return Ok(());
        }
        // In text form, records about threads are left out, because they would hide the messages.
        let is_of_threads = matches!(
            control,
            Control::Waiting(_)
                | Control::Asleep { .. }
                | Control::Stack { .. }
                | Control::WaitStack { .. }
                | Control::RunStack { .. }
                | Control::BlockedStack { .. }
                | Control::RequestStacks { .. }
                | Control::Symbol { .. }
                | Control::BuildId { .. }
        );
        match self.format {
            DumpFormat::Text if is_of_threads && !self.filter.switches => Ok(()),
            DumpFormat::Text => {
                // The record as it is in the file.
                let control = serde_json::to_string(control)?;
                writeln!(out, "{seconds:>13.6} -- {}", plain(&control))
            }
            DumpFormat::Json => {
                let line = json!({
                    "seconds": seconds, "kind": "control",
                    "control": serde_json::to_value(control)?,
                });
                writeln!(out, "{line}")
            }
        }
    }

    /// Prints a context switch: a thread begins to run, or stops.
    fn switch(&mut self, step: &Step, out: &mut dyn io::Write) -> io::Result<()> {
        let seconds = self.seconds(step.time());
        if !self.filter.shows_control() || !self.filter.place(None, seconds) {
            return Ok(());
        }
        let ((pid, tid), runs) = (step.thread(), step.runs());
        match self.format {
            DumpFormat::Text => {
                let does = if runs { "runs" } else { "stops" };
                writeln!(out, "{seconds:>13.6} -- {pid}/{tid} {does}")
            }
            DumpFormat::Json => {
                let line = json!({
                    "seconds": seconds, "kind": "switch", "pid": pid, "tid": tid, "runs": runs,
                });
                writeln!(out, "{line}")
            }
        }
    }

    fn message(
        &mut self,
        seen: &MessageContext<'_>,
        known: &Names,
        out: &mut dyn io::Write,
    ) -> io::Result<()> {
        let seconds = self.seconds(seen.time);
        let described = describe(seen.message);
        let names = [Some(described.name), described.of];
        // The list is usually empty after some messages.
        self.unmatched.retain(|pattern| {
            let mut names = names.iter().flatten();
            !names.any(|name| name_matches(pattern, name))
        });
        if !self.filter.place(Some(seen.connection), seconds)
            || !self.filter.message(names.into_iter().flatten())
        {
            return Ok(());
        }
        let to_server = matches!(seen.message, Message::ClientSetup(_) | Message::Request(_));
        let connection = seen.connection.0;
        let fields = match self.format {
            DumpFormat::Text => seen.message.first_fields(seen.extensions, LONGEST_READ),
            DumpFormat::Json => seen.message.fields(seen.extensions),
        };
        let show = Show {
            names: known,
            session: seen.session,
            message: described.name,
        };
        match self.format {
            DumpFormat::Text => {
                let arrow = match described.kind {
                    "malformed" => "??",
                    _ if to_server => "->",
                    _ => "<-",
                };
                let name = plain(described.name);
                write!(out, "{seconds:>13.6} #{connection} {arrow} {name}")?;
                if !matches!(described.kind, "request" | "setup" | "malformed") {
                    write!(out, " {}", described.kind)?;
                }
                if let Some(of) = described.of {
                    write!(out, " of {}", plain(of))?;
                }
                if let Some(sequence) = described.sequence {
                    write!(out, " {sequence}")?;
                }
                write!(out, ", {} bytes", described.bytes)?;
                match &fields {
                    Ok(Value::Fields(none)) if none.is_empty() => writeln!(out),
                    Ok(fields) => writeln!(out, ": {}", show.text(fields)),
                    Err(why) => writeln!(out, " ({})", plain(&why.to_string())),
                }
            }
            DumpFormat::Json => {
                let direction = match described.kind {
                    "malformed" => None,
                    _ if to_server => Some("to-server"),
                    _ => Some("to-client"),
                };
                let request = match seen.message {
                    Message::Request(request) => Some(request),
                    _ => None,
                };
                let named = Named::default();
                self.line.clear();
                serde_json::to_writer(
                    &mut self.line,
                    &Line {
                        bytes: described.bytes,
                        connection,
                        direction,
                        fields: (fields.as_ref().ok())
                            .map(|fields| Shown::new(&show, fields, &named)),
                        has_reply: request.map(|request| request.has_reply),
                        kind: described.kind,
                        name: described.name,
                        names: &named,
                        of: described.of,
                        opcode: request.map(|request| (request.major, request.minor)),
                        operation: seen.operation.map(ShownOperation),
                        seconds,
                        sequence: described.sequence,
                        undecoded: fields.as_ref().err().map(ToString::to_string),
                    },
                )?;
                self.line.push(b'\n');
                out.write_all(&self.line)
            }
        }
    }
}

/// Returns the connection that a control record opens, closes, joins or moves to another process; `None` for other
/// records.
fn connection_of(control: &Control) -> Option<ConnectionId> {
    match control {
        Control::Opened(opened) => Some(opened.connection),
        Control::Closed { connection, .. } | Control::Moved { connection, .. } => Some(*connection),
        Control::Joined(joined) => Some(joined.connection),
        _ => None,
    }
}

fn describe<'a>(message: &Message<'a>) -> Described<'a> {
    let (kind, name, of, sequence, bytes) = match message {
        Message::ClientSetup(setup) => ("setup", "setup", None, None, setup.wire_len),
        Message::ServerSetup(setup) => {
            let name = match setup.status {
                SetupStatus::Success => "setup accepted",
                SetupStatus::Failed => "setup refused",
                SetupStatus::Authenticate => "setup needs authentication",
            };
            ("setup", name, None, None, setup.wire_len)
        }
        Message::Request(request) => {
            let sequence = Some(request.sequence.0);
            (
                "request",
                request.name.as_str(),
                None,
                sequence,
                request.wire_len,
            )
        }
        Message::Reply(reply) => {
            let name = reply.request.map_or("unpaired", |request| request.as_str());
            ("reply", name, None, Some(reply.sequence.0), reply.wire_len)
        }
        Message::Event(event) => {
            let sequence = event.sequence.map(|sequence| sequence.0);
            ("event", event.name.as_str(), None, sequence, event.wire_len)
        }
        Message::Error(error) => {
            let of = Some(error.request.as_str());
            let sequence = Some(error.sequence.0);
            (
                "error",
                error.name.as_str(),
                of,
                sequence,
                error.bytes.len() as u64,
            )
        }
        Message::Malformed(malformed) => ("malformed", "malformed", None, None, malformed.wire_len),
    };
    Described {
        kind,
        name,
        of,
        sequence,
        bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::{Dump, DumpFilter, DumpFormat};
    use x11prof_analyzer::Pipeline;
    use x11prof_analyzer::testing::*;
    use x11prof_trace::{Record, Switch, SwitchKind, Timestamp};

    fn dumped(trace: &Synthetic, format: DumpFormat) -> String {
        filtered(trace, format, DumpFilter::default())
    }

    fn filtered(trace: &Synthetic, format: DumpFormat, filter: DumpFilter) -> String {
        let (mut pipeline, mut dump) = (Pipeline::new(), Dump::new(format, filter));
        let mut out = Vec::new();
        pipeline.run_records(trace.records.iter().cloned(), |observation| {
            dump.observe(observation, &mut out).unwrap()
        });
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_message_has_a_line() {
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
    fn unnamed_resource_is_shown_by_its_kind() {
        let mut trace = Synthetic::new();
        // CreatePixmap of 4 by 4 and its GC, then drawing with them.
        trace.client_sends(&[
            request(53, 1, &[0x20_0007, 0x100, 0x4_0004]),
            request(55, 0, &[0x20_0002, 0x20_0007, 0]),
            request(70, 0, &[0x20_0007, 0x20_0002]),
        ]);
        let text = dumped(&trace, DumpFormat::Text);
        let fill = text
            .lines()
            .find(|line| line.contains("PolyFillRectangle"))
            .unwrap();
        assert!(
            fill.contains("drawable=0x200007(pixmap) gc=0x200002(gc)"),
            "{fill}"
        );
        assert!(dumped(&trace, DumpFormat::Json).contains(r#""names":{}"#));
    }

    #[test]
    fn context_switches_are_shown_on_request() {
        let mut trace = Synthetic::new();
        let at = Timestamp::from_nanos(1_000_500_000);
        trace.records.push(Record::Schedule(vec![Switch {
            time: at,
            pid: CLIENT_PID,
            tid: 21,
            cpu: 0,
            kind: SwitchKind::In,
        }]));
        let shown = |switches| {
            let filter = DumpFilter {
                switches,
                ..DumpFilter::default()
            };
            filtered(&trace, DumpFormat::Text, filter)
        };
        assert!(shown(true).contains("     0.000500 -- 20/21 runs\n"));
        assert!(!shown(false).contains("20/21"));
    }

    #[test]
    fn message_patterns_select_lines() {
        let mut trace = Synthetic::new();
        trace
            .wait(250)
            .client_sends(&[poly_fill_rectangle(1), get_input_focus()]);
        trace
            .wait(50)
            .server_sends(&[bad_window(1, 70), reply(2), expose(2)])
            .end();
        let only = |patterns: &[&str], from| DumpFilter {
            messages: patterns.iter().map(|text| (*text).to_owned()).collect(),
            from,
            ..DumpFilter::default()
        };
        let lines = |filter| filtered(&trace, DumpFormat::Text, filter).lines().count();
        // The request, and the error that it got.
        assert_eq!(lines(only(&["PolyFill*"], None)), 2);
        assert_eq!(lines(only(&["GetInputFocus", "Expose"], None)), 3);
        assert_eq!(lines(only(&["GetInputFocus", "Expose"], Some(0.000_28))), 2);
    }
}
