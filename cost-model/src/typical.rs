//! The costs of typical requests on several servers: the Xprof paper's Table 1, and similar tables for any request.

use serde::Serialize;
use x11prof_session::{Attributes, Operation, Value};

use crate::operation_cost::{Caveat, CostSource};
use crate::{Clock, CostTable, ServerParameters, Substitutions};

/// The version of the JSON document's layout.
const FORMAT: u32 = 1;
/// The number of op-sizes for a request that is not in the paper: the smallest and the largest measured size, and sizes
/// in between.
const SIZES: usize = 4;

/// A row of Table 1: the name of a request, its attributes with their values, and its op-sizes.
type Row = (
    &'static str,
    &'static [(&'static str, &'static str)],
    &'static [f64],
);

/// The paper's requests with the default attributes of GCs, and their op-sizes: areas of squares of 10, 100 and 300,
/// lengths, numbers of characters.
const TABLE_1: [Row; 6] = [
    (
        "PutImage",
        &[("format", "ZPixmap"), ("gxmode", "GXcopy")],
        &[100.0, 10_000.0, 90_000.0],
    ),
    (
        "PolyLine",
        &[
            ("fillstyle", "FillSolid"),
            ("gxmode", "GXcopy"),
            ("linestyle", "LineSolid"),
            ("linewidth", "0"),
        ],
        &[10.0, 100.0, 300.0],
    ),
    (
        "PolyText8",
        &[
            ("fillstyle", "FillSolid"),
            ("fontname", "6x13"),
            ("gxmode", "GXcopy"),
        ],
        &[8.0, 32.0],
    ),
    ("ClearArea", &[], &[100.0, 10_000.0, 90_000.0]),
    (
        "CopyArea",
        &[("gxmode", "GXcopy")],
        &[100.0, 10_000.0, 90_000.0],
    ),
    (
        "PolyFillRectangle",
        &[("fillstyle", "FillSolid"), ("gxmode", "GXcopy")],
        &[100.0, 10_000.0, 90_000.0],
    ),
];

/// The costs of typical requests on several servers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TypicalCosts {
    /// The version of this document's layout: 1.
    pub format: u32,
    /// The names of the servers.
    pub servers: Vec<String>,
    /// The requests, with one entry for each size.
    pub requests: Vec<TypicalRequest>,
}

/// A request with one item of one op-size, and its cost on each server.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TypicalRequest {
    /// The name of the request.
    pub request: String,
    /// The attributes of the request. A server may have costs of other values only, which are then substituted.
    pub attributes: String,
    /// The op-size of the item.
    pub size: f64,
    /// The cost on each server, in the order of the servers; null if a server has no cost for the request.
    pub servers: Vec<Option<TypicalCost>>,
}

/// The cost of a typical request on one server.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TypicalCost {
    /// The cost of the request in milliseconds.
    pub ms: f64,
    /// The lower bound of the cost in milliseconds, which follows from the calibration's spread.
    pub low_ms: f64,
    /// The upper bound of the cost in milliseconds, which follows from the calibration's spread.
    pub high_ms: f64,
    /// The clock by which the cost was measured; null if unknown.
    pub clock: Option<Clock>,
    /// True if the value of an attribute was substituted.
    pub substituted: bool,
    /// True if the op-size is outside the measured sizes.
    pub extrapolated: bool,
}

impl TypicalCosts {
    /// Creates a table of the requests `wanted` on these servers; of the paper's requests if `wanted` is empty.
    pub fn new(servers: &[ServerParameters], wanted: &[Operation]) -> TypicalCosts {
        let rows: Vec<(Operation, Vec<f64>)> = match wanted {
            [] => TABLE_1.iter().map(typical).collect(),
            some => some.iter().map(|one| of(one, servers)).collect(),
        };
        let rules = Substitutions::default();
        let mut tables: Vec<CostTable> = servers
            .iter()
            .map(|one| CostTable::new(one, &rules))
            .collect();
        let mut requests = Vec::new();
        for (operation, sizes) in rows {
            for size in sizes {
                let costs = tables.iter_mut().zip(servers);
                let costs = costs.map(|(table, server)| cost(table, server, &operation, size));
                requests.push(TypicalRequest {
                    request: operation.request.to_string(),
                    attributes: operation.attributes.to_string(),
                    size,
                    servers: costs.collect(),
                });
            }
        }
        TypicalCosts {
            format: FORMAT,
            servers: servers.iter().map(|one| one.server.name.clone()).collect(),
            requests,
        }
    }
}

fn typical(of: &(&'static str, &[(&'static str, &str)], &[f64])) -> (Operation, Vec<f64>) {
    let mut operation = Operation::new(of.0.into());
    for (name, value) in of.1 {
        operation
            .attributes
            .set((*name).into(), Value::parse(value));
    }
    (operation, of.2.to_vec())
}

/// Returns a requested operation with its sizes: the sizes of the paper, or else sizes that were measured on a server.
fn of(wanted: &Operation, servers: &[ServerParameters]) -> (Operation, Vec<f64>) {
    let name = wanted.request.as_str();
    let bare = wanted.attributes == Attributes::new();
    let paper = TABLE_1.iter().find(|one| one.0 == name).map(typical);
    if let Some((operation, sizes)) = paper {
        let operation = if bare { operation } else { wanted.clone() };
        return (operation, sizes);
    }
    let mut entries = servers.iter().flat_map(|one| &one.requests);
    let Some(entry) = entries.find(|entry| entry.name == name) else {
        return (wanted.clone(), Vec::new());
    };
    let mut operation = wanted.clone();
    if bare {
        operation.attributes = entry.attribute_set();
    }
    let sizes: Vec<f64> = entry.points.iter().map(|point| point.size).collect();
    let last = sizes.len().saturating_sub(1);
    let few = SIZES.min(sizes.len());
    let at = |number: usize| {
        sizes
            .get(number * last / few.saturating_sub(1).max(1))
            .copied()
    };
    (operation, (0..few).filter_map(at).collect())
}

fn cost(
    table: &mut CostTable,
    server: &ServerParameters,
    operation: &Operation,
    size: f64,
) -> Option<TypicalCost> {
    let mut operation = operation.clone();
    operation.items = vec![size];
    operation.op_size = size;
    // By default, each server is shown at its own depth.
    let has_depth = operation.attributes.to_string().contains("depth=");
    if let Some(depth) = server.server.depth.filter(|_| !has_depth) {
        let depth = Value::parse(&depth.to_string());
        operation.attributes.set("depth".into(), depth);
    }
    let found = table.cost(&operation);
    let cost = found.server;
    let doubts = &found.doubts;
    (found.basis != CostSource::NoCost).then(|| TypicalCost {
        ms: cost.time.as_ms(),
        low_ms: cost.low.as_ms(),
        high_ms: cost.high.as_ms(),
        clock: found.clock,
        substituted: doubts
            .iter()
            .any(|doubt| matches!(doubt, Caveat::Substituted { from: Some(_), .. })),
        extrapolated: doubts
            .iter()
            .any(|doubt| matches!(doubt, Caveat::Extrapolated { .. })),
    })
}

#[cfg(test)]
mod tests {
    use x11prof_session::Operation;

    use super::TypicalCosts;
    use crate::{ServerParameters, built_in};

    fn servers(names: &[&str]) -> Vec<ServerParameters> {
        let named = |name: &&str| {
            let file = built_in().iter().find(|file| file.name == *name);
            file.unwrap().parameters().unwrap()
        };
        names.iter().map(named).collect()
    }

    /// The paper's Table 1, computed from its parameter files.
    #[test]
    fn typical_costs_reproduce_paper_table_1() {
        let table = TypicalCosts::new(
            &servers(&["sun4-ipc", "decstation-3100", "hp9000-350"]),
            &[],
        );
        assert_eq!(table.requests.len(), 17);
        let of = |request: &str, size: f64| -> Vec<String> {
            let all = &mut table.requests.iter();
            let row = all.find(|row| row.request == request && row.size == size);
            let costs = row.unwrap().servers.iter();
            costs
                .map(|cost| {
                    let cost = cost.unwrap();
                    assert!(!cost.substituted && !cost.extrapolated, "{request} {size}");
                    format!("{:.2}", cost.ms)
                })
                .collect()
        };
        assert_eq!(of("PutImage", 10_000.0), ["10.50", "11.39", "51.23"]);
        assert_eq!(of("PolyText8", 32.0), ["1.07", "1.13", "6.71"]);
        assert_eq!(of("CopyArea", 100.0), ["0.31", "0.38", "6.55"]);
        assert_eq!(of("PolyFillRectangle", 90_000.0), ["9.58", "9.01", "2.84"]);
    }

    #[test]
    fn wanted_request_is_listed_at_measured_sizes() {
        let wanted = [Operation::new("RENDER:Composite".into())];
        let table = TypicalCosts::new(&servers(&["xvfb-24", "sun4-ipc"]), &wanted);
        assert!((2..=4).contains(&table.requests.len()), "{table:?}");
        for row in &table.requests {
            let [xvfb, sun] = row.servers.as_slice() else {
                panic!("{row:?}")
            };
            assert!(xvfb.is_some_and(|cost| cost.ms > 0.0) && sun.is_none());
        }
    }
}
