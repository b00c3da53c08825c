//! The resources that clients hold, as text.

use x11prof_analyzer::{ClientResources, KindResources, RemainderReport, ResourceReport};

use crate::page::Page;
use crate::plain::plain;
use crate::table::Table;
use crate::units::{bytes, counted};

/// Maximum number of clients shown individually without `--all`, the largest first.
const MAX_CLIENTS: usize = 20;
/// The bytes and resources up to which a client is shown only with `--all`.
const TRIVIAL: (u64, u64) = (0, 1);
/// Maximum number of groups of remaining resources shown for each client.
const SHOWN: usize = 5;

/// The resources as a section of a report.
pub fn text(report: &ResourceReport, page: &Page) -> String {
    let most = |client: &ClientResources| -> (u64, u64) {
        let kinds = client.kinds.iter();
        kinds.fold((0, 0), |(bytes, count), of| {
            (
                bytes.saturating_add(of.counts.most_bytes),
                count.saturating_add(of.counts.most),
            )
        })
    };
    let others = report.others.as_ref().map_or(0, |others| others.count);
    let all = others + report.clients.len() as u64;
    let mut clients: Vec<&ClientResources> = report
        .clients
        .iter()
        .filter(|client| !client.kinds.is_empty() && (page.all || most(client) > TRIVIAL))
        .collect();
    clients.sort_by_key(|client| std::cmp::Reverse(most(client)));
    let mut text = format!("\n{}", summary(report, clients.first()));
    if !page.all {
        clients.truncate(MAX_CLIENTS);
    }
    clients.sort_by_key(|client| client.client);
    let hidden = all - clients.len() as u64;
    clients
        .into_iter()
        .for_each(|client| text.push_str(&client_text(client, page)));
    if hidden > 0 {
        let hidden = counted(hidden, "more client");
        text.push_str(&format!("\n{hidden} held less in the server\n"));
    }
    text.push_str("Peak: the largest number at one time. Brief: freed soon after creation\n");
    page.fold(&text)
}

/// The possible leaks, and the client that held the most memory.
fn summary(report: &ResourceReport, largest: Option<&&ClientResources>) -> String {
    let clients = report.clients.iter();
    let growing = clients.flat_map(|client| {
        let kinds = client.kinds.iter().filter(|of| of.grows);
        kinds.map(|of| format!("the {}s of {}", of.kind, plain(&client.name)))
    });
    let growing: Vec<String> = growing.collect();
    let leaks = match growing.is_empty() {
        true => "Resources: no kind grew until the end.".to_owned(),
        false => format!("Possible leak: {} grew until the end.", growing.join(", ")),
    };
    let largest = largest.map_or_else(String::new, |client| {
        let kinds = client.kinds.iter();
        match kinds.max_by_key(|of| of.counts.most_bytes) {
            Some(of) if of.counts.most_bytes > 0 => format!(
                " Most memory at one time: {}, {} in {}.",
                plain(&client.name),
                bytes(of.counts.most_bytes),
                counted(of.counts.most, &of.kind)
            ),
            _ => String::new(),
        }
    });
    format!("{leaks}{largest}\n")
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
        "Brief",
    ])
    .spare([5, 8]);
    for of in &client.kinds {
        table.row([
            of.kind.clone(),
            of.counts.held.to_string(),
            of.counts.held_bytes.to_string(),
            of.counts.most.to_string(),
            of.counts.most_bytes.to_string(),
            format!("{:.3}", of.most_at_ms / 1e3),
            of.counts.created.to_string(),
            of.counts.freed.to_string(),
            of.counts.freed_at_once.to_string(),
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
        // The line on a possible leak already contains the newest group.
        .filter(|(of, group)| group.bytes > 0 && !(of.grows && newest(of) == Some(*group)))
        .collect();
    remained.sort_by_key(|(_, group)| std::cmp::Reverse(group.bytes));
    for (of, group) in remained.iter().take(SHOWN) {
        text.push_str(&format!(
            "  memory held at the end: {}\n",
            remainder(of, group)
        ));
    }
    if remained.len() > SHOWN {
        let left = counted((remained.len() - SHOWN) as u64, "smaller group");
        text.push_str(&format!("  … {left} in the JSON\n"));
    }
    text
}

/// The group of remaining resources that was created last.
fn newest(of: &KindResources) -> Option<&RemainderReport> {
    let groups = of.remained.iter();
    groups.max_by(|a, b| a.last_ms.total_cmp(&b.last_ms))
}

fn growth(of: &KindResources) -> String {
    let newest = newest(of).map_or_else(String::new, |group| {
        let which = ["", "the newest: "][usize::from(of.remained.len() > 1)];
        format!("; {which}{}", remainder(of, group))
    });
    format!(
        "  Possible leak: the number of {}s grew until the end{newest}\n",
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
