//! `episodes` across clients: what one client makes others do is one tree with the right parents and times,
//! and the right one is blamed.

mod chains;
mod open_requests;
mod programs;
mod protocols;
mod session;
mod user_events;
