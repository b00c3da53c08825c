//! Stalls and grabs, as text.

use x11prof_analyzer::{GrabReport, StallLine, StallWaiter, StallsReport};

use crate::page::Page;
use crate::plain::plain;
use crate::units::{counted, duration};

/// A sentence about the client that made other clients wait longest; `None` if no client waited.
pub fn sentence(report: &StallsReport) -> Option<String> {
    let worst = report.clients.first().filter(|one| one.waiters > 0)?;
    let by = worst.request.as_deref().unwrap_or("requests");
    let mut own = report
        .stalls
        .iter()
        .filter(|one| one.client == worst.client);
    let waiter = own
        .find_map(|one| one.waited.first())
        .filter(|_| worst.waiters == 1);
    let waiter = waiter.map(|one| plain(&one.client).into_owned());
    Some(format!(
        "{} held the server for over a frame {}, at most {} by {by}; {} waited {}",
        plain(&worst.client),
        match worst.count {
            1 => "once".to_owned(),
            count => format!("{count} times"),
        },
        duration(worst.worst_ms),
        waiter.unwrap_or_else(|| counted(worst.waiters, "other client")),
        duration(worst.waited_ms),
    ))
}

/// The stalls as a section of a report; empty if there were none.
pub fn text(report: &StallsReport, page: &Page) -> String {
    if report.count == 0 {
        return String::new();
    }
    let mut text = format!(
        "\nStalls longer than {}: {}, {} in total\n",
        duration(report.frame_ms),
        counted(report.count, "time"),
        duration(report.held_ms),
    );
    text.extend(report.stalls.iter().map(line));
    page.fold(&text)
}

fn line(stall: &StallLine) -> String {
    let ran = match (stall.handlers_ms, stall.ran_ms) {
        (Some(handlers), _) => format!(", whose requests took {}", duration(handlers)),
        (None, Some(ran)) => format!(", of which it ran {}", duration(ran)),
        (None, None) => String::new(),
    };
    let client = plain(&stall.client);
    let held = match (stall.how.as_str(), &stall.request) {
        ("grabbed", _) => format!("grabbed by {client}"),
        (_, Some(request)) => format!("busy with {} of {client}", plain(request)),
        (_, None) => format!("busy with {client}"),
    };
    let mut text = format!(
        "  {} at {:.3} s: {held}{ran}\n",
        duration(stall.held_ms),
        stall.since_ms / 1e3,
    );
    text.extend(stall.waited.iter().map(waited));
    text
}

/// Returns a line about a client that waited, with its requests or with its attempt to connect.
fn waited(one: &StallWaiter) -> String {
    let with = match one.requests {
        0 => "to connect".to_owned(),
        requests => format!("with {}", counted(requests, "request")),
    };
    let (client, ms) = (plain(&one.client), duration(one.waited_ms));
    format!("    {client} waited {ms} {with}\n")
}

/// Returns the target of a grab as text. In X.Org servers, the devices 2 and 3 are the first master pointer and the
/// first master keyboard.
fn grabbed(what: &str) -> String {
    match what {
        "device 2" => "pointer (device 2)".to_owned(),
        "device 3" => "keyboard (device 3)".to_owned(),
        other => other.to_owned(),
    }
}

/// The grabs of the server, the pointer and the keyboard, as a section of a report; empty if there were none.
pub fn grabs(report: &GrabReport, page: &Page) -> String {
    if report.count == 0 && report.refused == 0 {
        return String::new();
    }
    let refused = match report.refused {
        0 => String::new(),
        refused => format!(", {refused} refused"),
    };
    let mut text = format!("\n{}{refused}:\n", counted(report.count, "grab"));
    for grab in &report.grabs {
        let client = plain(&grab.client);
        text.push_str(&format!(
            "  {} by {client} at {:.3} s for {}{}\n",
            grabbed(&grab.what),
            grab.since_ms / 1e3,
            duration(grab.held_ms),
            match grab.end.as_str() {
                "closed" => ", until the client disconnected",
                "lost" => ", until another client grabbed it",
                "trace" => ", to the end of the recording",
                _ => "",
            }
        ));
        text.extend(grab.waited.iter().map(waited));
    }
    page.fold(&text)
}
