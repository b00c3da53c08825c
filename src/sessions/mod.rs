//! Many sessions: which files they are in, and what issues are made of from them.

mod files;
mod in_order;
mod online;
mod read;
mod tables;

pub(crate) use files::find;
pub(crate) use online::Online;
pub(crate) use read::{TABLE_READER, read, serve_tables};
pub(crate) use tables::{Tables, write_session};
