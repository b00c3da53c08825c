//! `episodes` across clients: what one client makes others do is one tree with the right parents and times, and the
//! right one is blamed.
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test that cannot go on says why and fails; with --nocapture it shows its figures"
)]

mod chains;
#[path = "../harness/mod.rs"]
mod harness;
mod programs;
mod protocols;
mod session;
mod user_events;
