//! Selects the messages that `dump` prints.

use x11prof_trace::ConnectionId;

use x11prof_analyzer::name_matches;

/// The selection of lines to show; by default all lines.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DumpFilter {
    /// The connection whose lines are shown; `None` for all connections.
    pub connection: Option<ConnectionId>,
    /// The patterns of the names of messages to show; empty for all messages. `*` matches any characters, and `?`
    /// matches one character. An error also matches a pattern by the name of its request.
    pub messages: Vec<String>,
    /// The time in seconds after the trace's start from which lines are shown; `None` for the start.
    pub from: Option<f64>,
    /// The time in seconds after the trace's start up to which lines are shown; `None` for the end.
    pub to: Option<f64>,
    /// True to show context switches.
    pub switches: bool,
}

impl DumpFilter {
    /// True if the filter shows a line of `connection` (`None` for a line about the whole trace) at the time `seconds`.
    pub(super) fn place(&self, connection: Option<ConnectionId>, seconds: f64) -> bool {
        (self.connection.is_none() || connection == self.connection)
            && self.from.is_none_or(|from| seconds >= from)
            && !self.past(seconds)
    }

    /// True if `seconds` is after the end of the selected time range.
    pub(super) fn past(&self, seconds: f64) -> bool {
        self.to.is_some_and(|to| seconds > to)
    }

    /// True if the filter shows lines that are not messages.
    pub(super) fn shows_control(&self) -> bool {
        self.messages.is_empty()
    }

    /// True if the filter shows a message that has one of these names.
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
