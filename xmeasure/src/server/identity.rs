//! The identity of the server and of the machine, and the date of the measurement.

use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use x11prof_cost_model::{Host, Method, ServerIdentity};
use x11prof_proxy::{cpu_model, cpus, kernel};
use x11prof_trace::{Server, utc_date};

use crate::plan::Plan;
use crate::server::process;

/// The identity of a server. The name is `name`, or else the name of the executable with the depth.
pub(crate) fn server(server: &Server, name: Option<&str>) -> ServerIdentity {
    let path = server.executable.as_deref();
    let executable = path.map(|path| path.rsplit('/').next().unwrap_or(path).to_owned());
    let name = name.map(str::to_owned).unwrap_or_else(|| {
        let kind = executable.as_deref().unwrap_or("server");
        format!("{}-{}", kind.to_ascii_lowercase(), server.depth)
    });
    ServerIdentity {
        name,
        executable,
        arguments: without_secrets(server.arguments.iter().cloned()),
        vendor: Some(server.vendor.clone()),
        release: Some(server.release),
        depth: Some(server.depth),
        screen: Some(server.screen),
    }
}

/// Returns the server's arguments without the display number, paths and options with paths, because these differ
/// between runs or name the user's files.
fn without_secrets(arguments: impl Iterator<Item = String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for argument in arguments {
        if argument.starts_with(':') {
            continue;
        }
        let option = kept.last().filter(|last| last.starts_with(['-', '+']));
        // The recorder hides the path of the authority file.
        let is_path = argument.contains('/') || argument == "…";
        // A descriptor number identifies a file like a path does.
        if is_path || option.is_some_and(|option| option == "-displayfd") {
            if option.is_some() {
                kept.pop();
            }
            continue;
        }
        kept.push(argument);
    }
    kept
}

/// The identity of the machine that this program runs on.
pub fn this_machine() -> Host {
    static HOST: OnceLock<Host> = OnceLock::new();
    let host = HOST.get_or_init(|| Host {
        cpu_model: Some(cpu_model()).filter(|model| !model.is_empty()),
        cpus: Some(cpus()),
        kernel: Some(kernel()),
        machine: process::machine(),
        step_ns: Some((process::step_ns() * 1000.0).round() / 1000.0),
    });
    host.clone()
}

/// A description of the measurement, with the user's `plan` and further `notes`.
pub(crate) fn method(plan: &Plan, notes: &[String]) -> Method {
    let place = match plan.pin {
        Some(pin) => format!("server and sender on processor {pin}"),
        None => "not pinned".to_owned(),
    };
    let kind = if plan.quick { "quick" } else { "whole" };
    let by = if plan.timed {
        "handler times"
    } else {
        "saturated loops"
    };
    let passes = format!("{} passes", plan.passes());
    let mut text = format!("{kind} plan, {by}, {passes}, {place}");
    for note in notes {
        text.push_str("; ");
        text.push_str(note);
    }
    Method {
        source: Some(format!("x11prof calibrate {}", env!("CARGO_PKG_VERSION"))),
        date: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .ok()
            .map(|since| utc_date(since.as_nanos() as u64)),
        notes: Some(text),
        ..Method::default()
    }
}

#[cfg(test)]
mod tests {
    use super::without_secrets;

    #[test]
    fn secret_and_session_arguments_are_removed() {
        let arguments = [
            ":7",
            "-screen",
            "0",
            "640x480x24",
            "-auth",
            "…",
            "-displayfd",
            "5",
            "-rfbauth=/home/u/.vnc/passwd",
            "-config",
            "/tmp/private/xorg.conf",
            "-noreset",
        ];
        let kept = without_secrets(arguments.into_iter().map(String::from));
        assert_eq!(kept, ["-screen", "0", "640x480x24", "-noreset"]);
    }
}
