//! Parameters of one machine brought to another by loads that both have measured: what each
//! calibration looks at first and last (`references`), and what waking up takes (`after_sleep`).

use crate::brought::{Brought, Factor};
use crate::{Host, Measured, Micros, Reference, ServerParameters, TransportCosts};

impl Brought {
    /// The factors from the machine of `there` to that of `here`, which measured the same kind of server; `None` if
    /// they have no load in common, or if the first names no machine.
    pub fn between(there: &ServerParameters, here: &ServerParameters) -> Option<Brought> {
        let requests = Factor::of(references(there, here))?;
        Some(Brought {
            from: there.host.cpu_model.clone()?,
            requests,
            wakeups: Factor::of(wakeups(there, here)).unwrap_or(requests),
        })
    }
}

/// The ratios, `here` to `there`, of the times of each load of both.
fn references(there: &ServerParameters, here: &ServerParameters) -> Vec<f64> {
    let mean = |reference: &Reference| (reference.start_us.0 + reference.end_us.0) / 2.0;
    let known = &there.method.references;
    let of_both = here.method.references.iter().filter_map(|reference| {
        let other = known.iter().find(|other| other.load == reference.load)?;
        Some(mean(reference) / mean(other))
    });
    of_both.collect()
}

/// The ratios of the times of waking up, by the length of the server's sleep.
fn wakeups(there: &ServerParameters, here: &ServerParameters) -> Vec<f64> {
    let sleeps = |of: &ServerParameters| {
        let transport = of.transport.as_ref();
        transport.map_or_else(Vec::new, |transport| transport.after_sleep.clone())
    };
    let known = sleeps(there);
    let of_both = sleeps(here).into_iter().filter_map(|sleep| {
        let mut known = known.iter();
        let other = known.find(|other| other.asleep_us == sleep.asleep_us)?;
        Some(sleep.wakeup_us.0 / other.wakeup_us.0)
    });
    of_both.collect()
}

impl ServerParameters {
    /// These parameters on the machine `host`, which takes `by` times as long as theirs. Their spreads grow by
    /// that of the factors.
    #[must_use]
    pub fn brought(mut self, by: Brought, host: Host) -> ServerParameters {
        let (requests, wakeups) = (by.requests, by.wakeups);
        for costs in &mut self.requests {
            if let Some(fixed) = &mut costs.fixed {
                measured_times(fixed, &requests);
            }
            for point in &mut costs.points {
                times(&mut point.cpu_us, &requests);
                times(&mut point.wall_us, &requests);
                if let Some(rate) = &mut point.per_second {
                    *rate /= requests.times;
                }
                wider(&mut point.spread, &requests);
            }
        }
        if let Some(transport) = &mut self.transport {
            transport_times(transport, &requests, &wakeups);
        }
        self.host = host;
        self.method.brought = Some(by);
        self
    }
}

fn transport_times(transport: &mut TransportCosts, requests: &Factor, wakeups: &Factor) {
    for time in [
        &mut transport.byte_read,
        &mut transport.reply,
        &mut transport.event,
    ] {
        measured_times(time, requests);
    }
    if let Some(written) = &mut transport.byte_written {
        measured_times(written, requests);
    }
    measured_times(&mut transport.wakeup, wakeups);
    for time in [&mut transport.wakeup_other_cpu, &mut transport.flush]
        .into_iter()
        .flatten()
    {
        measured_times(time, wakeups);
    }
    let by_wakeups = |time: &mut Micros| time.0 *= wakeups.times;
    let by_requests = |time: &mut Micros| time.0 *= requests.times;
    for sleep in &mut transport.after_sleep {
        by_wakeups(&mut sleep.wakeup_us);
        by_wakeups(&mut sleep.first_us);
        // Taking a client in, and pixels, are work on memory.
        by_requests(&mut sleep.connection_us);
        sleep.megapixel_us.iter_mut().for_each(by_requests);
        wider(&mut sleep.spread, wakeups);
    }
    for work in &mut transport.after_work {
        by_wakeups(&mut work.wakeup_us);
        by_wakeups(&mut work.first_us);
        by_requests(&mut work.connection_us);
        wider(&mut work.spread, wakeups);
    }
    if let Some(update) = &mut transport.deferred {
        by_requests(&mut update.update_us);
        by_requests(&mut update.pixel_us);
        // Intervals and waits are no work.
        let optional = [
            &mut update.same_us,
            &mut update.smooth_us,
            &mut update.box_us,
        ];
        optional.into_iter().flatten().for_each(by_requests);
        wider(&mut update.spread, requests);
    }
}

fn measured_times(time: &mut Measured, by: &Factor) {
    times(&mut time.cpu_us, by);
    times(&mut time.wall_us, by);
    wider(&mut time.spread, by);
}

fn times(time: &mut Option<Micros>, by: &Factor) {
    if let Some(time) = time {
        time.0 *= by.times;
    }
}

/// Independent relative errors of a product add in squares.
fn wider(spread: &mut Option<f64>, by: &Factor) {
    if let Some(spread) = spread {
        *spread = spread.hypot(by.spread());
    }
}

#[cfg(test)]
mod tests {
    use crate::{Brought, Clock, Factor, Host, Micros, ServerParameters, built_in};

    fn shipped() -> ServerParameters {
        let mut files = built_in().iter();
        let file = files.find(|file| file.name == "xvfb-24").unwrap();
        file.parameters().unwrap()
    }

    fn host(model: &str) -> Host {
        Host {
            cpu_model: Some(model.into()),
            ..Host::default()
        }
    }

    /// The file of a machine that takes twice as long for all requests and half as long to wake up.
    fn other() -> ServerParameters {
        let by = Brought {
            from: "?".into(),
            requests: Factor::exact(2.0),
            wakeups: Factor::exact(0.5),
        };
        let mut other = shipped().brought(by, host("Slow"));
        other.method.brought = None;
        for reference in &mut other.method.references {
            reference.start_us.0 *= 2.0;
            reference.end_us.0 *= 2.0;
        }
        other
    }

    #[test]
    fn a_file_brought_to_another_machine_has_that_ones_figures() {
        let by = Brought::between(&shipped(), &other()).unwrap();
        assert_eq!(by.from, "AMD EPYC");
        assert!((by.requests.times - 2.0).abs() < 1e-9 && (by.wakeups.times - 0.5).abs() < 1e-9);
        let there = shipped().brought(by, host("Slow"));
        assert_eq!(there.host.cpu_model.as_deref(), Some("Slow"));
        for (one, other) in there.requests.iter().zip(&other().requests) {
            for (one, other) in one.points.iter().zip(&other.points) {
                let [one, other] = [one, other].map(|point| point.time(Clock::Cpu).unwrap().0);
                assert!((one - other).abs() <= 1e-9 * other);
            }
        }
        // The result is a file like any other.
        assert_eq!(ServerParameters::from_toml(&there.to_toml()), Ok(there));
    }

    #[test]
    fn a_factor_is_the_middle_with_its_range() {
        let factor = Factor::of(vec![1.0, 4.0, 2.0, f64::NAN]).unwrap();
        assert_eq!((factor.times, factor.low, factor.high), (2.0, 1.0, 4.0));
        assert_eq!(factor.spread(), 1.0);
        assert_eq!(Factor::of(vec![0.0]), None);
        let nothing = ServerParameters::default();
        assert_eq!(Brought::between(&nothing, &shipped()), None);
    }

    #[test]
    fn spreads_grow_by_the_factors_own() {
        let mut file = shipped();
        file.requests.truncate(1);
        file.requests[0].points[0].spread = Some(0.3);
        file.requests[0].points[0].cpu_us = Some(Micros(4.0));
        let by = Brought {
            from: "?".into(),
            requests: Factor {
                times: 2.0,
                low: 1.2,
                high: 2.8,
            },
            wakeups: Factor::exact(1.0),
        };
        let point = file.brought(by, host("Slow")).requests[0].points[0];
        assert_eq!(point.cpu_us, Some(Micros(8.0)));
        assert!((point.spread.unwrap() - 0.5).abs() < 1e-9);
    }
}
