//! A session: one recording with its version, user and date.

use std::collections::BTreeMap;

use crate::curve;
use crate::episode_row::EpisodeRow;
use crate::hive::Partition;

/// A recording.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Session {
    /// A hash of the recording's time and place: equal for all copies of the recording, and different for all others.
    pub id: String,
    /// The trace, as the user named it.
    pub trace: String,
    /// Version, user and date.
    pub partition: Partition,
    /// The beginning: nanoseconds since 1970, UTC.
    pub started: u64,
    /// The length of the recording, in nanoseconds.
    pub duration: u64,
    /// Episodes of all its clients.
    pub episodes: u64,
    /// True if the recording ended properly.
    pub complete: bool,
}

/// Counts of episodes by program, landmark, trigger and step of latency.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Latencies {
    counts: BTreeMap<(Option<String>, String, String, u64), u64>,
}

/// Maximum number of kinds of episodes kept for a session.
const KINDS_LIMIT: usize = 20_000;

impl Latencies {
    /// Adds an episode.
    pub(crate) fn add(&mut self, row: &EpisodeRow) {
        let key = (
            row.program.clone(),
            row.landmark.clone(),
            row.trigger.clone(),
            curve::step(row.latency),
        );
        if self.counts.len() < KINDS_LIMIT || self.counts.contains_key(&key) {
            *self.counts.entry(key).or_default() += 1;
        }
    }

    /// Rows of program, landmark, trigger, the step's lower bound in nanoseconds, and number of episodes.
    pub fn rows(&self) -> impl Iterator<Item = (Option<&str>, &str, &str, u64, u64)> {
        self.counts
            .iter()
            .map(|((program, landmark, trigger, step), count)| {
                (
                    program.as_deref(),
                    landmark.as_str(),
                    trigger.as_str(),
                    *step,
                    *count,
                )
            })
    }
}

/// The day of a time in nanoseconds since 1970, UTC: `2026-11-22`.
pub(crate) fn date(nanos: u64) -> String {
    // Hinnant's `civil_from_days`, for days since 1970.
    let days = nanos / 86_400_000_000_000 + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// FNV-1a of 64 bits (Fowler, Noll & Vo): the same on every machine and in every version.
pub(crate) fn hash(parts: &[&[u8]]) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for part in parts {
        for byte in part.iter().chain(&[0xff]) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn dates_follow_the_calendar() {
        let day = 86_400_000_000_000;
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(59 * day - 1), "1970-02-28");
        assert_eq!(date(11_016 * day), "2000-02-29");
        assert_eq!(date(20_779 * day + 5), "2026-11-22");
    }
}
