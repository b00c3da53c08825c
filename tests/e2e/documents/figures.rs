//! The figures of all reports: name, unit, the total that each is a part of, and meaning. `cargo xtask docs` writes
//! this table into docs/REFERENCE.md.

use std::collections::HashSet;

/// The definition of a figure that a report prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FigureDefinition {
    /// The name in JSON; with the enclosing object's name if other figures have the same name.
    pub(crate) name: &'static str,
    /// The unit of the figure, such as `ms`.
    pub(crate) unit: &'static str,
    /// The figure that is at least as large as this one, or the sum of all figures of this kind; empty if there is
    /// none.
    pub(crate) part_of: &'static str,
    /// The meaning of the figure, in one sentence.
    pub(crate) means: &'static str,
}

/// Name | unit | part of | meaning; a heading begins each group.
const TABLE: &str = "
# Messages
count | number | total.count | Messages of the line in the trace; requests where it says no other kind; of a distribution its values.
requests | number | total.count | Requests that the client sent.
bytes | bytes | total.bytes | Bytes on the wire: of requests; in `transport` of all other messages.
replies | number | | Replies that the server sent.
events | number | | Events that the server sent.
errors | number | | Errors that the server sent.
reply_bytes | bytes | transport.bytes | Bytes of replies and errors.
event_bytes | bytes | transport.bytes | Bytes of events.
setup_bytes | bytes | transport.bytes | Bytes of connections' setups, both ways.
returned_bytes | bytes | | Bytes of replies and errors to these requests.
received_bytes | bytes | transport.bytes | Bytes from the server during start-up.
total_bytes | bytes | total.bytes | Bytes of all messages of the kind.
failed | number | count | Requests that an error answered.
unpaired_replies | number | replies | Replies to requests that the trace does not have.
percent_of_count | % | 100 | The share of all requests.
records | number | | Records of the trace without those of context switches.
connection_count | number | | Connections that the trace has.
# Time of the server and of the network
server_ms | ms | total.server_ms | Server time, on the page's basis and clock.
network_ms | ms | total.network_ms | The time that the given network takes on the simulated critical path, or by equation 7 (`--net-model paper`).
time_ms | ms | total.time_ms | Server and network time.
think_and_wait.states.time_ms | ms | | Time in this state, summed over all clients.
percent_of_time | % | 100 | The share of the total's `time_ms`.
ms_per_call | ms | | `time_ms` of one request, on average.
low_ms | ms | | The least `time_ms` by the calibration's spread and by substitutions. A total that is computed from costs is at least 30 % above it, as nine of ten validated totals were.
high_ms | ms | | The most `time_ms` by the calibration's spread and by substitutions; for a total that is computed from costs at least 30 % more.
transport_ms | ms | transport.server_ms | Server time for waking, reading and answering these requests; of a server in `compare` of all transport.
transport_network_ms | ms | network_ms | Network time of transport.
charged_ms | ms | total.time_ms | All that the requests caused: `time_ms`, `transport_ms`, and the network's time for `returned_bytes`.
percent_charged | % | 100 | `charged_ms` as a share of the total's `time_ms`.
exact | number | count | Requests whose cost was measured at this size.
interpolated | number | count | Requests with a cost between two measured sizes.
substituted | number | count | Requests with the cost of another value of an attribute.
no_cost_data | number | count | Requests without cost data; they have no time.
wakeups | number | | Runs of the server that began with a wakeup; where time is measured, those divided.
wakeup_ms | ms | transport.server_ms | Server time for waking.
read_ms | ms | transport.server_ms | Server time for reading bytes and for setups.
cold_requests | number | total.count | Requests whose pixels had left the server's caches.
cold_ms | ms | transport.server_ms | Time of `cold_requests` beyond their costs, where time is modelled.
reply_ms | ms | transport.server_ms | Server time for replies and errors.
causes.reply_ms | ms | parts | The client waited for a reply.
perceptible_causes.reply_ms | ms | parts | Waits for a reply in episodes over their threshold.
event_ms | ms | transport.server_ms | Server time for events.
unattributed.runs | number | | Runs of the server for no recorded client.
unattributed.ms | ms | transport.server_ms | Server time for no recorded client.
total_ms | ms | | The sum: of requests and transport for a server in `compare`, of latencies for a landmark or pattern.
ratio | times | | `total_ms` as a multiple of the first server's on the same network.
comparable_ms | ms | total_ms | Time of the requests that all compared servers can cost.
runs_ms | ms | | The server's time for the requests in each replay.
change_percent | % | | The change of the mean from the first server of the replay.
margin_percent | % | | A smaller change is not distinguished from chance.
comparable_ratio | times | | `comparable_ms` as a multiple of the first server's on the same network.
times | times | | The factor from another machine's costs to this machine's.
low | times | | The least factor.
high | times | | The largest factor.
rtt_ms | ms | | The given network's round-trip latency.
bytes_per_second | bytes/s | | The given network's speed.
# Time of the clients
client_cpu_ms | ms | | The clients' processor time by the kernel, until each was gone.
server_cpu_ms | ms | wall_ms | The server's processor time by the kernel.
wall_ms | ms | duration_ms | From the first chosen client's connecting to the last chosen client's activity, or to the end where one is still connected.
duration_ms | ms | | From the first record to the last; of a burst, a wait or a phase its length.
client_ms | ms | | The client's processor time: in `client_and_server` the kernel's, in `parts` the episode's.
requests_ms | ms | total.server_ms | Server time without events.
events_ms | ms | total.server_ms | Server time for events.
sum_ms | ms | | Clients and server together (equation 1).
overlap_ms | ms | wall_ms | The least by which clients and server must have run at once (equation 2).
client_and_server.run_queue_ms | ms | wall_ms | Neither ran, because a client or the server could run and had no processor, by the context switches.
idle_ms | ms | wall_ms | The least time in which neither ran nor could run; of a start-up waits for other things than replies.
stacks_ms | ms | client_ms | Clients' own time for unwinding the stacks of their requests (`record --stacks=requests`).
client_ran_ms | ms | wall_ms | At least one thread of a client ran, by the context switches (by the CPU clock before it connected).
measured_overlap_ms | ms | wall_ms | Both ran, by the context switches.
event_wakeups | number | | Wakeups of a waiting client by events alone.
event_client_ms | ms | client_cpu_ms | Client time from such a wakeup to its next wait.
percent_of_wall | % | | `sum_ms` as a share of `wall_ms`; over 100 where both ran at once.
estimate_ratio | times | | The estimate of the server's time as a multiple of the kernel's.
cpu_ms | ms | | Time on a processor; of a stall the server's.
handlers_ms | ms | | The time of the server's handlers for the requests of the client that held the server.
# Start-up
start_up.latency_ms | ms | | From the process's start (the connection's, where that is unknown) to the end of the first frame in the first mapped top-level window: until the client rests, has waited for its drawing (GetInputFocus, GetImage of the window), puts a second picture over the window, or has drawn for a second. The landmark `Start-up` of `episodes` is the same; of a client without a first frame, `Connected, nothing shown`, goes from the connection to the first rest.
start_ups.latency_ms | ms | | `start_up.latency_ms`.
before_connection_ms | ms | latency_ms | Time before the client connected.
setup_ms | ms | latency_ms | Time until the server answered the connection's setup.
# Round trips
round_trips | number | replies | Replies and errors that a client waited for: it wrote nothing after the request, no other reply was outstanding, and it was off the processor before the reply came. Without context switches, and in an attached recording (its times are the server's, in milliseconds), the first two conditions decide.
synchronisations | number | round_trips | Round trips of GetInputFocus, as XSync sends it.
pipelined | number | replies | Questions whose reply no client waited for.
waited_ms | ms | | From when the relay had the request until it had the reply, of round trips; of a grab or a stall the wait of another client.
forecast_ms | ms | | Length over the link, simulated: of the session, or of a start-up.
local_ms | ms | | Length of the session without a link, simulated.
recorded_ms | ms | | Length as recorded: of the session, or of a start-up.
recorded_rtt_ms | ms | | Round trip of the recorded link.
causes.count | number | | Moments on the critical path of the forecast with this cause.
causes.ms | ms | forecast_ms | Time on the critical path of the forecast with this cause.
shared_bytes | bytes | | Bytes of images in shared memory, which count as sent.
pixel_bytes | bytes | | Bytes of the pixels of all images that clients sent, also in shared memory.
pixels_ms | ms | forecast_ms | Time by which the session over the link is shorter if images have no pixels, simulated.
start_ups.awaited_ms | ms | forecast_ms | Time of another client on the critical path of a start-up.
limits.rtt_ms | ms | | Round trip from which on a start-up takes a second longer.
limits.bytes_per_second | bytes/s | | Speed below which a start-up takes a second longer.
never_came.since_ms | ms | | Time of the request after the first record.
saves_ms | ms | | Time by which the session over the link is shorter if the suggestion is followed: the difference of two simulations.
adds_ms | ms | before_ms | Time that a suggestion saves beyond those before it.
before_ms | ms | | Length of the session over the link, simulated.
after_ms | ms | before_ms | `before_ms` once all suggestions are followed.
round_trips_after | number | round_trips | Round trips once all suggestions are followed.
in_order_omitted | number | round_trips | Round trips not in the list.
at_ms | ms | | Time after the first record.
# Episodes
latency_ms | ms | | From the beginning of an episode to the end of its response, with its effects on other clients.
exclusive_ms | ms | latency_ms | Latency without the children.
start_ms | ms | | The beginning, after the first record.
longest_start_ms | ms | | The beginning of the pattern's longest episode.
waiting_ms | ms | latency_ms | Time until the client began.
off_cpu_ms | ms | latency_ms | The client off the processor.
parts.server_ms | ms | latency_ms | The client waited for the server.
perceptible_parts.server_ms | ms | latency_ms | Waits for the server in episodes over their threshold.
parts.network_ms | ms | latency_ms | Messages on the network; with --net, what the simulated latency adds.
perceptible_parts.network_ms | ms | latency_ms | Time on the network in episodes over their threshold.
other_clients_ms | ms | latency_ms | Other clients handled its effects after its own client was done, or its client waited for their replies.
running_ms | ms | parts | The client on a processor.
processor_ms | ms | parts | The client was ready and had no processor.
run_queue_ms | ms | waited_ms | No processor was free for the server during the client's waits.
client_run_queue_ms | ms |  | The client could run during start-up and had no processor.
grab_ms | ms | parts | Waits for a reply while another client had grabbed the server.
server_processor_ms | ms | parts | The server was ready and had no processor.
sleeping_ms | ms | parts | A sleep.
lock_ms | ms | parts | Waits for another thread.
file_ms | ms | parts | Waits for a file.
poll_ms | ms | parts | Waits in poll: for the next frame, a timer, another program.
elsewhere_ms | ms | parts | Other waits: for a process, a pipe, or unknown.
awaited_ms | ms | parts | The client waited for the answer of another client, or for the screen's clock, by a request that was open.
runnable_threads | number | | Running and ready threads of the client, on average over its episodes.
others_ms | ms | | Other clients handled the episodes' effects, after the episodes' own clients were done.
perceptible_others_ms | ms | others_ms | `others_ms` of episodes over their threshold.
input_delay_ms | ms | latency_ms | Time until the client began (INP).
processing_ms | ms | latency_ms | Time until its last request (INP).
presentation_delay_ms | ms | latency_ms | Time from the last request until the server had drawn it (INP).
blocked_ms | ms | latency_ms | Waits for replies, or for room to write.
ms | ms | | Time at this place, or for this reason.
actions | number | summary.count | All actions of the kind.
usual_ms | ms | | Their median latency.
every | number | actions | Where outliers come at regular intervals, every N-th action of the kind.
percent | % | 100 | The share of the latencies.
end_to_end_ms | ms | duration_ms | `wall_ms` of the reported part.
in_episode_ms | ms | end_to_end_ms | At least one episode went on.
in_episode_percent | % | 100 | The share of `end_to_end_ms`.
under_3_ms | number | count | Episodes under 3 ms.
summary.excluded | number | | Episodes of clients without windows and device events, beside others: they count nowhere.
from_3_ms | number | count | Episodes of 3 ms and more.
from_100_ms | number | from_3_ms | Episodes of 100 ms and more.
perceptible | number | count | Episodes over their threshold.
long_per_minute | number | | `from_100_ms` for each minute in episodes.
p50_ms | ms | | The latency that half do not exceed.
p75_ms | ms | | The latency that 75 % do not exceed.
p95_ms | ms | | The latency that 95 % do not exceed.
p98_ms | ms | | The latency that 98 % do not exceed.
max_ms | ms | | The longest.
min_ms | ms | | The shortest.
mean_ms | ms | | The mean.
standard_deviation_ms | ms | | The standard deviation of a sample.
at_least_ms | ms | | The least latency of the line.
above_ms | ms | | The least latency of the line.
from_ms | ms | | Where the line or the slot begins.
to_ms | ms | | Where the line ends.
per_second | number | | Episodes of that latency and more, for each second in episodes.
omitted | number | count | Episodes not in the list.
frames | number | count | Episodes of the burst.
frames_per_second | number | | Frames for each second of the burst.
over_budget | number | frames | Frames that took longer than a frame may.
late | number | frames | Frames complete over one and a half budgets after the one before.
wait_ms | ms | end_to_end_ms | At least one episode of the user went on.
think_ms | ms | end_to_end_ms | The rest of `end_to_end_ms`.
wait_percent | % | 100 | The share of `wait_ms`.
step_ms | ms | | The length of a step of the series.
waiting_percent | % | 100 | The share of the step in which the user waited.
client_percent | % | | The clients' processor time in the step: 100 is one processor.
server_percent | % | 100 | The server's processor time in the step.
series.episodes | number | count | Episodes that began in the step.
longest_ms | ms | | The longest episode that began in the step.
# Resources, grabs and stalls
held | number | created | Resources that the client had at the end.
held_bytes | bytes | | The memory of these resources: pixels of pixmaps (those that name the contents of redirected windows too), glyphs, shared memory. Windows have none of their own.
peak | number | created | The most resources at once.
over_time.min | number | over_time.max | The fewest resources in the slot.
over_time.max | number | peak | The most resources in the slot.
peak_bytes | bytes | | The largest size at once.
peak_at_ms | ms | | The time of `peak`, after the first record.
created | number | | Resources that the client created.
freed | number | created | Resources that the client freed.
freed_at_once | number | freed | Resources freed in the socket read that created them.
closed_ms | ms | | The end of the connection, after the first record.
first_ms | ms | | The creation of the first of these, after the first record.
last_ms | ms | | The creation of the last of these, after the first record.
refused | number | | Grabs that the server refused.
held_ms | ms | | The length of the grab or stall.
waiter_count | number | | Other clients that waited.
frame_ms | ms | | The shortest stall: a frame.
# Distributions of sizes and of times between messages
min | as the values | | The least.
max | as the values | | The most.
mode | as the values | | The most frequent value; of times the median of the fullest cell of their histogram.
median | as the values | | The value that half do not exceed.
mean | as the values | | The mean.
standard_deviation | as the values | | The standard deviation of a sample.
# Now (`top`)
seconds | s | | The interval of the rates.
at_s | s | | The end of the interval, after the first record.
server_ms_per_s | ms/s | | Server time.
unattributed_ms_per_s | ms/s | server_ms_per_s | Server time for no client.
connections | number | | Connections of the row: ended clients of one name share a row.
requests_per_s | number/s | | Requests.
round_trips_per_s | number/s | requests_per_s | Round trips.
waited_ms_per_s | ms/s | | Time waited for replies.
bytes_per_s | bytes/s | | Bytes both ways; of `held` the growth.
per_s | number/s | | Requests of this kind.
count_per_s | number/s | | The growth of `count`.
";

/// The definitions of all figures, in the order of the table of figures.
pub(crate) fn figures() -> impl Iterator<Item = FigureDefinition> {
    TABLE.lines().filter_map(|line| {
        let mut cells = line.split('|').map(str::trim);
        Some(FigureDefinition {
            name: cells.next()?,
            unit: cells.next()?,
            part_of: cells.next()?,
            means: cells.next()?,
        })
    })
}

/// The definition of the figure at a path of a JSON document (object names and the figure's name, separated by dots);
/// `None` if there is no such figure.
pub(crate) fn figure_at(path: &str) -> Option<FigureDefinition> {
    let ends = |name: &str| match path.strip_suffix(name) {
        Some(before) => before.is_empty() || before.ends_with('.'),
        None => false,
    };
    let here = figures().filter(|figure| ends(figure.name));
    here.max_by_key(|figure| figure.name.len())
}

#[test]
fn each_figure_is_defined_once() {
    let mut names = HashSet::new();
    for figure in figures() {
        assert!(names.insert(figure.name), "{figure:?}");
        assert!(
            !figure.unit.is_empty() && figure.means.ends_with('.'),
            "{figure:?}"
        );
    }
}

#[test]
fn longest_matching_definition_applies() {
    let unit = |path| figure_at(path).map(|figure| figure.name);
    assert_eq!(unit("transport.unattributed.ms"), Some("unattributed.ms"));
    assert_eq!(unit("episodes.blame.ms"), Some("ms"));
    assert_eq!(unit("nothing"), None);
}
