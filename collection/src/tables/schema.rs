//! The tables with their columns. If the meaning of a column changes, the version must change. An additional column or
//! table does not require a new version.

use super::columns::{Column, Schema, integer, optional, text};

/// The version of the tables' format, stored in the metadata of each file under [`KEY`].
pub const VERSION: &str = "1";
/// The key of the version in a file's metadata.
pub const KEY: &str = "x11prof.tables";

/// The column with the id of the session to which a row belongs.
const SESSION: Column = text("session");

/// The column with the nanoseconds from 1970 to the beginning of the recording.
pub(super) const STARTED: &str = "started_ns";

/// The table with a row for each recording.
pub const SESSIONS: Schema = Schema {
    name: "sessions",
    columns: &[
        SESSION,
        text("trace"),
        integer(STARTED),
        integer("duration_ns"),
        integer("episodes"),
        integer("complete"),
    ],
};

/// The table with a row for each episode. With `--tables-only`, the table contains only episodes over their threshold.
pub const EPISODES: Schema = Schema {
    name: "episodes",
    columns: &[
        SESSION,
        text("trace"),
        optional(text("program")),
        integer("client"),
        text("landmark"),
        text("trigger"),
        text("pattern"),
        text("blame"),
        integer("start_ns"),
        integer("latency_ns"),
        integer("threshold_ns"),
        integer("waiting_ns"),
        integer("client_ns"),
        integer("processor_ns"),
        integer("sleeping_ns"),
        integer("lock_ns"),
        integer("file_ns"),
        integer("poll_ns"),
        integer("elsewhere_ns"),
        integer("reply_ns"),
        integer("grabbed_ns"),
        integer("drawing_ns"),
        optional(integer("server_processor_ns")),
        integer("network_ns"),
        integer("other_clients_ns"),
        optional(integer("awaited_ns")),
        integer("round_trips"),
        integer("requests"),
        integer("bytes"),
        optional(text("uncertain")),
        optional(text("caused_by")),
    ],
};

/// The table with the number of episodes for each session, program, landmark, trigger and step of latency.
pub const LATENCIES: Schema = Schema {
    name: "latencies",
    columns: &[
        SESSION,
        optional(text("program")),
        text("landmark"),
        text("trigger"),
        integer("at_least_ns"),
        integer("episodes"),
    ],
};

/// The table with a row for each client, window and kind of request. The table also contains rows for events, and for
/// the parts of transport that used server time.
pub const REQUESTS: Schema = Schema {
    name: "requests",
    columns: &[
        SESSION,
        text("client"),
        text("window"),
        text("request"),
        integer("count"),
        integer("sent_bytes"),
        integer("returned_bytes"),
        optional(integer("server_ns")),
        optional(text("time_source")),
    ],
};

/// The table of replies for which clients waited, by phase and request.
pub const ROUND_TRIPS: Schema = Schema {
    name: "round_trips",
    columns: &[
        SESSION,
        text("phase"),
        text("request"),
        integer("count"),
        integer("waited_ns"),
    ],
};

/// The table of the resources that clients created in the server, by client and kind.
pub const RESOURCES: Schema = Schema {
    name: "resources",
    columns: &[
        SESSION,
        integer("client"),
        text("name"),
        text("kind"),
        integer("created"),
        integer("freed"),
        integer("held"),
        integer("held_bytes"),
        integer("peak"),
        integer("peak_bytes"),
    ],
};

/// The table with a row for each period in which the recorded server used a processor.
pub const SERVER_RUNS: Schema = Schema {
    name: "server_runs",
    columns: &[SESSION, integer("start_ns"), integer("length_ns")],
};

/// The table with a row for each mark that the user set during the recording.
pub const MARKS: Schema = Schema {
    name: "marks",
    columns: &[SESSION, integer("at_ns"), text("text")],
};

/// All tables, in the order of this file.
pub const ALL: [&Schema; 8] = [
    &SESSIONS,
    &EPISODES,
    &LATENCIES,
    &REQUESTS,
    &ROUND_TRIPS,
    &RESOURCES,
    &SERVER_RUNS,
    &MARKS,
];
