//! `episodes` across clients: actions that one client triggers in others form one tree with the right parents,
//! times and blame.

mod chains;
mod open_requests;
mod programs;
mod protocols;
mod reported_waits;
mod session;
mod user_events;
