//! Who kept the server, the pointer or the keyboard, for people.

use x11prof_analyzer::GrabReport;

use crate::page::Page;
use crate::plain::plain;

/// The section of a report; nothing where there were no grabs.
pub fn text(report: &GrabReport, page: &Page) -> String {
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
