//! Who else ran on the server's processor, from the context switches.

use x11prof_server_model::{Stretch, Time};
use x11prof_trace::{Switch, SwitchKind};

use crate::activity::threads::{State, Threads};

/// Tells the server's processor, and what runs there that is not the server.
#[derive(Debug, Default)]
pub(crate) struct ServerProcessor {
    server: Option<u32>,
    /// The processor that the server ran on last.
    home: Option<u16>,
    threads: Threads,
}

impl ServerProcessor {
    /// The server's process.
    pub(crate) fn server(&mut self, pid: Option<u32>) {
        self.server = pid;
    }

    /// Takes context switches and gives the stretches that end with them.
    pub(crate) fn observe(&mut self, switches: &[Switch], mut on: impl FnMut(Stretch)) {
        let Some(server) = self.server else {
            return;
        };
        for switch in switches {
            if switch.pid == server && switch.kind == SwitchKind::In {
                self.home = Some(switch.cpu);
            }
            for step in self.threads.switch(switch) {
                if step.pid != server
                    && let Some(ran) = step.ran()
                    && self.home == Some(ran.cpu)
                {
                    on(Stretch {
                        from: Time::from_nanos(ran.from),
                        to: Time::from_nanos(ran.to),
                        waits: step.now == State::Waiting,
                    });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use x11prof_trace::{Switch, SwitchKind, Timestamp};

    use super::ServerProcessor;

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

    /// From when to when others ran, in microseconds, and whether they waited then.
    fn stretches(processor: &mut ServerProcessor, switches: &[Switch]) -> Vec<(u64, u64, bool)> {
        let mut all = Vec::new();
        processor.observe(switches, |stretch| {
            let [from, to] = [stretch.from, stretch.to].map(|time| time.as_nanos() / 1000);
            all.push((from, to, stretch.waits));
        });
        all
    }

    #[test]
    fn those_on_the_servers_processor_count() {
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
            [(20, 50, false), (70, 90, false), (96, 99, true)]
        );
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
