//! Compares the product's figures with independent measurements, and runs benchmarks that take too long for a test.
//! `cargo xtask validate …` and `cargo xtask bench …` build and run this program.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool"
)]

mod bench;
mod validate;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.first().map(String::as_str) {
        Some("bench") => bench::bench(&arguments[1..]),
        Some("validate") => validate::validate(&arguments[1..]),
        _ => Err("usage: cargo xtask bench … | validate …".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("validation: {message}");
            ExitCode::FAILURE
        }
    }
}
