//! Sizes and combinations chosen for a server whose costs are known.

use std::io;
use std::time::{Duration, Instant};

use x11prof_session::{Operation, Value};

use super::Explorer;
use crate::sampling::sampler::{Executor, Place, Reading};
use crate::server::connection::Answers;
use crate::workloads::loads::{Candidate, Loads, Series};
use crate::workloads::workload::{Sync, Workload};

/// A load is eight bytes: a style and a size; the mock prices it by both.
struct Mock(fn(u8, f64) -> f64);

fn load(style: u8, size: u16) -> Workload {
    let [low, high] = size.to_ne_bytes();
    Workload::repeated(&[style, 0, 2, 0, low, high, 0, 0], Sync::RoundTrip)
}

fn parts(load: &Workload) -> (u8, f64) {
    let bytes = &load.phases[0].unit;
    (
        bytes[0],
        f64::from(u16::from_ne_bytes([bytes[4], bytes[5]])),
    )
}

impl Executor for Mock {
    fn place(&mut self, _: Place) -> io::Result<()> {
        Ok(())
    }

    fn rehearse(&mut self, _: &Workload) -> io::Result<Vec<Answers>> {
        Ok(vec![Answers::default()])
    }

    fn run(&mut self, load: &Workload, _: &[Answers], times: u64) -> io::Result<Vec<Reading>> {
        let (style, size) = parts(load);
        let requests = times * u64::from(load.phases[0].requests);
        let time = (self.0)(style, size) * requests as f64;
        Ok(vec![Reading {
            cpu: Some(time),
            wall: time,
            requests,
            syncs: 1,
            sleeps: None,
            apart: None,
            lost: 0.0,
            pace: None,
        }])
    }

    fn synchronise(&mut self, _: Sync, _: u64) -> io::Result<Reading> {
        Ok(Reading::default())
    }

    fn alone(&mut self, _: &[u8], _: bool, _: u32, _: Place) -> io::Result<Reading> {
        Ok(Reading::default())
    }
}

/// Style bits: 1 is GXxor, 2 is FillTiled.
fn describe(load: &Workload) -> Option<Operation> {
    let (style, size) = parts(load);
    let mut operation = Operation::new("PolyFillRectangle".into());
    let gxmode = if style & 1 == 0 { "GXcopy" } else { "GXxor" };
    let fillstyle = if style & 2 == 0 {
        "FillSolid"
    } else {
        "FillTiled"
    };
    operation
        .attributes
        .set("fillstyle".into(), Value::parse(fillstyle));
    operation
        .attributes
        .set("gxmode".into(), Value::parse(gxmode));
    operation.items = vec![size];
    operation.op_size = size;
    Some(operation)
}

fn chosen(loads: Loads, costs: fn(u8, f64) -> f64) -> Vec<(u8, f64)> {
    let mut mock = Mock(costs);
    let mut explorer = Explorer {
        executor: &mut mock,
        describe: &mut describe,
        batch: Duration::from_micros(1),
        until: Instant::now() + Duration::from_secs(60),
        step: &mut |_| true,
    };
    let chosen = explorer.choose(loads).unwrap();
    chosen.iter().map(parts).collect()
}

fn series(style: u8) -> Series {
    Series::new([1, 100, 400], move |size| load(style, size))
}

#[test]
fn a_straight_line_needs_no_more_points() {
    let loads = Loads {
        series: vec![series(0)],
        ..Loads::default()
    };
    let found = chosen(loads, |_, size| 2.0 + 0.01 * size);
    assert_eq!(found, [(0, 1.0), (0, 100.0), (0, 400.0)]);
}

#[test]
fn a_bend_is_found() {
    let loads = Loads {
        series: vec![series(0)],
        ..Loads::default()
    };
    let found = chosen(loads, |_, size| 2.0 + (size - 150.0).max(0.0));
    let sizes: Vec<f64> = found.iter().map(|(_, size)| *size).collect();
    assert!(
        sizes.is_sorted() && sizes.contains(&200.0) && !sizes.contains(&10.0),
        "{sizes:?}"
    );
}

#[test]
fn a_combination_counts_only_where_it_surprises() {
    let candidate = || Candidate {
        probe: load(3, 100),
        series: series(3),
        single: vec![load(3, 7)],
    };
    let loads = || Loads {
        series: vec![series(0), series(1), series(2)],
        candidates: vec![candidate()],
        ..Loads::default()
    };
    let alike = chosen(loads(), |_, size| 1.0 + size);
    assert!(alike.iter().all(|(style, _)| *style != 3), "{alike:?}");
    let unlike = chosen(loads(), |style, size| size * f64::from(style * style + 1));
    assert_eq!(unlike.iter().filter(|(style, _)| *style == 3).count(), 4);
}

#[test]
fn when_the_time_is_over_the_sizes_are_those_to_start_with() {
    let loads = Loads {
        series: vec![series(0)],
        ..Loads::default()
    };
    let mut mock = Mock(|_, size| size * size);
    let mut explorer = Explorer {
        executor: &mut mock,
        describe: &mut describe,
        batch: Duration::from_micros(1),
        until: Instant::now() + Duration::from_secs(60),
        step: &mut |_| false,
    };
    assert_eq!(explorer.choose(loads).unwrap().len(), 3);
}
