//! Records a command on a private Xvfb: `record TRACE COMMAND…`.

#![allow(clippy::print_stderr, reason = "an example speaks for itself")]

use std::error::Error;
use std::process::ExitCode;

use x11prof_proxy::{DEFAULT_QUEUE_BYTES, RecordConfig, ServerKind, Target, record};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut words = std::env::args_os().skip(1);
    let config = RecordConfig {
        output: Some(words.next().ok_or("usage: record TRACE COMMAND…")?.into()),
        target: Target::Private(ServerKind::Xvfb),
        command: words.collect(),
        queue_bytes: DEFAULT_QUEUE_BYTES,
        recorder: "x11prof example".to_owned(),
        ..RecordConfig::default()
    };
    let recorded = record(&config, |notice| eprintln!("{notice:?}"))?;
    eprintln!("{recorded:?}");
    let status = recorded
        .exit_status
        .and_then(|s| u8::try_from(s.code()?).ok());
    Ok(ExitCode::from(status.unwrap_or(1)))
}
