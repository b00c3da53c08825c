//! The selection of messages in a dump.

use x11prof_trace::ConnectionId;

use x11prof_analyzer::name_matches;

/// The messages to show; by default all.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DumpFilter {
    /// Messages of this connection only.
    pub connection: Option<ConnectionId>,
    /// Only messages whose name matches one of these patterns; all messages if there are no patterns. `*` matches any
    /// characters, `?` matches one. An error also has the name of its request.
    pub messages: Vec<String>,
    /// Messages from this many seconds after the start on.
    pub from: Option<f64>,
    /// Messages up to this many seconds after the start.
    pub to: Option<f64>,
    /// True to include context switches.
    pub switches: bool,
}

impl DumpFilter {
    /// True if a line of `connection` (`None`: of the whole trace) at `seconds` is shown.
    pub(super) fn place(&self, connection: Option<ConnectionId>, seconds: f64) -> bool {
        (self.connection.is_none() || connection == self.connection)
            && self.from.is_none_or(|from| seconds >= from)
            && !self.past(seconds)
    }

    /// True if `seconds` is after the end of the filter's time range.
    pub(super) fn past(&self, seconds: f64) -> bool {
        self.to.is_some_and(|to| seconds > to)
    }

    /// True if lines other than messages are shown.
    pub(super) fn shows_control(&self) -> bool {
        self.messages.is_empty()
    }

    /// True if a message with one of these names is shown.
    pub(super) fn message<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> bool {
        self.messages.is_empty()
            || names.into_iter().any(|name| {
                self.messages
                    .iter()
                    .any(|pattern| name_matches(pattern, name))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::DumpFilter;
    use x11prof_trace::ConnectionId;

    #[test]
    fn connection_and_time_range_select_lines() {
        let filter = DumpFilter {
            connection: Some(ConnectionId(2)),
            from: Some(1.0),
            to: Some(2.0),
            ..DumpFilter::default()
        };
        assert!(filter.place(Some(ConnectionId(2)), 1.5));
        assert!(!filter.place(Some(ConnectionId(1)), 1.5));
        assert!(!filter.place(None, 1.5));
        assert!(!filter.place(Some(ConnectionId(2)), 0.5));
        assert!(filter.past(2.5) && !filter.past(2.0));
    }
}
