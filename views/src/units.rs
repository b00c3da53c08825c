//! Numbers for people: counts, times, sizes, shares. The one place that knows how they are written.

/// `1 request`, `2 requests`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else {
        format!("{count} {noun}s")
    }
}
