//! The forecast of a recording over another link. [`simulate`] plays the recorded writes and reads as discrete events:
//!
//! - A client works and pauses as recorded. If the client waited for a reply or an event in the recording, it waits in
//!   the forecast too; otherwise it does not wait.
//! - A program starts after the end of the program before it, as in a script.
//! - All connections share one line in each direction. A line transmits packets one after the other, with their
//!   headers, and each packet arrives half a round trip later.
//! - The server processes requests one after the other and needs the recorded time for them. Its messages follow the
//!   request, or for an event the latest request of any client, after the recorded delay.
//! - Images in shared memory cannot cross a link: their bytes are sent instead.
//!
//! The times of the recorded link are subtracted first.

pub(crate) mod changes;
pub(crate) mod collect;
mod critical_path;
mod never_came;
pub(crate) mod report;
mod simulate;
#[cfg(test)]
mod tests;
mod times;

pub use collect::Forecasts;
pub use never_came::NeverCame;
pub use report::{ForecastCause, ForecastReport, ForecastStartUp, LinkLimits};
pub use times::ForecastTimes;
