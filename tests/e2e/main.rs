//! The end-to-end tests: x11prof with real servers and real clients. All tests are one program, so that it is
//! linked only once.
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test that cannot go on says why and fails; with --nocapture some show their figures"
)]

mod attach;
mod attach_watchdog;
mod audit;
mod ci;
mod cost_tables;
mod coverage;
mod decoding;
mod difference;
mod diverge;
mod documents;
mod episode_report;
mod episodes;
mod errors;
mod exports;
mod files;
mod first_steps;
mod fixes;
mod harness;
mod hostile;
mod html;
mod issues;
mod killed;
mod link;
mod live;
mod load;
mod marks;
mod measure;
mod measured;
mod nesting;
mod networks;
mod params;
mod play;
mod profile;
mod profile_views;
mod record;
mod replay;
mod replay_attacks;
mod resources;
mod ring;
mod roundtrips;
mod safety;
mod safety_attacks;
mod screens;
mod scrub;
mod stability;
mod stacks;
mod stats;
mod timed;
mod top;
mod transparency;
