//! Who else ran on the server's processor, from the context switches: what they ran is what the
//! server's caches have lost.

use std::collections::{HashMap, VecDeque};

use x11prof_cost_model::Micros;
use x11prof_trace::{Switch, SwitchKind, Timestamp};

/// Stretches kept until the pricing has come that far; the oldest are counted at once beyond it.
const MOST: usize = 1 << 16;

/// For how long threads that are not the server's have run on its processor.
#[derive(Debug, Default)]
pub(crate) struct Others {
    server: Option<u32>,
    /// The processor that the server ran on last.
    home: Option<u16>,
    /// On each processor, what runs there that is not the server, and since when.
    running: HashMap<u16, (u32, u64)>,
    /// From when to when others ran on the server's processor, in order.
    ran: VecDeque<(u64, u64)>,
    /// When they had to wait for something, in order: of those stretches the ends.
    waited: VecDeque<u64>,
    /// What is counted already, in nanoseconds, and until when.
    total: u64,
    until: u64,
}

impl Others {
    /// The server's process.
    pub(crate) fn server(&mut self, pid: Option<u32>) {
        self.server = pid;
    }

    /// Takes context switches: those of the time up to which `worked` will be asked for, at least.
    pub(crate) fn observe(&mut self, switches: &[Switch]) {
        let Some(server) = self.server else {
            return;
        };
        for switch in switches {
            let time = switch.time.as_nanos();
            let starts = switch.kind == SwitchKind::In;
            if switch.pid == server && starts {
                self.home = Some(switch.cpu);
            }
            // The kernel tells no switch of a thread that ends: it is off when another is on.
            let stops = self
                .running
                .get(&switch.cpu)
                .is_some_and(|&(tid, _)| starts || tid == switch.tid);
            if stops
                && let Some((_, since)) = self.running.remove(&switch.cpu)
                && self.home == Some(switch.cpu)
            {
                self.stretch(since, time);
                if switch.kind == SwitchKind::Blocked {
                    if self.waited.len() == MOST {
                        self.waited.pop_front();
                    }
                    self.waited.push_back(time);
                }
            }
            if starts && switch.pid != server {
                self.running.insert(switch.cpu, (switch.tid, time));
            }
        }
    }

    fn stretch(&mut self, since: u64, until: u64) {
        if self.ran.len() == MOST
            && let Some((since, until)) = self.ran.pop_front()
        {
            self.total += until.saturating_sub(since.max(self.until));
        }
        self.ran.push_back((since, until));
    }

    /// How long it took from when the first of them began between two times until the last ended;
    /// `None` where nobody ran. To be asked before `worked` is for the later one.
    pub(crate) fn span(&self, since: Timestamp, until: Timestamp) -> Option<Micros> {
        let (since, until) = (since.as_nanos(), until.as_nanos());
        let begun = self.ran.iter().take_while(|(from, _)| *from < until);
        let mut within = begun.filter(|(_, to)| *to > since);
        let &(first, mut last) = within.next()?;
        last = within.last().map_or(last, |&(_, to)| to);
        let nanos = last.min(until).saturating_sub(first.max(since));
        Some(Micros::from_nanos(nanos as f64))
    }

    /// Whether a client that the server woke on its own processor at `since` had its answer ready at
    /// `until` before it waited for anything: others ran, and none of them ran again after it had
    /// waited. To be asked before `worked` is for the later one.
    pub(crate) fn at_once(&self, since: Timestamp, until: Timestamp) -> bool {
        let (since, until) = (since.as_nanos(), until.as_nanos());
        let begun = self.ran.iter().take_while(|(from, _)| *from < until);
        let last = begun.filter(|(_, to)| *to > since).last();
        last.is_some_and(|(from, _)| !self.waited.iter().any(|at| since < *at && at <= from))
    }

    /// For how long they have run until `time`, from the beginning of the trace on. Asked for in
    /// the order of time; what the switches have not told by then is not in it.
    pub(crate) fn worked(&mut self, time: Timestamp) -> Micros {
        let time = time.as_nanos();
        while let Some(&(since, until)) = self.ran.front()
            && since < time
        {
            self.total += until.min(time).saturating_sub(since.max(self.until));
            if until > time {
                break;
            }
            self.ran.pop_front();
        }
        while self.waited.front().is_some_and(|at| *at < time) {
            self.waited.pop_front();
        }
        self.until = self.until.max(time);
        Micros::from_nanos(self.total as f64)
    }
}

#[cfg(test)]
mod tests {
    use x11prof_cost_model::Micros;
    use x11prof_trace::{Switch, SwitchKind, Timestamp};

    use super::Others;

    const SERVER: u32 = 7;

    fn switch(pid: u32, micros: u64, cpu: u16, kind: SwitchKind) -> Switch {
        Switch {
            time: Timestamp::from_nanos(micros * 1000),
            pid,
            tid: pid,
            cpu,
            kind,
        }
    }

    #[test]
    fn those_on_the_servers_processor_count() {
        use SwitchKind::{Blocked, In, Preempted};
        let mut others = Others::default();
        others.server(Some(SERVER));
        others.observe(&[
            switch(SERVER, 10, 1, In),
            switch(SERVER, 20, 1, Blocked),
            switch(8, 20, 1, In),
            switch(9, 25, 0, In),
            switch(8, 50, 1, Preempted),
            switch(SERVER, 50, 1, In),
            switch(SERVER, 60, 1, Blocked),
            switch(9, 65, 0, Blocked),
            // Its end is not told: it is off when the server is on.
            switch(8, 70, 1, In),
            switch(SERVER, 90, 1, In),
        ]);
        let mut worked = |micros: u64| others.worked(Timestamp::from_nanos(micros * 1000));
        assert_eq!(worked(15), Micros(0.0));
        assert_eq!(worked(30), Micros(10.0));
        assert_eq!(worked(55), Micros(30.0));
        assert_eq!(worked(100), Micros(50.0));
        assert_eq!(worked(200), Micros(50.0));
    }

    #[test]
    fn a_span_goes_from_the_first_to_the_last() {
        use SwitchKind::{Blocked, In};
        let mut others = Others::default();
        others.server(Some(SERVER));
        others.observe(&[
            switch(SERVER, 10, 1, In),
            switch(SERVER, 20, 1, Blocked),
            switch(8, 25, 1, In),
            switch(8, 30, 1, Blocked),
            switch(9, 40, 1, In),
            switch(9, 45, 1, Blocked),
            switch(8, 90, 1, In),
            switch(8, 95, 1, Blocked),
        ]);
        let at = |micros: u64| Timestamp::from_nanos(micros * 1000);
        assert_eq!(others.span(at(20), at(50)), Some(Micros(20.0)));
        assert_eq!(others.span(at(27), at(42)), Some(Micros(15.0)));
        assert_eq!(others.span(at(50), at(80)), None);
    }

    #[test]
    fn an_answer_at_once_is_not_waited_for() {
        use SwitchKind::{Blocked, In, Preempted};
        let mut others = Others::default();
        others.server(Some(SERVER));
        others.observe(&[
            switch(SERVER, 10, 1, In),
            switch(SERVER, 20, 1, Preempted),
            switch(8, 20, 1, In),
            switch(8, 30, 1, Preempted),
            switch(SERVER, 30, 1, In),
            switch(SERVER, 35, 1, Preempted),
            switch(8, 35, 1, In),
            switch(8, 40, 1, Blocked),
            switch(8, 70, 1, In),
            switch(8, 80, 1, Blocked),
        ]);
        let at = |micros: u64| Timestamp::from_nanos(micros * 1000);
        assert!(others.at_once(at(15), at(45)));
        assert!(!others.at_once(at(15), at(90)));
        // It waited before the answer, and not again.
        assert!(others.at_once(at(60), at(90)));
        assert!(!others.at_once(at(85), at(95)));
    }

    #[test]
    fn without_a_server_of_ours_nobody_counts() {
        let mut others = Others::default();
        others.observe(&[
            switch(8, 20, 1, SwitchKind::In),
            switch(8, 50, 1, SwitchKind::Blocked),
        ]);
        assert_eq!(others.worked(Timestamp::from_nanos(1_000_000)), Micros(0.0));
    }
}
