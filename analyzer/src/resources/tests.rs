//! Resources over a synthetic trace.

use x11prof_protocol::Symbol;
use x11prof_trace::Record;

use crate::pipeline::Pipeline;
use crate::recording::trace_summary::TraceSummary;
use crate::resources::Resources;
use crate::resources::report::{KindResources, ResourceReport};
use crate::testing::*;

fn run(trace: &Synthetic) -> ResourceReport {
    let (mut resources, mut summary) = (Resources::default(), TraceSummary::default());
    let mut pipeline = Pipeline::new();
    pipeline.run_records(trace.records.iter().cloned(), |observation| {
        summary.observe(observation);
        resources.observe(observation);
    });
    ResourceReport::new(&resources, &summary)
}

fn kind<'a>(report: &'a ResourceReport, kind: &str) -> &'a KindResources {
    let kinds = &report.clients[0].kinds;
    kinds.iter().find(|of| of.kind == kind).unwrap()
}

fn create_window(id: u32, parent: u32) -> Vec<u8> {
    request(1, 0, &[id, parent, 0, 20 | 10 << 16, 1 << 16, 0, 0])
}

fn create_pixmap(id: u32, size: u32) -> Vec<u8> {
    request(53, 8, &[id, ROOT, size | size << 16])
}

fn free_pixmap(id: u32) -> Vec<u8> {
    request(54, 0, &[id])
}

#[test]
fn report_has_held_peak_and_churn() {
    let mut trace = Synthetic::new();
    trace.client_sends(&[create_pixmap(BASE, 16), create_pixmap(BASE + 1, 16)]);
    trace.wait(100).client_sends(&[free_pixmap(BASE)]);
    trace
        .wait(100)
        .client_sends(&[create_pixmap(BASE + 2, 16), free_pixmap(BASE + 2)]);
    trace.wait(100).end();
    let report = run(&trace);
    assert_eq!(report.clients[0].id_base, Some(BASE));
    let pixmaps = kind(&report, "pixmap");
    assert_eq!((pixmaps.counts.held, pixmaps.counts.most), (1, 2));
    let churn = (
        pixmaps.counts.created,
        pixmaps.counts.freed,
        pixmaps.counts.freed_at_once,
    );
    assert_eq!(churn, (3, 2, 1));
    let remained = &pixmaps.remained[0];
    assert_eq!((remained.count, remained.width), (1, 16));
    assert_eq!(remained.request, Symbol::new("CreatePixmap").as_str());
    assert_eq!(pixmaps.sizes[0].created, 3);
}

#[test]
fn destroying_a_window_frees_its_inferiors() {
    let mut trace = Synthetic::new();
    trace.client_sends(&[
        create_window(BASE, ROOT),
        create_window(BASE + 1, BASE),
        create_window(BASE + 2, BASE + 1),
        create_window(BASE + 3, ROOT),
    ]);
    // BASE+2 is reparented before its old parent is destroyed.
    trace.client_sends(&[request(7, 0, &[BASE + 2, BASE + 3, 0])]);
    trace.client_sends(&[request(4, 0, &[BASE])]).end();
    let report = run(&trace);
    let windows = kind(&report, "window");
    assert_eq!((windows.counts.held, windows.counts.freed), (2, 2));
    // The depth for CopyFromParent is the root's depth.
    assert_eq!(windows.sizes[0].depth, 8);
}

#[test]
fn failed_request_creates_no_resource() {
    let mut trace = Synthetic::new();
    trace.client_sends(&[create_pixmap(BASE, 16), create_pixmap(BASE + 1, 16)]);
    trace.server_sends(&[bad_window(2, 53)]).end();
    let report = run(&trace);
    let pixmaps = kind(&report, "pixmap");
    assert_eq!(
        (
            pixmaps.counts.held,
            pixmaps.counts.created,
            pixmaps.counts.freed
        ),
        (1, 1, 0)
    );
}

#[test]
fn reset_keeps_held_resources_and_clears_counts() {
    let mut trace = Synthetic::new();
    trace.client_sends(&[create_pixmap(BASE, 16), create_pixmap(BASE + 1, 16)]);
    trace.wait(100).client_sends(&[free_pixmap(BASE)]);
    let (mut resources, mut pipeline) = (Resources::default(), Pipeline::new());
    let mut feed = |resources: &mut Resources, records: &[Record]| {
        pipeline.run_records(records.iter().cloned(), |observation| {
            resources.observe(observation)
        });
        ResourceReport::new(resources, &TraceSummary::default())
    };
    feed(&mut resources, &trace.records);
    resources.start_afresh();
    let afresh = feed(&mut resources, &[]);
    let pixmaps = kind(&afresh, "pixmap");
    assert_eq!((pixmaps.counts.held, pixmaps.counts.most), (1, 1));
    assert_eq!((pixmaps.counts.created, pixmaps.counts.freed), (0, 0));
    assert_eq!((pixmaps.over_time[0].least, pixmaps.remained.len()), (1, 1));

    let known = trace.records.len();
    trace.wait(100).client_sends(&[free_pixmap(BASE + 1)]).end();
    let later = feed(&mut resources, &trace.records[known..]);
    let pixmaps = kind(&later, "pixmap");
    assert_eq!(
        (
            pixmaps.counts.held,
            pixmaps.counts.most,
            pixmaps.counts.freed
        ),
        (0, 1, 1)
    );
}

#[test]
fn steady_growth_is_reported_with_creating_request() {
    let mut trace = Synthetic::new();
    for n in 0..200 {
        trace.wait(1000).client_sends(&[create_pixmap(BASE + n, 4)]);
    }
    trace.end();
    let report = run(&trace);
    assert!(kind(&report, "pixmap").grows);
    let newest = &kind(&report, "pixmap").remained[0];
    assert_eq!(
        (newest.count, newest.request.as_str()),
        (200, "CreatePixmap")
    );
    assert_eq!((newest.width, newest.height, newest.depth), (4, 4, 8));
}
