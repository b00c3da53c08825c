//! Round trips of tables, and damaged tables.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use bytes::Bytes;

use super::read::MOST;
use super::schema::{EPISODES, KEY, MARKS};
use super::{Cell, Rows, TableError, TableWriter};
use crate::episode_row::EpisodeRow;
use crate::session::Session;

fn session() -> Session {
    Session {
        id: "0123456789abcdef".to_owned(),
        trace: "a.mcap".to_owned(),
        ..Session::default()
    }
}

fn row(number: u64) -> EpisodeRow {
    EpisodeRow {
        program: (!number.is_multiple_of(3)).then(|| "notes".to_owned()),
        client: 7,
        landmark: format!("Clicks in {}", number % 5),
        trigger: "input".to_owned(),
        pattern: "Clicks: drawing".to_owned(),
        blame: "client CPU".to_owned(),
        start: number * 1_000_003,
        latency: number * 777,
        threshold: 195_000_000,
        parts: std::array::from_fn(|part| number + part as u64),
        round_trips: number,
        requests: 2 * number,
        bytes: MOST as u64,
        unsure: number.is_multiple_of(7).then(|| "it may be".to_owned()),
        led_to_by: number.is_multiple_of(11).then(|| "MapWindow".to_owned()),
        waited_in: None,
        ran_in: None,
    }
}

fn table(rows: u64) -> Vec<u8> {
    let mut writer = TableWriter::new(&EPISODES, Vec::new()).unwrap();
    for number in 0..rows {
        writer.row(row(number).cells(&session())).unwrap();
    }
    writer.finish().unwrap()
}

/// Reads all rows of a file.
fn read(file: Vec<u8>) -> Result<Vec<EpisodeRow>, TableError> {
    let mut rows = Vec::new();
    Rows::open(&EPISODES, Bytes::from(file))?.each(|cells| {
        let (id, trace, row) = EpisodeRow::from_cells(cells);
        assert_eq!((id, trace), ("0123456789abcdef", "a.mcap"));
        rows.push(row.map(str::to_owned));
        0
    })?;
    Ok(rows)
}

#[test]
fn rows_round_trip() {
    // More rows than one row group and one read.
    let number = 20_000 + 5_000;
    let rows = read(table(number)).unwrap();
    assert_eq!(rows.len() as u64, number);
    for (at, found) in rows.into_iter().enumerate() {
        let expected = row(at as u64);
        assert_eq!(found, expected);
    }
    assert_eq!(read(table(0)).unwrap(), []);
}

#[test]
fn impossible_numbers_are_damage() {
    for (number, possible) in [
        (MOST, true),
        (MOST + 1, false),
        (i64::MAX, false),
        (-1, false),
    ] {
        let mut marks = TableWriter::new(&MARKS, Vec::new()).unwrap();
        let cells = [Cell::Text("a"), Cell::Integer(number), Cell::Text("b")];
        marks.row(cells).unwrap();
        let file = Bytes::from(marks.finish().unwrap());
        let read = Rows::open(&MARKS, file).and_then(|rows| rows.each(|_| 0));
        assert_eq!(read.is_ok(), possible, "{number}: {read:?}");
    }
}

#[test]
fn foreign_tables_and_later_versions_are_rejected() {
    let mut marks = TableWriter::new(&MARKS, Vec::new()).unwrap();
    marks
        .row([Cell::Text("a"), Cell::Integer(1), Cell::Text("b")])
        .unwrap();
    let error = read(marks.finish().unwrap()).unwrap_err().to_string();
    assert_eq!(
        error,
        "no table of x11prof's episodes: it has no column `trace`"
    );
    let file = table(1);
    let key = file
        .windows(KEY.len())
        .rposition(|bytes| bytes == KEY.as_bytes());
    let after = key.unwrap() + KEY.len();
    let version = after + file[after..].iter().position(|byte| *byte == b'1').unwrap();
    let mut later = file;
    later[version] = b'9';
    let error = read(later).unwrap_err().to_string();
    assert!(error.contains("version 9"), "{error}");
}

#[test]
fn damaged_tables_never_panic_and_truncated_ones_fail() {
    let whole = table(50);
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = |limit: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % limit as u64) as usize
    };
    for _ in 0..3000 {
        let mut damaged = whole.clone();
        for _ in 0..1 + next(4) {
            let at = next(damaged.len());
            damaged[at] ^= 1 << next(8);
        }
        let rows = Rows::open(&EPISODES, Bytes::from(damaged));
        let _ = rows
            .and_then(|rows| rows.each(|cells| u64::from(EpisodeRow::from_cells(cells).2.client)));
    }
    for length in 0..whole.len() {
        assert!(Rows::open(&EPISODES, Bytes::copy_from_slice(&whole[..length])).is_err());
    }
}
