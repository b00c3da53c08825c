//! What all rows come to as the tables of a document: by workload and server, by server, and
//! between servers.

use std::fmt::Write;

use x11prof_proxy::ServerKind;

use super::shared_core::Even;
use super::sleeps::Minute;
use super::table::{Crossed, Rounds, median, quantile};
use super::workloads::HELD_OUT;

/// The tables in Markdown.
pub(super) fn document(
    rows: &[Rounds],
    crossed: &[Crossed],
    even: Option<&Even>,
    minutes: &[Minute],
) -> String {
    let servers = distinct(rows.iter().filter_map(Rounds::kind));
    let mut text = by_workload(rows, &servers);
    text.push('\n');
    text += &by_server(rows, &servers);
    if !crossed.is_empty() {
        text.push('\n');
        text += &between(crossed, &servers);
    }
    if let Some((rows, crossed)) = even {
        text += "\nWith the truths at one pace, the mean of all:\n\n";
        text += &document(rows, crossed, None, &[]);
    }
    if !minutes.is_empty() {
        text.push('\n');
        text += &by_minute(minutes);
    }
    text
}

/// Estimate over truth; behind the servers the figures of the first.
fn by_workload(rows: &[Rounds], servers: &[ServerKind]) -> String {
    let mut text = "| workload |".to_owned();
    for kind in servers {
        let _ = write!(text, " {kind} |");
    }
    text += " truth, ms | estimate / recorded | recorder, CPU | wall |\n|---|";
    text += &"---:|".repeat(servers.len() + 4);
    text.push('\n');
    for workload in distinct(rows.iter().map(|row| row.workload)) {
        let of = |kind: ServerKind| {
            let mut of_it = rows.iter().filter(|row| row.workload == workload);
            of_it.find(|row| row.kind() == Some(kind))
        };
        let held_out = if HELD_OUT.contains(&workload) {
            " °"
        } else {
            ""
        };
        let _ = write!(text, "| {workload}{held_out} |");
        for &kind in servers {
            let _ = match of(kind) {
                Some(row) if row.spread() > 0.0 => {
                    write!(text, " {:.2} ({:.0}) |", row.ratio(), 100.0 * row.spread())
                }
                Some(row) => write!(text, " {:.2} |", row.ratio()),
                None => write!(text, " – |"),
            };
        }
        let first = servers.first().and_then(|&kind| of(kind));
        let _ = match first {
            Some(row) => {
                let (cpu, wall) = row.influence();
                writeln!(
                    text,
                    " {:.0} | {:.2} | {cpu:.2} | {wall:.2} |",
                    row.truth(),
                    row.ratio_to_recorded(),
                )
            }
            None => writeln!(text, " – | – | – | – |"),
        };
    }
    text
}

/// How near the estimates are, by server.
fn by_server(rows: &[Rounds], servers: &[ServerKind]) -> String {
    let mut text = "| | rows | median error, % | 95th percentile beyond the truth's spread, % | \
                    within 5 % | within 10 % | inside the likely bounds | a truth by the one before, % |\n|---|"
        .to_owned();
    text += &"---:|".repeat(7);
    text.push('\n');
    let mut line = |name: &str, of: &[&Rounds]| {
        let errors = || of.iter().map(|row| row.error());
        let within = |limit: f64| errors().filter(|it| *it <= limit).count();
        let (inside, runs) = of.iter().fold((0, 0), |(inside, runs), row| {
            (inside + row.inside(), runs + row.runs())
        });
        let another: Vec<f64> = of.iter().flat_map(|row| row.by_another()).collect();
        let another = match another.is_empty() {
            true => "–".to_owned(),
            false => format!("{:.1}", 100.0 * median(another)),
        };
        let _ = writeln!(
            text,
            "| {name} | {} | {:.1} | {:.0} | {} | {} | {inside} of {runs} | {another} |",
            of.len(),
            100.0 * median(errors()),
            100.0 * quantile(of.iter().map(|row| row.beyond_spread()), 0.95),
            within(0.05),
            within(0.1),
        );
    };
    for &kind in servers {
        let of: Vec<&Rounds> = rows.iter().filter(|it| it.kind() == Some(kind)).collect();
        line(kind.name(), &of);
    }
    let held = |row: &&Rounds| HELD_OUT.contains(&row.workload);
    line("held out", &rows.iter().filter(held).collect::<Vec<_>>());
    line("all", &rows.iter().collect::<Vec<_>>());
    text
}

/// The median error of forecasts between servers, and of the naive ones; rows are recorded.
fn between(crossed: &[Crossed], servers: &[ServerKind]) -> String {
    let among = |kind: &&ServerKind| {
        let mut named = crossed.iter().flat_map(|it| [it.from, it.to]);
        named.any(|it| it == kind.name())
    };
    let servers: Vec<&ServerKind> = servers.iter().filter(among).collect();
    let mut text = "| recorded on |".to_owned();
    for kind in &servers {
        let _ = write!(text, " {kind} |");
    }
    text += "\n|---|";
    text += &"---:|".repeat(servers.len());
    text.push('\n');
    for from in &servers {
        let _ = write!(text, "| {from} |");
        for to in &servers {
            let pair = |it: &&Crossed| it.from == from.name() && it.to == to.name();
            let pairs = || crossed.iter().filter(pair);
            let _ = match pairs().next() {
                Some(_) => write!(
                    text,
                    " {:.0} ({:.0}) |",
                    100.0 * median(pairs().map(Crossed::error)),
                    100.0 * median(pairs().map(Crossed::naive_error)),
                ),
                None => write!(text, " |"),
            };
        }
        text.push('\n');
    }
    text
}

/// The truths of programs that wait, each priced with what sleeps cost in its minutes.
fn by_minute(minutes: &[Minute]) -> String {
    let mut text = "| workload | server | a wakeup behind 30 ms, µs | truth, ms | estimate / truth | with the sleeps of these minutes |\n|---|---|---:|---:|---:|---:|\n".to_owned();
    for it in minutes {
        let _ = writeln!(
            text,
            "| {} | {} | {:.0} | {:.0} | {:.2} | {:.2} |",
            it.workload,
            it.server,
            it.wakeup_us(),
            it.truth_ms,
            it.ratio(),
            it.ratio_of_now(),
        );
    }
    text
}

/// Each once, in the order of their first.
fn distinct<T: PartialEq + Copy>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut distinct = Vec::new();
    for one in all {
        if !distinct.contains(&one) {
            distinct.push(one);
        }
    }
    distinct
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::table::{Crossed, Rounds};
    use super::document;

    fn row(workload: &str, server: &str, truths: &[f64], estimate: f64) -> Rounds {
        let alone = |truth: &f64| json!({ "server_ms": truth, "wall_ms": 900.0 });
        let priced = json!({
            "estimate_ms": estimate, "low_ms": 0.8 * estimate, "high_ms": 1.5 * estimate,
            "requests_ms": 1.0, "recorded_ms": 2.0 * estimate, "client_ms": 100.0, "wall_ms": 1800.0, "priced": 1.0,
        });
        Rounds::from_json(&json!({
            "workload": workload, "server": server,
            "alone": truths.iter().map(alone).collect::<Vec<_>>(),
            "priced": truths.iter().map(|_| priced.clone()).collect::<Vec<_>>(),
        }))
        .unwrap()
    }

    #[test]
    fn tables_of_two_servers_of_one_depth() {
        let rows = [
            row("x11perf text", "xvfb", &[400.0, 600.0], 520.0),
            row("x11perf text", "xorg-dummy", &[400.0], 384.0),
            row("mupdf", "xvfb", &[400.0], 240.0),
        ];
        let crossed = [Crossed {
            workload: "x11perf text",
            from: "xvfb",
            to: "xorg-dummy",
            estimate_ms: 440.0,
            naive_ms: 520.0,
            recorded_ms: 600.0,
            truth_ms: 400.0,
            from_truth_ms: 500.0,
        }];
        let text = document(&rows, &crossed, None, &[]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[..4],
            [
                "| workload | xvfb | xorg-dummy | truth, ms | estimate / recorded | recorder, CPU | wall |",
                "|---|---:|---:|---:|---:|---:|---:|",
                "| x11perf text ° | 1.04 (20) | 0.96 | 500 | 0.50 | 2.08 | 2.00 |",
                "| mupdf | 0.60 | – | 400 | 0.50 | 1.20 | 2.00 |",
            ]
        );
        assert_eq!(
            lines[7..11],
            [
                "| xvfb | 2 | 22.0 | 40 | 1 | 1 | 2 of 3 | 50.0 |",
                "| xorg-dummy | 1 | 4.0 | 4 | 1 | 1 | 1 of 1 | – |",
                "| held out | 2 | 4.0 | 4 | 2 | 2 | 3 of 3 | 50.0 |",
                "| all | 3 | 4.0 | 40 | 2 | 2 | 3 of 4 | 50.0 |",
            ]
        );
        assert_eq!(
            lines[12..],
            [
                "| recorded on | xvfb | xorg-dummy |",
                "|---|---:|---:|",
                "| xvfb | | 10 (30) |",
                "| xorg-dummy | | |",
            ]
        );
    }
}
