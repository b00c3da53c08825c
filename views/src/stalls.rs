//! Text on stalls and grabs.

use x11prof_analyzer::{GrabReport, StallLine, StallsReport};

use crate::page::Page;
use crate::plain::plain;
use crate::units::{counted, duration};

/// A sentence about the client that blocked the others longest; `None` if no client waited.
pub fn sentence(report: &StallsReport) -> Option<String> {
    let worst = report.clients.first().filter(|one| one.waiters > 0)?;
    let by = worst.request.as_deref().unwrap_or("requests");
    Some(format!(
        "{} held the server for over a frame {}, at most {} by {by}; {} waited {}",
        plain(&worst.client),
        match worst.count {
            1 => "once".to_owned(),
            count => format!("{count} times"),
        },
        duration(worst.worst_ms),
        counted(worst.waiters, "other client"),
        duration(worst.waited_ms),
    ))
}

/// The section of a report; empty if no client held the server.
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
    for stall in &report.stalls {
        text.push_str(&line(stall));
    }
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
    for waiter in &stall.waited {
        text.push_str(&format!(
            "    {} waited {} with {}\n",
            plain(&waiter.client),
            duration(waiter.waited_ms),
            counted(waiter.requests, "request"),
        ));
    }
    text
}

/// The grabs of the server, the pointer and the keyboard; empty if there were none.
pub fn grabs(report: &GrabReport, page: &Page) -> String {
    if report.count == 0 && report.refused == 0 {
        return String::new();
    }
    let mut text = format!("\nGrabs: {}, {} refused\n", report.count, report.refused);
    for grab in &report.grabs {
        let client = plain(&grab.client);
        text.push_str(&format!(
            "  {} by {client} at {:.3} s for {:.3} ms, until {}\n",
            grab.what,
            grab.since_ms / 1e3,
            grab.held_ms,
            grab.end
        ));
        for waiter in &grab.waited {
            let client = plain(&waiter.client);
            text.push_str(&format!(
                "    {client} waited {:.3} ms with {} requests\n",
                waiter.waited_ms, waiter.requests
            ));
        }
    }
    page.fold(&text)
}
