//! Tests of the loads in the tables.

use super::super::scope::{Scope, split};
use super::super::{TABLES, Table, add, lines, variables};
use super::plan;
use crate::plan::Plan;
use crate::server::client::SIDE;
use crate::simulated::connected;
use crate::workloads::loads::Loads;
use crate::workloads::workload::Phase;

#[test]
fn requests_have_the_name_given_in_the_table() {
    // A simulated server has no extensions and fonts, so only the core protocol's other lines are read.
    let (mut client, _, loads) = connected(|client| {
        let mut loads = Loads::default();
        let known = variables(client, &plan());
        add(client, &plan(), &mut loads, known).unwrap();
        loads
    });
    let mut made = Vec::new();
    for load in &loads.all {
        let described = client.tracker.describe(load).into_iter().flatten();
        made.extend(described.map(|operation| operation.request.as_str()));
    }
    let core = TABLES.map(|table| table.split("\nextension").next().unwrap_or_default());
    for request in core.into_iter().flat_map(lines) {
        let words = split(request.trim());
        let is_load = ["plain", "costly", "draw", "cycle", "pair"].contains(&words[0]);
        let name = words
            .iter()
            .find(|word| word.starts_with(char::is_uppercase));
        if let (true, Some(name)) = (is_load, name)
            && !["QueryFont", "QueryTextExtents", "CreateGlyphCursor"].contains(name)
            && !name.contains("Text")
        {
            assert!(made.contains(name), "{request}: {made:?}");
        }
    }
}

/// The loads of `tables` on a server with all extensions, fonts and formats, and the lines without effect. The requests
/// of extensions have the form of core requests, and each number in a reply is 1.
fn loads_of_full_server(tables: &[&str], plan: &Plan) -> (Loads, Vec<String>) {
    let made = connected(|client| {
        let mut known = variables(client, plan);
        for name in [
            "segment", "bits1", "pad1", "bits8", "pad8", "bits32", "pad32",
        ] {
            known.insert(name.to_owned(), "1".to_owned());
        }
        let mut text = |line: String| match line.trim().split(' ').next().unwrap_or_default() {
            "extension" => "core".to_owned(),
            "font" => line.rsplit_once(' ').unwrap().0.replacen("font", "let", 1) + " 1",
            "ask" | "find" => {
                let names = line
                    .split_whitespace()
                    .filter_map(|word| word.split_once('='));
                for (name, _) in names {
                    known.insert(name.to_owned(), "1".to_owned());
                }
                line.replace("ask", "core").replace("find", "core")
            }
            _ => line,
        };
        let lines: Vec<String> = tables
            .iter()
            .flat_map(|table| lines(table))
            .map(&mut text)
            .collect();
        let (scope, mut loads) = (Scope::new(client, known), Loads::default());
        let mut table = Table::new(scope, plan, &mut loads);
        table.block(&lines).unwrap();
        let skipped = table.skipped;
        (loads, skipped)
    });
    made.2
}

/// The requests of a phase with this opcode.
fn requests_of(loads: &Loads, opcode: u8) -> Vec<Vec<Vec<u8>>> {
    let of_phase = |phase: &Phase| {
        let (mut rest, mut requests) = (phase.unit.as_slice(), Vec::new());
        while let [first, _, low, high, ..] = *rest {
            let length = 4 * usize::from(u16::from_ne_bytes([low, high]));
            if first != opcode || length == 0 {
                break;
            }
            let (request, after) = rest.split_at(length);
            requests.push(request.to_vec());
            rest = after;
        }
        requests
    };
    let phases = loads.all.iter().flat_map(|load| &load.phases);
    phases
        .map(of_phase)
        .filter(|requests| !requests.is_empty())
        .collect()
}

#[test]
fn tables_use_only_known_names() {
    let quick = Plan {
        quick: true,
        ..plan()
    };
    assert_eq!(loads_of_full_server(&TABLES, &quick).1, [""; 0]);
}

#[test]
fn trapezoids_have_equal_areas_inside_the_window() {
    let table = TABLES.iter().find(|table| table.contains("Trapezoids"));
    let all = requests_of(&loads_of_full_server(&[table.unwrap()], &plan()).0, 10);
    assert!(all.len() > 20, "{}", all.len());
    for requests in all {
        let mut areas = Vec::new();
        for request in requests {
            let numbers: Vec<i64> = request[24..]
                .chunks(4)
                .map(|four| i32::from_ne_bytes(four.try_into().unwrap()).into())
                .collect();
            for trapezoid in numbers.chunks(10) {
                let [top, bottom, x1, y1, x2, y2, x3, y3, x4, y4] = *trapezoid else {
                    panic!("{trapezoid:?}");
                };
                assert!(trapezoid.iter().all(|at| (0..=600 << 16).contains(at)));
                assert_eq!([y1, y2, y3, y4], [top, bottom, top, bottom]);
                areas.push((x3 - x1 + x4 - x2) * (bottom - top));
            }
        }
        assert!(areas.iter().all(|area| *area == areas[0] && *area > 0));
    }
}

#[test]
fn new_windows_have_distinct_positions_in_their_parents() {
    let (loads, _) = loads_of_full_server(&[TABLES[1]], &plan());
    let phases = requests_of(&loads, 1);
    assert!(phases.len() > 20, "{}", phases.len());
    for requests in phases {
        let short = |request: &[u8], at: usize| u16::from_ne_bytes([request[at], request[at + 1]]);
        for request in &requests {
            // The largest parent is as wide as the ground.
            assert!(
                (12..16)
                    .step_by(2)
                    .all(|at| short(request, at) + short(request, at + 4) <= 220)
            );
        }
        // The parent and the position.
        let mut places: Vec<&[u8]> = requests.iter().map(|request| &request[8..16]).collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), requests.len());
    }
}

/// The loads of these requests in the table of drawing.
fn drawing(names: &[&str]) -> Loads {
    let plan = Plan {
        only: names.iter().map(|name| (*name).to_owned()).collect(),
        ..plan()
    };
    loads_of_full_server(&[TABLES[0]], &plan).0
}

/// The numbers of two bytes in a request from the byte `start` on.
fn shorts_of(request: &[u8], start: usize) -> Vec<i32> {
    let numbers = request[start..].chunks(2);
    let number = |two: &[u8]| i16::from_ne_bytes([two[0], two[1]]).into();
    numbers.map(number).collect()
}

#[test]
fn drawing_stays_inside_the_window() {
    let side = i32::from(SIDE);
    let names = [
        "PolyLine",
        "PolySegment",
        "PolyRectangle",
        "PolyFillRectangle",
        "PolyPoint",
    ];
    let loads = drawing(&names);
    for opcode in [64, 65, 66, 67, 70] {
        let phases = requests_of(&loads, opcode);
        assert!(!phases.is_empty());
        for numbers in phases
            .iter()
            .flatten()
            .map(|request| shorts_of(request, 12))
        {
            assert!(
                numbers.iter().all(|at| (0..=side).contains(at)),
                "{opcode} {numbers:?}"
            );
            if let 67 | 70 = opcode {
                let inside = |at: &[i32]| at[0] + at[2] <= side && at[1] + at[3] <= side;
                assert!(numbers.chunks(4).all(inside), "{opcode} {numbers:?}");
            }
        }
    }
}

#[test]
fn lines_of_a_request_have_the_same_length() {
    for requests in requests_of(&drawing(&["PolyLine"]), 65) {
        let lengths = requests.iter().flat_map(|request| {
            let points = shorts_of(request, 12);
            let ends: Vec<_> = points
                .windows(4)
                .step_by(2)
                .map(|ends| (ends[2] - ends[0], ends[3] - ends[1]))
                .collect();
            ends.into_iter()
                .map(|(x, y)| f64::from(x).hypot(f64::from(y)))
        });
        let lengths: Vec<f64> = lengths.collect();
        assert!(
            lengths
                .iter()
                .all(|length| (length - lengths[0]).abs() < 1.5),
            "{lengths:?}"
        );
    }
}

#[test]
fn copies_avoid_overlap_and_stay_inside_the_window() {
    let window = i32::from(SIDE);
    let phases = requests_of(&drawing(&["CopyArea"]), 62);
    assert!(phases.len() >= 10, "{}", phases.len());
    for request in phases.iter().flatten() {
        let [from_x, from_y, to_x, to_y, side, height] = *shorts_of(request, 16) else {
            panic!("{request:?}");
        };
        assert_eq!(side, height);
        assert!(
            [from_x, from_y, to_x, to_y]
                .iter()
                .all(|at| (0..=window - side).contains(at))
        );
        let is_copy_to_itself = request[4..8] == request[8..12];
        let apart = (from_y - to_y).abs();
        assert!(!is_copy_to_itself || apart > 0 && (apart >= side || side > window / 2));
    }
}
