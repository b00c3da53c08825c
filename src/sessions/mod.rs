//! Many sessions: finds their files, and reads the files to compute issues.

mod files;
mod in_order;
mod online;
mod read;
mod tables;

pub(crate) use files::find;
pub(crate) use online::Online;
pub(crate) use read::{TABLE_READER, read, serve_tables};
pub(crate) use tables::{Tables, write_session};
