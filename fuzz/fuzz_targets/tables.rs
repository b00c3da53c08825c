//! Input: a table of sessions. Reads its rows and builds issues from them.
#![no_main]

use x11prof_collection::{
    EpisodeRow, Issues, IssuesReport, Known, Partition, Rows, Selection, schema,
};

libfuzzer_sys::fuzz_target!(
    // The Parquet reader panics on inconsistent files, and its caller catches the panic. Other panics still end
    // this process.
    init: std::panic::set_hook(Box::new(|_| {})),
    |bytes: &[u8]| {
        let mut issues = Issues::new(Selection { threshold: Some(0) });
        for table in schema::ALL {
            let Ok(rows) = Rows::open(table, bytes::Bytes::copy_from_slice(bytes)) else {
                continue;
            };
            let _ = rows.each(|cells| {
                if table.name == schema::EPISODES.name {
                    let (id, trace, row) = EpisodeRow::from_cells(cells);
                    let session = issues.session(id, trace, &Partition::default());
                    issues.add(session, &row);
                }
                0
            });
        }
        let report = IssuesReport::new(&issues, &Known::default(), None, Vec::new());
        drop(x11prof_views::collection::text(&report, true, &x11prof_views::Page::default()));
    }
);
