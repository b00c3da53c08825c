//! The rows of clients, windows or requests, in the selected order.

use x11prof_analyzer::{ClientNow, NowReport, RowNow, StallLine};

use super::name;
use crate::plain::plain;
use crate::units::{bytes, number};

/// The kind of rows to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum By {
    /// A row for each client.
    #[default]
    Client,
    /// A row for each window.
    Window,
    /// A row for each kind of request.
    Request,
}

/// The order of the rows in the table of clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The rows with the most server time first.
    #[default]
    Time,
    /// The rows with the most requests first.
    Number,
    /// The rows with the most round trips first.
    RoundTrips,
    /// The rows with the most bytes first.
    Bytes,
    /// The rows with the most held memory first.
    Held,
    /// The rows in alphabetical order of their names.
    Name,
}

/// A row with one cell for each heading.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The cells of the row, the name first.
    pub cells: Vec<String>,
    name: String,
    /// The row's figures: server time in milliseconds per second; requests, round trips and bytes per second; and the
    /// bytes that a client holds in the server.
    sums: [f64; 5],
}

/// The headings of the columns. Selecting a heading sorts the rows in its order; `None` if rows are not sorted by it.
pub fn headings(by: By) -> Vec<(&'static str, Option<Order>)> {
    let rates = [
        ("ms/s", Some(Order::Time)),
        ("Req/s", Some(Order::Number)),
        ("Trips/s", Some(Order::RoundTrips)),
        ("Bytes/s", Some(Order::Bytes)),
    ];
    let mut headings = match by {
        By::Client => vec![("Client", Some(Order::Name)), ("PID", None)],
        By::Window => vec![("Window", Some(Order::Name)), ("Most for", None)],
        By::Request => vec![("Request", Some(Order::Name)), ("Most for", None)],
    };
    headings.extend(
        rates
            .into_iter()
            .filter(|(name, _)| by != By::Window || *name != "Trips/s"),
    );
    if by == By::Client {
        headings.extend([("Held", Some(Order::Held)), ("Activity", None)]);
    }
    headings
}

/// The rows of a report: of the kind `by`, in this order.
pub fn rows(report: &NowReport, by: By, order: Order) -> Vec<Row> {
    let mut rows: Vec<Row> = match by {
        By::Client => report
            .clients
            .iter()
            .map(|one| of_client(one, report))
            .collect(),
        By::Window => report.windows.iter().map(of_row).collect(),
        By::Request => report.requests.iter().map(of_row).collect(),
    };
    let sum = |row: &Row| {
        let [time, number, trips, bytes, held] = row.sums;
        match order {
            Order::Time => time,
            Order::Number => number,
            Order::RoundTrips => trips,
            Order::Bytes => bytes,
            Order::Held => held,
            Order::Name => 0.0,
        }
    };
    // The report is sorted by time.
    rows.sort_by(|a, b| sum(b).total_cmp(&sum(a)));
    if order == Order::Name {
        rows.sort_by(|a, b| a.name.cmp(&b.name));
    }
    rows
}

fn of_client(client: &ClientNow, report: &NowReport) -> Row {
    let held: u64 = client.held.values().map(|held| held.bytes).sum();
    let sums = [
        client.server_ms_per_s,
        client.requests_per_s,
        client.round_trips_per_s,
        client.bytes_per_s,
        held as f64,
    ];
    let several = client.connections > 1;
    let name = match several {
        true => name(client, report),
        false => plain(&client.name).into_owned(),
    };
    let pid = client.pid.filter(|_| !several);
    let pid = pid.map_or_else(|| "-".to_owned(), |pid| pid.to_string());
    let mut cells = vec![name.clone(), pid];
    cells.extend(rates(&sums, true));
    cells.push(match (client.connected, client.joined, held) {
        (false, _, _) | (true, true, 0) => "-".to_owned(),
        (true, true, held) => format!("≥ {}", bytes(held)),
        (true, false, held) => bytes(held),
    });
    cells.push(what(client, report));
    Row { cells, name, sums }
}

fn of_row(row: &RowNow) -> Row {
    let sums = [
        row.server_ms_per_s,
        row.requests_per_s,
        row.round_trips_per_s.unwrap_or(0.0),
        row.bytes_per_s,
        0.0,
    ];
    let name = plain(&row.name).into_owned();
    let mut cells = vec![name.clone(), plain(&row.client).into_owned()];
    cells.extend(rates(&sums, row.round_trips_per_s.is_some()));
    Row { cells, name, sums }
}

fn rates(sums: &[f64; 5], trips: bool) -> impl Iterator<Item = String> {
    let [time, requests, round_trips, sent, _] = *sums;
    let trips = trips.then(|| number(round_trips));
    let [time, requests] = [time, requests].map(|rate| Some(number(rate)));
    [time, requests, trips, Some(bytes(sent as u64))]
        .into_iter()
        .flatten()
}

/// Returns the most important observation about a client, in a few words.
fn what(client: &ClientNow, report: &NowReport) -> String {
    let of_server = client.grabs.iter().any(|grab| grab.what == "server");
    let holds = report.stalls.iter().any(|one| {
        one.how == "busy" && Some(one.connection) == client.client && !one.waited.is_empty()
    });
    let grows = client.held.iter().find(|(_, held)| held.grows);
    let waits_in = |stall: &&StallLine| {
        let mut waiters = stall.waited.iter();
        waiters.any(|one| Some(one.connection) == client.client)
    };
    let waits = report.stalls.iter().find(waits_in);
    if of_server {
        return "grabbed server".to_owned();
    }
    if holds {
        return "held server".to_owned();
    }
    if let Some((kind, _)) = grows {
        return format!("{kind}s grow");
    }
    if let Some(polls) = &client.polls {
        return format!("polls {}", plain(&polls.request));
    }
    if let Some(wait) = waits {
        let mut clients = report.clients.iter();
        let by = clients.find(|one| one.client == Some(wait.connection));
        let by = by.map_or_else(|| plain(&wait.client).into_owned(), |one| name(one, report));
        return format!("waited for {by}");
    }
    if !client.connected {
        return "ended".to_owned();
    }
    let mostly = client.mostly.as_ref();
    mostly.map_or_else(String::new, |one| format!("mostly {}", plain(&one.request)))
}
