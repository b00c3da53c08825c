//! Traces of every version of the format read as they did (CONTRIBUTING.md).

use std::path::Path;

use x11prof_trace::{FORMAT, Reader, Record};

/// A trace of each version, recorded at the time of that version, with the number of its records and of the bytes in
/// its blocks. The traces of version 1 are from the first recorder.
const KEPT: &[(u32, &str, usize, u64)] = &[
    (1, "xset.mcap", 74, 11_756),
    (1, "xclock.mcap", 162, 56_300),
    (1, "xterm.mcap", 589, 3_219_060),
    (1, "gtk3-widget-factory.mcap", 994, 1_174_000),
];

#[test]
fn kept_trace_of_each_version_is_fully_readable() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data");
    for &(version, name, records, bytes) in KEPT {
        let file = std::fs::read(folder.join(name)).unwrap();
        let mut reader = Reader::new(&file[..]).unwrap();
        assert_eq!(reader.started().format, version, "{name}");
        let mut found = (0, 0);
        while let Some(record) = reader.next().unwrap() {
            found.0 += 1;
            if let Record::Block(block) = record {
                found.1 += u64::from(block.wire_len);
            }
        }
        assert_eq!(found, (records, bytes), "{name}");
        assert!(reader.is_complete(), "{name}");
    }
}

#[test]
fn every_version_has_a_kept_trace() {
    for version in 1..=FORMAT {
        let kept = KEPT.iter().any(|(of, ..)| *of == version);
        assert!(kept, "keep a trace of version {version} in tests/data");
    }
}
