//! The end of a trace after a failed write (docs/FORMAT.md, "Crash safety").

use crate::format::Topic;
use crate::writer::Container;
use crate::{Control, Timestamp, TraceError};

/// Bytes of MCAP's magic number.
const MAGIC_LEN: usize = 8;
/// MCAP's opcode of a chunk, and the length of a record's header: opcode and length.
const CHUNK: u8 = 0x06;
const RECORD_HEAD: usize = 1 + 8;

/// Returns the chunk to append to a trace that was cut back to its last [`Writer::flush`](crate::Writer::flush): a
/// `trouble` record with the reason `what`. `sequence` is [`Writer::flushed`](crate::Writer::flushed). The trace stays
/// incomplete.
///
/// # Errors
/// Fails if the text is longer than 16 MiB.
pub fn last_words(what: &str, time: Timestamp, sequence: u32) -> Result<Vec<u8>, TraceError> {
    let control = Control::Trouble {
        what: what.to_owned(),
    };
    let json =
        serde_json::to_vec(&control).map_err(|error| TraceError::unwritable(error.to_string()))?;
    let mut container = Container::starting_at(Vec::new(), sequence)?;
    container.message(Topic::Control.spec().id, time, &json)?;
    let whole = container.finish()?;
    Ok(chunks(&whole))
}

/// The chunks of a complete file.
fn chunks(file: &[u8]) -> Vec<u8> {
    let mut chunks = Vec::new();
    let mut rest = file.get(MAGIC_LEN..).unwrap_or_default();
    while let Some((head, _)) = rest.split_first_chunk::<RECORD_HEAD>() {
        let [op, len @ ..] = *head;
        let len = usize::try_from(u64::from_le_bytes(len)).unwrap_or(usize::MAX);
        let Some((record, after)) = rest.split_at_checked(RECORD_HEAD.saturating_add(len)) else {
            break;
        };
        if op == CHUNK {
            chunks.extend_from_slice(record);
        }
        rest = after;
    }
    chunks
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::io::{self, Write};
    use std::rc::Rc;

    use super::*;
    use crate::{Reader, Record, Started, Writer};

    #[derive(Clone, Default)]
    struct Disk(Rc<RefCell<Vec<u8>>>);

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn truncated_trace_records_the_reason() {
        let disk = Disk::default();
        let started = Started {
            format: 0,
            recorder: "test".to_owned(),
            wall_clock_ns: 0,
            command: Vec::new(),
            cpu_model: String::new(),
            cpus: 1,
            kernel: String::new(),
            full: false,
        };
        let time = Timestamp::from_nanos(1);
        let mut writer = Writer::new(disk.clone(), started, time).unwrap();
        let write = |writer: &mut Writer<Disk>, text: &str| {
            let text = text.to_owned();
            writer.write_control(time, &Control::Mark { text }).unwrap();
        };
        write(&mut writer, "one");
        writer.flush().unwrap();
        let mut trace = disk.0.borrow().clone();
        write(&mut writer, "lost");
        assert_eq!(writer.flushed(), 2);
        trace.extend(last_words("full", time, writer.flushed()).unwrap());
        let mut reader = Reader::new(&trace[..]).unwrap();
        let mut said = Vec::new();
        while let Some(record) = reader.next().unwrap() {
            match record {
                Record::Control(_, Control::Mark { text }) => said.push(text),
                Record::Control(_, Control::Trouble { what }) => said.push(what),
                _ => {}
            }
        }
        assert_eq!(said, ["one", "full"]);
        assert!(!reader.is_complete());
    }
}
