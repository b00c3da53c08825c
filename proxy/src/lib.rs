//! The proxy display between X11 clients and their server. It relays bytes and file descriptors in both directions, and
//! passes a copy to a recorder, with the kernel's records of the processes at both ends.
//!
//! [`RecordConfig`] describes a recording: through the proxy, or of clients that already run. [`record()`] performs the
//! recording, and returns [`Recorded`].
//!
//! The proxy does not decode the protocol. It reads the connection's setup because of the cookie, and follows all
//! other bytes by the lengths of messages. The proxy computes nothing from its records.

mod attach;
mod capture;
mod clock;
mod display;
#[doc(hidden)]
#[cfg(any(test, feature = "testing"))]
pub mod fuzzing;
mod marks;
mod notice;
mod private_dir;
mod processes;
mod record;
mod recorder;
mod recording;
mod relay;
mod servers;
mod serving;
mod shared_memory;
mod sockets;

pub use attach::{WATCHDOG, attach_watchdog, running_clients};
pub use capture::handler_times::{HandlerTimes, become_timed};
pub use display::authority::Cookie;
pub use display::display_name::{DisplayName, DisplayNameError, Endpoint};
pub use display::link::{LinkError, link};
pub use display::listen_error::ListenError;
pub use display::server_info::{DisplayError, describe_server};
pub use display::server_link::{Connected, ServerLink};
pub use display::setup_connection::{SetupConnection, SetupFailure, setup_request};
pub use marks::{MarkError, mark, relayed_clients};
pub use notice::Notice;
pub use private_dir::PrivateDir;
pub use processes::child::end_with_this_process;
pub use processes::cpu_clock::cpu_time;
pub use processes::process_info::{cpu_model, cpus, kernel};
pub use processes::signals::{
    before_default, note_handled_signals, received_signal, takes_interrupts,
};
pub use record::record;
pub use recorder::record_filter::{MakeFilter, RecordFilter};
pub use recorder::record_queue::DEFAULT_QUEUE_BYTES;
pub use recorder::result_path::{ResultPath, create_folder};
pub use recorder::trace_file::{is_being_recorded, open_directly, own_file};
pub use recorder::watch::{Watch, WatchEvent, Watched, watch};
pub use recording::config::{AttachOptions, RecordConfig, Recorded, Stacks, Target};
pub use recording::record_error::RecordError;
pub use relay::rewrites::Rewrite;
pub use servers::private_server::PrivateServer;
pub use servers::server_error::ServerError;
pub use servers::server_kind::ServerKind;
pub use shared_memory::SharedMemory;
