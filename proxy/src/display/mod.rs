//! Displays by name: their sockets, their authority and the setup of a connection to them.

pub(crate) mod authority;
pub(crate) mod conversation;
pub(crate) mod display_lock;
pub(crate) mod display_name;
pub(crate) mod link;
pub(crate) mod listen_error;
pub(crate) mod listener;
pub(crate) mod server_info;
pub(crate) mod server_link;
pub(crate) mod setup_connection;
pub(crate) mod setup_exchange;
pub(crate) mod tcp_listener;
