//! The differences of two recordings of one program, as values.

use serde::Serialize;

/// The differences of two recordings of one program on two servers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DivergenceReport {
    /// Clients that both recordings have, with their differences; the earliest difference first.
    pub clients: Vec<ClientDivergence>,
    /// Clients that only the reference has, by name.
    pub only_reference: Vec<String>,
    /// Clients that only the other recording has, by name.
    pub only_other: Vec<String>,
    /// Requests of the clients that both recordings have, in the reference.
    pub requests: u64,
    /// Requests that both recordings have, equal except for IDs and times.
    pub equal_requests: u64,
    /// Differences that also occur between two recordings of the reference. `None` with only one recording.
    pub varying: Option<u64>,
    /// Messages beyond the limit of memory, which were not compared.
    pub left_out: u64,
}

/// The differences of one client.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClientDivergence {
    /// The program's name.
    pub client: String,
    /// Milliseconds from the start of the reference to the first difference.
    pub since_ms: f64,
    /// The first requests that only one recording has. `None` if only received messages differ.
    pub first_request: Option<RequestDifference>,
    /// Positions at which the requests differ.
    pub request_differences: u64,
    /// Received messages that differ up to the first request difference, the nearest first.
    pub received: Vec<ReceivedDifference>,
    /// The last request without a reply, if the reference received that reply.
    pub waits_for: Option<MissingReply>,
}

/// Requests at one position that only one recording has.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RequestDifference {
    /// The client's earlier requests in the reference.
    pub requests_before: u64,
    /// Milliseconds from the start of the reference.
    pub since_ms: f64,
    /// The requests of the reference.
    pub reference: RequestSide,
    /// The requests of the other recording.
    pub other: RequestSide,
}

/// One recording's requests at a position of the difference.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RequestSide {
    /// The first requests in text form.
    pub requests: Vec<String>,
    /// The number of requests.
    pub count: u64,
    /// A request that makes up at least nine tenths of many requests: a loop.
    pub repeated: Option<RepeatedRequest>,
}

/// A request that a client repeats.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RepeatedRequest {
    /// The request's name.
    pub request: String,
    /// The number of requests.
    pub count: u64,
    /// Requests a second.
    pub per_second: f64,
}

/// A received message, or one of its fields, that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReceivedDifference {
    /// `setup`, `reply`, `event` or `error`.
    pub kind: String,
    /// The name of the event or error, or of the request that a reply belongs to.
    pub message: String,
    /// The path of the field. `None` if only one recording has the message.
    pub field: Option<String>,
    /// The value in the reference. `None` if the reference has no such message or field.
    pub reference: Option<String>,
    /// The value in the other recording.
    pub other: Option<String>,
    /// Messages with a difference in this field.
    pub count: u64,
    /// The client's requests between the nearest of these messages and the first request difference. `None` without a
    /// request difference.
    pub requests_between: Option<u64>,
    /// The client's requests in the reference before the nearest of these messages.
    pub requests_before: u64,
}

/// A reply that never arrived.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MissingReply {
    /// The request's name.
    pub request: String,
    /// Milliseconds from the start of the other recording.
    pub since_ms: f64,
}
