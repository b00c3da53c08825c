//! Threads on the server's processor beside the server's own, from the context switches.

use rustc_hash::FxHashMap;
use x11prof_server_model::{Stretch, Time};

use crate::activity::threads::{State, Step};

/// Tells the server's processor, and what runs there that is not the server.
#[derive(Debug, Default)]
pub(crate) struct ServerProcessor {
    server: Option<u32>,
    /// The processor that the server ran on last.
    home: Option<u16>,
    /// Runs of other threads that are not handed on yet: the beginning, by processor.
    others: FxHashMap<u16, u64>,
}

impl ServerProcessor {
    /// The server's process.
    pub(crate) fn server(&mut self, pid: Option<u32>) {
        self.server = pid;
    }

    /// Takes what threads did, and gives the stretches that end with it.
    pub(crate) fn observe(&mut self, steps: &[Step], mut on: impl FnMut(Stretch)) {
        for step in steps {
            if Some(step.pid) == self.server {
                if let State::Running { cpu, .. } = step.now {
                    self.home = Some(cpu);
                }
                continue;
            }
            if let Some(ran) = step.ran()
                && let Some(since) = self.others.remove(&ran.cpu)
                && self.home == Some(ran.cpu)
            {
                on(stretch(since, ran.to));
            }
            if let State::Running { since, cpu } = step.now {
                self.others.entry(cpu).or_insert(since);
            }
        }
    }

    /// Gives what of the stretch that goes on was before `time`.
    pub(crate) fn passed(&mut self, time: u64, on: impl FnOnce(Stretch)) {
        let home = self.home.and_then(|cpu| self.others.get_mut(&cpu));
        if let Some(since) = home.filter(|since| **since < time) {
            on(stretch(std::mem::replace(since, time), time));
        }
    }
}

fn stretch(from: u64, to: u64) -> Stretch {
    Stretch {
        from: Time::from_nanos(from),
        to: Time::from_nanos(to),
    }
}

#[cfg(test)]
mod tests {
    use x11prof_trace::{Switch, SwitchKind, Timestamp};

    use super::ServerProcessor;
    use crate::activity::threads::Threads;

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

    /// Runs of other threads, in microseconds.
    fn stretches(processor: &mut ServerProcessor, switches: &[Switch]) -> Vec<(u64, u64)> {
        let (mut all, mut threads) = (Vec::new(), Threads::default());
        let steps = switches.iter().flat_map(|one| threads.switch(one));
        let steps: Vec<_> = steps.collect();
        processor.observe(&steps, |stretch| {
            let [from, to] = [stretch.from, stretch.to].map(|time| time.as_nanos() / 1000);
            all.push((from, to));
        });
        all
    }

    #[test]
    fn threads_on_the_servers_processor_count() {
        use SwitchKind::{Blocked, In, Preempted};
        let mut processor = ServerProcessor::default();
        processor.server(Some(SERVER));
        let switches = [
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
            switch(SERVER, 95, 1, Blocked),
            switch(8, 96, 1, In),
            switch(8, 99, 1, Blocked),
        ];
        assert_eq!(
            stretches(&mut processor, &switches),
            [(20, 50), (70, 90), (96, 99)]
        );
    }

    #[test]
    fn a_stretch_that_goes_on_counts_until_now() {
        use SwitchKind::{Blocked, In};
        let (mut processor, mut threads) = (ServerProcessor::default(), Threads::default());
        processor.server(Some(SERVER));
        let mut all = Vec::new();
        for one in [
            switch(SERVER, 10, 1, In),
            switch(SERVER, 20, 1, Blocked),
            switch(8, 20, 1, In),
            switch(8, 50, 1, Blocked),
        ] {
            processor.passed(one.time.as_nanos(), |stretch| all.push(stretch));
            let steps: Vec<_> = threads.switch(&one).collect();
            processor.observe(&steps, |stretch| all.push(stretch));
            processor.passed(30_000, |stretch| all.push(stretch));
        }
        let micros = |time: x11prof_server_model::Time| time.as_nanos() / 1000;
        let all: Vec<_> = all
            .iter()
            .map(|one| (micros(one.from), micros(one.to)))
            .collect();
        assert_eq!(all, [(20, 30), (30, 50), (50, 50)]);
    }

    #[test]
    fn without_a_server_of_ours_nobody_counts() {
        let switches = [
            switch(8, 20, 1, SwitchKind::In),
            switch(8, 50, 1, SwitchKind::Blocked),
        ];
        assert_eq!(stretches(&mut ServerProcessor::default(), &switches), []);
    }
}
