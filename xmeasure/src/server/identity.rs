//! The identity of the server and the machine, and the date.

use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use x11prof_cost_model::{FORMAT, Host, Method, ServerIdentity, ServerParameters};

use crate::error::MeasureError;
use crate::plan::Plan;
use crate::server::client::Client;
use crate::server::connection::RawConnection;
use crate::server::process;
use crate::server::target::Target;

/// The identity of the server of display `target`, and of its machine.
///
/// # Errors
///
/// Fails if the display cannot be reached or refuses.
pub fn identify(target: &Target) -> Result<(ServerIdentity, Host), MeasureError> {
    let client = Client::new(RawConnection::open(target)?)?;
    Ok((server(&client, target), host(&client)))
}

/// The process of the server of display `target`, if it runs on this machine.
///
/// # Errors
///
/// Fails if the display cannot be reached or refuses.
pub fn server_process(target: &Target) -> Result<Option<u32>, MeasureError> {
    let client = Client::new(RawConnection::open(target)?)?;
    Ok(client.raw.pid.and_then(|pid| u32::try_from(pid).ok()))
}

/// The parameters of this server on this host, still without costs.
pub(crate) fn parameters(client: &Client, target: &Target) -> ServerParameters {
    ServerParameters {
        format: FORMAT,
        server: server(client, target),
        host: host(client),
        ..ServerParameters::default()
    }
}

/// The server's identity, from its setup and its process.
fn server(client: &Client, target: &Target) -> ServerIdentity {
    let setup = &client.raw.setup;
    let command = client
        .raw
        .pid
        .map(process::command_line)
        .unwrap_or_default();
    let executable = client.raw.pid.and_then(process::executable);
    let depth = client.screen.root_depth;
    let name = target.name().map(str::to_owned).unwrap_or_else(|| {
        let kind = executable
            .as_deref()
            .unwrap_or("server")
            .to_ascii_lowercase();
        format!("{kind}-{depth}")
    });
    ServerIdentity {
        name,
        executable,
        arguments: without_secrets(command.into_iter().skip(1)),
        vendor: Some(String::from_utf8_lossy(&setup.vendor).into_owned()),
        release: Some(setup.release_number),
        depth: Some(depth),
        screen: Some((
            client.screen.width_in_pixels,
            client.screen.height_in_pixels,
        )),
        viewed: target.is_viewed(),
    }
}

/// Arguments without the display number and without paths and their options, because these differ between runs or
/// name the user's files.
fn without_secrets(arguments: impl Iterator<Item = String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for argument in arguments {
        if argument.starts_with(':') {
            continue;
        }
        let option = kept.last().filter(|last| last.starts_with(['-', '+']));
        let is_path = argument.contains('/');
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

/// The host: this machine, if the server runs on it.
fn host(client: &Client) -> Host {
    if client.raw.pid.is_none() {
        return Host::default();
    }
    this_machine()
}

/// The machine that this program runs on.
pub fn this_machine() -> Host {
    static HOST: OnceLock<Host> = OnceLock::new();
    let host = HOST.get_or_init(|| Host {
        cpu_model: process::cpu_model(),
        cpus: process::cpus(),
        kernel: process::kernel(),
        machine: process::machine(),
        step_ns: Some((process::step_ns() * 1000.0).round() / 1000.0),
    });
    host.clone()
}

/// The method of the measurement.
pub(crate) fn method(plan: &Plan, notes: &[String]) -> Method {
    let place = match plan.pin {
        Some(pin) => format!("server and sender on processor {}", pin.both),
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
            .map(|since| civil_date(since.as_secs() / 86_400)),
        notes: Some(text),
        unmeasured: Vec::new(),
        brought: None,
    }
}

/// The date of a day counted from 1970-01-01, in the Gregorian calendar. Eras of 400 years start in March so that the
/// leap day comes last.
fn civil_date(day: u64) -> String {
    let day = day + 719_468;
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 {
        (year, month + 3)
    } else {
        (year + 1, month - 9)
    };
    format!("{:04}-{month:02}-{of_month:02}", era * 400 + year)
}

#[cfg(test)]
mod tests {
    use super::{civil_date, without_secrets};

    #[test]
    fn days_since_epoch_become_dates() {
        assert_eq!(civil_date(0), "1970-01-01");
        assert_eq!(civil_date(11_016), "2000-02-29");
        assert_eq!(civil_date(11_017), "2000-03-01");
        assert_eq!(civil_date(20_818), "2026-12-31");
    }

    #[test]
    fn secret_and_session_arguments_are_removed() {
        let arguments = [
            ":7",
            "-screen",
            "0",
            "640x480x24",
            "-auth",
            "/home/u/.Xauthority",
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
