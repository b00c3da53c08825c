//! The report on the differences between two recordings of one program.

use serde::Serialize;

/// The differences of two recordings of one program on two servers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DivergenceReport {
    /// The version of this layout: 1.
    pub format: u32,
    /// The clients that both recordings have, with their differences; the earliest difference first.
    pub clients: Vec<ClientDivergence>,
    /// The names of clients that only the reference has.
    pub only_reference: Vec<String>,
    /// The names of clients that only the other recording has.
    pub only_other: Vec<String>,
    /// The names of clients that send input in both recordings, such as xdotool. They are not compared.
    pub drivers: Vec<String>,
    /// The number of requests in the reference, of the clients that both recordings have.
    pub requests: u64,
    /// The number of requests that both recordings have, equal except for ids and times.
    pub equal_requests: u64,
    /// The numbers of the reference's other requests without a reported difference.
    pub unequal_requests: UnequalRequests,
    /// For a replay, the replies and errors by request. Empty for two recordings.
    pub answers: Vec<RequestAnswers>,
    /// The number of differences that vary: they also occur between two recordings of the reference, or another recording
    /// on the other server lacks them. Null with only one recording on each server.
    pub varying: Option<u64>,
    /// The number of messages that were not compared: beyond the memory limit, or after the end of the other recording,
    /// if the client was active until then.
    pub left_out: u64,
}

/// The requests of the reference that are not equal in the other recording, but are no difference either, by reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct UnequalRequests {
    /// The number of requests at another position, or without an effect.
    pub moved: u64,
    /// The number of requests in differences that also occur between recordings of the reference.
    pub varying: u64,
    /// The number of requests that follow the last request of the other recording.
    pub after_end: u64,
}

/// The replies and errors of all requests of one name in a replay, compared with the recorded ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RequestAnswers {
    /// The name of the request.
    pub request: String,
    /// The number of requests with the same reply or error in both, or with neither in both.
    pub equal: u64,
    /// The number of requests whose reply or error differs.
    pub differ: u64,
    /// The number of requests that fail only in the replay.
    pub failed: u64,
}

/// The differences between one client in both recordings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClientDivergence {
    /// The name of the client's program.
    pub client: String,
    /// The index of the client in [`super::Divergence`].
    #[serde(skip)]
    pub(super) pair: usize,
    /// Milliseconds from the start of the reference to the first difference.
    pub since_ms: f64,
    /// The first requests that only one recording has. Null if only received messages differ.
    pub first_request: Option<RequestDifference>,
    /// The number of positions at which the requests differ.
    pub request_differences: u64,
    /// Received messages that differ before the first differing request: those whose values it has, then the nearest.
    pub received: Vec<ReceivedDifference>,
    /// The last request without a reply in the other recording, if the reference has its reply. Null otherwise.
    pub waits_for: Option<MissingReply>,
    /// The end of the connection by the server, if only one of the servers closed it, such as a server that died. Null
    /// otherwise.
    pub closed_by_server: Option<ServerClosed>,
}

/// The end of a connection by the server.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServerClosed {
    /// True if the server of the reference closed the connection, false if it was the other server.
    pub in_reference: bool,
    /// Milliseconds from the start of that recording to the end of the connection.
    pub since_ms: f64,
}

/// The requests that only one recording has at one position.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RequestDifference {
    /// The number of the client's earlier requests in the reference.
    pub requests_before: u64,
    /// Milliseconds from the start of the reference recording to the first of the differing requests.
    pub since_ms: f64,
    /// The requests that only the reference has.
    pub reference: RequestSide,
    /// The requests that only the other recording has.
    pub other: RequestSide,
}

/// The requests that one recording has at a position, and the other recording does not.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RequestSide {
    /// The first of the requests that only one recording has, in text form.
    pub requests: Vec<String>,
    /// The number of all requests at this position that only one recording has.
    pub count: u64,
    /// The request that makes up at least nine tenths of all the client's requests that only one recording has (a loop).
    /// Null without a loop.
    pub repeated: Option<RepeatedRequest>,
}

/// A request that makes up at least nine tenths of many requests, so that the client seems to repeat it in a loop.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RepeatedRequest {
    /// The name of the request.
    pub request: String,
    /// The number of times that the client sent the request.
    pub count: u64,
    /// The number of times per second that the client sent the request.
    pub per_second: f64,
}

/// A received message, or one of its fields, that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReceivedDifference {
    /// The kind of message: `setup`, `reply`, `event` or `error`.
    pub kind: String,
    /// The name of the event or error, or of the request that a reply belongs to.
    pub message: String,
    /// The path of the field that differs; null if only one recording has the message.
    pub field: Option<String>,
    /// The value in the reference recording; null if it has no such message or field.
    pub reference: Option<String>,
    /// The value in the other recording. Null if the other recording has no such message or field.
    pub other: Option<String>,
    /// The number of messages that differ in this field.
    pub count: u64,
    /// The number of the client's requests between the nearest message that differs and the first request that differs.
    /// Null if no request differs.
    pub requests_between: Option<u64>,
    /// The number of the client's requests in the reference recording before the nearest message that differs.
    pub requests_before: u64,
    /// True if the first request that differs has both values, each in its recording: a probable cause.
    pub in_request: bool,
}

impl ReceivedDifference {
    /// The field of an event that comes in another order.
    pub const MOVED: &str = "message number";
}

/// A request whose reply never arrived in the other recording.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MissingReply {
    /// The name of the request.
    pub request: String,
    /// Milliseconds from the start of the other recording to the request.
    pub since_ms: f64,
}
