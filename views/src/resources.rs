//! The resource profile in text form.

use x11prof_analyzer::{ClientResources, KindResources, RemainderReport, ResourceReport};

use crate::page::Page;
use crate::plain::plain;
use crate::table::Table;
use crate::units::counted;

/// Maximum number of clients shown individually, the largest first.
const MAX_CLIENTS: usize = 20;
/// Maximum number of groups of remaining resources shown for each client.
const SHOWN: usize = 5;

/// The section of a report.
pub fn text(report: &ResourceReport, page: &Page) -> String {
    let most = |client: &ClientResources| -> (u64, u64) {
        let kinds = client.kinds.iter();
        kinds.fold((0, 0), |(bytes, count), of| {
            (
                bytes.saturating_add(of.most_bytes),
                count.saturating_add(of.most),
            )
        })
    };
    let mut clients: Vec<&ClientResources> = report
        .clients
        .iter()
        .filter(|client| !client.kinds.is_empty())
        .collect();
    let others = report.others.as_ref().map_or(0, |others| others.count);
    let hidden = others + clients.len().saturating_sub(MAX_CLIENTS) as u64;
    clients.sort_by_key(|client| std::cmp::Reverse(most(client)));
    clients.truncate(MAX_CLIENTS);
    clients.sort_by_key(|client| client.client);
    let mut text: String = clients
        .into_iter()
        .map(|client| client_text(client, page))
        .collect();
    if hidden > 0 {
        let hidden = counted(hidden, "more client");
        text.push_str(&format!(
            "\n{hidden} held less in the server (--format json lists them)\n"
        ));
    }
    page.fold(&text)
}

fn client_text(client: &ClientResources, page: &Page) -> String {
    let ids = client
        .id_base
        .map_or_else(String::new, |base| format!(", ids from 0x{base:08x}"));
    let gone = client.closed_ms.map_or_else(String::new, |ms| {
        format!(", disconnected at {:.3} s", ms / 1e3)
    });
    let mut text = format!(
        "\nResources in the server of {}{ids}{gone}:\n",
        plain(&client.name)
    );
    let mut table = Table::new([
        "Kind",
        "Held at end",
        "Bytes",
        "Peak",
        "Peak bytes",
        "Peak at (s)",
        "Created",
        "Freed",
        "Unused",
    ])
    .spare([5, 8]);
    for of in &client.kinds {
        table.row([
            of.kind.clone(),
            of.held.to_string(),
            of.held_bytes.to_string(),
            of.most.to_string(),
            of.most_bytes.to_string(),
            format!("{:.3}", of.most_at_ms / 1e3),
            of.created.to_string(),
            of.freed.to_string(),
            of.freed_at_once.to_string(),
        ]);
    }
    text.push_str(&table.on(page));
    for of in client.kinds.iter().filter(|of| of.grows) {
        text.push_str(&growth(of));
    }
    let mut remained: Vec<(&KindResources, &RemainderReport)> = client
        .kinds
        .iter()
        .flat_map(|of| of.remained.iter().map(move |group| (of, group)))
        .filter(|(_, group)| group.bytes > 0)
        .collect();
    remained.sort_by_key(|(_, group)| std::cmp::Reverse(group.bytes));
    for (of, group) in remained.iter().take(SHOWN) {
        text.push_str(&format!("  at the end {}\n", remainder(of, group)));
    }
    text
}

fn growth(of: &KindResources) -> String {
    let newest = of
        .remained
        .iter()
        .max_by(|a, b| a.last_ms.total_cmp(&b.last_ms));
    let newest = newest.map_or_else(String::new, |group| {
        format!("; the newest are of {}", remainder(of, group))
    });
    format!(
        "  Possible leak: the number of {} resources grows steadily{newest}\n",
        of.kind
    )
}

fn remainder(of: &KindResources, group: &RemainderReport) -> String {
    let size = if group.width > 0 {
        format!(" {}x{}x{}", group.width, group.height, group.depth)
    } else {
        String::new()
    };
    let function = group.function.as_deref();
    let function = function.map(|name| format!(" in {}", plain(name)));
    let [first, last] = [group.first_ms, group.last_ms].map(|ms| format!("{:.3} s", ms / 1e3));
    let created = match first == last {
        true => format!("at {first}"),
        false => format!("from {first} to {last}"),
    };
    format!(
        "{}{size} by {}{}, {} bytes, created {created}",
        counted(group.count, &of.kind),
        plain(&group.request),
        function.unwrap_or_default(),
        group.bytes,
    )
}
