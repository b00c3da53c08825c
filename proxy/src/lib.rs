//! The proxy display between X11 clients and their server. It relays bytes and file descriptors both ways, and hands a
//! recorder a copy, with the kernel's records of the processes at both ends.
//!
//! The proxy does not decode the protocol: it reads the connection's setup, for the cookie, and walks the rest by
//! message lengths. It computes nothing from its records.

mod attach;
mod attach_cost;
mod authority;
mod buffer;
mod child;
mod client;
mod clock;
mod command;
mod compositor;
mod connection_tap;
mod connections;
mod cpu_clock;
mod display_lock;
mod display_name;
#[doc(hidden)]
pub mod fuzzing;
mod handler_times;
mod images;
mod introduction;
mod kept_bytes;
mod link;
mod listen_error;
mod listener;
mod marks;
mod notice;
mod omission;
mod open_files;
mod peer;
mod perf;
mod preload;
mod private_dir;
mod private_server;
mod process_info;
mod record;
mod record_error;
mod record_filter;
mod recorder;
mod relay;
mod request_stacks;
mod rewrites;
mod scheduling;
mod serve;
mod server_error;
mod server_info;
mod server_kind;
mod server_link;
mod setup_connection;
mod setup_exchange;
mod slow_link;
mod socket;
mod spin_wait;
mod tap;
mod tcp_listener;
mod tcp_peer;
mod trace_file;
mod viewer;
mod viewers;
mod wait_stacks;
mod watch;

pub use attach::{AttachConfig, WATCHDOG, attach, attach_watchdog, running_clients};
pub use attach_cost::AttachCost;
pub use authority::Cookie;
pub use display_name::{DisplayName, DisplayNameError, Endpoint};
pub use handler_times::become_timed;
pub use link::{LinkError, link};
pub use listen_error::ListenError;
pub use marks::{MarkError, mark};
pub use notice::Notice;
pub use private_server::PrivateServer;
pub use record::{RecordConfig, Recorded, Stacks, Target, record};
pub use record_error::RecordError;
pub use record_filter::{MakeFilter, RecordFilter};
pub use rewrites::Rewrite;
pub use server_error::ServerError;
pub use server_info::DisplayError;
pub use server_kind::ServerKind;
pub use server_link::{Connected, ServerLink};
pub use setup_connection::{SetupConnection, SetupFailure};
pub use tap::DEFAULT_QUEUE_BYTES;
pub use trace_file::is_being_recorded;
pub use watch::{Watch, WatchEvent, Watched, watch};
