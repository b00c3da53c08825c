//! Rescales parameters to another machine by a single factor, computed from the costs that the files of both machines
//! have. A second factor for wakeups had no benefit (validation/results).

use std::collections::BTreeMap;

use crate::{
    AttributeValue, Host, Measured, Micros, Point, RequestCosts, Rescaled, ServerParameters,
    TransportCosts, differences,
};

impl Rescaled {
    /// The factor by which a cost in `there` is multiplied to get the cost in `here`. Both files must be from the same
    /// kind of server. `None` if the files have no cost in common, or if `there` does not name its machine. Each
    /// request counts once, with the median of its points, because some requests have a hundred points.
    pub fn between(there: &ServerParameters, here: &ServerParameters) -> Option<Rescaled> {
        let from = there.host.cpu_model.clone()?;
        Rescaled::of(from, ratios(there, here, |_| true))
    }

    /// The factor between two servers of different kinds, computed from the requests that do not draw, because X.Org's
    /// servers share most of the code for these requests. `None` if the files have no cost of these requests in common.
    pub fn between_servers(one: &ServerParameters, other: &ServerParameters) -> Option<Rescaled> {
        let from = one.server.name.clone();
        Rescaled::of(from, ratios(one, other, |size| size == 0.0))
    }

    /// The median of `ratios` and the range of the middle 80 %; `None` without ratios.
    fn of(from: String, mut ratios: Vec<f64>) -> Option<Rescaled> {
        ratios.retain(|ratio| ratio.is_finite() && *ratio > 0.0);
        ratios.sort_by(f64::total_cmp);
        let middle = [
            *ratios.get(ratios.len().saturating_sub(1) / 2)?,
            *ratios.get(ratios.len() / 2)?,
        ];
        Some(Rescaled {
            from,
            times: (middle[0] * middle[1]).sqrt(),
            low: *ratios.get(ratios.len() / 10)?,
            high: *ratios.get(ratios.len() - 1 - ratios.len() / 10)?,
        })
    }

    /// The wider half of the range, relative to the median.
    fn spread(&self) -> f64 {
        (self.high / self.times - 1.0).max(1.0 - self.low / self.times)
    }

    fn time(&self, time: &mut Micros) {
        time.0 *= self.times;
    }

    /// Widens the relative spread of a time that is multiplied by the factor. Independent relative errors of a product
    /// add in squares.
    fn wider(&self, spread: &mut Option<f64>) {
        if let Some(spread) = spread {
            *spread = spread.hypot(self.spread());
        }
    }

    fn measured(&self, cost: &mut Measured) {
        let times = [&mut cost.cpu_us, &mut cost.wall_us];
        times.into_iter().flatten().for_each(|time| self.time(time));
        self.wider(&mut cost.spread);
    }

    fn transport(&self, transport: &mut TransportCosts) {
        let parts = [
            &mut transport.wakeup,
            &mut transport.byte_read,
            &mut transport.reply,
            &mut transport.event,
        ];
        let parts = parts.into_iter().chain(&mut transport.byte_written);
        parts.for_each(|part| self.measured(part));
        for sleep in &mut transport.after_sleep {
            let times = [&mut sleep.wakeup_us, &mut sleep.connection_us];
            let times = times.into_iter().chain(&mut sleep.megapixel_us);
            times.for_each(|time| self.time(time));
            self.wider(&mut sleep.spread);
        }
    }
}

/// Reduces quick and full calibrations to their common entries and sizes, if there are both. Interpolations over other
/// sizes have other errors, which would count as differences between the servers. Published tables stay whole.
pub fn keep_common(tables: &mut [&mut ServerParameters]) {
    let calibrated = tables
        .iter_mut()
        .filter(|table| !table.method.is_published());
    let mut tables: Vec<_> = calibrated.collect();
    let quick = tables.iter().filter(|table| table.method.is_quick());
    if [0, tables.len()].contains(&quick.count()) {
        return;
    }
    for at in 0..tables.len() {
        let (before, rest) = tables.split_at_mut(at);
        let Some((table, after)) = rest.split_first_mut() else {
            continue;
        };
        for other in before.iter().chain(after.iter()) {
            let others: BTreeMap<_, _> = other.requests.iter().map(entry).collect();
            table.requests.retain_mut(|costs| {
                let Some(points) = others.get(&entry(costs).0) else {
                    return false;
                };
                let is_common = |size| points.iter().any(|point| point.size == size);
                costs.points.retain(|point| is_common(point.size));
                !costs.points.is_empty()
            });
        }
    }
}

type Entry<'a> = (&'a str, &'a BTreeMap<String, AttributeValue>);

fn entry(costs: &RequestCosts) -> (Entry<'_>, &[Point]) {
    ((&costs.name, &costs.attributes), &costs.points)
}

impl ServerParameters {
    /// Returns the parameters rescaled by the factor `by` to the machine `host`. Their spreads grow by the spread of
    /// the factor.
    #[must_use]
    pub fn brought(mut self, by: Rescaled, host: Host) -> ServerParameters {
        for costs in &mut self.requests {
            costs.fixed.iter_mut().for_each(|fixed| by.measured(fixed));
            for point in &mut costs.points {
                let times = [&mut point.cpu_us, &mut point.wall_us];
                times.into_iter().flatten().for_each(|time| by.time(time));
                if let Some(rate) = &mut point.per_second {
                    *rate /= by.times;
                }
                by.wider(&mut point.spread);
            }
        }
        if let Some(transport) = &mut self.transport {
            by.transport(transport);
        }
        self.host = host;
        self.method.brought = Some(by);
        self
    }
}

/// For each request that both files have, the median ratio of the cost in `other` to the cost in `one`. Only sizes for
/// which `wanted` returns true count.
fn ratios(
    one: &ServerParameters,
    other: &ServerParameters,
    wanted: impl Fn(f64) -> bool,
) -> Vec<f64> {
    let mut by_request: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for difference in differences(one, other) {
        if wanted(difference.size) {
            let ratio = difference.ratio();
            by_request
                .entry(difference.request)
                .or_default()
                .push(ratio);
        }
    }
    let median = |mut ratios: Vec<f64>| {
        ratios.sort_by(f64::total_cmp);
        ratios.get(ratios.len() / 2).copied()
    };
    by_request.into_values().filter_map(median).collect()
}

#[cfg(test)]
mod tests {
    use super::keep_common;
    use crate::{Clock, Host, Micros, Rescaled, ServerParameters, built_in};

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

    fn by(ratios: &[f64]) -> Rescaled {
        Rescaled::of("?".into(), ratios.to_vec()).unwrap()
    }

    /// The parameters of a machine that takes twice as long for every request.
    fn other() -> ServerParameters {
        let mut other = shipped().brought(by(&[2.0]), host("Slow"));
        other.method.brought = None;
        other
    }

    #[test]
    fn rescaled_file_matches_the_target_machine() {
        let by = Rescaled::between(&shipped(), &other()).unwrap();
        assert_eq!(by.from, "AMD EPYC");
        assert!((by.times - 2.0).abs() < 1e-9);
        let there = shipped().brought(by, host("Slow"));
        assert_eq!(there.host.cpu_model.as_deref(), Some("Slow"));
        for (one, other) in there.requests.iter().zip(&other().requests) {
            for (one, other) in one.points.iter().zip(&other.points) {
                let [one, other] = [one, other].map(|point| point.time(Clock::Cpu).unwrap().0);
                assert!((one - other).abs() <= 1e-9 * other);
            }
        }
        let wakeup = |file: &ServerParameters| file.transport.as_ref().unwrap().wakeup.cpu_us;
        assert_eq!(
            wakeup(&there).unwrap().0,
            wakeup(&shipped()).unwrap().0 * 2.0
        );
        // The result is a file like any other.
        assert_eq!(ServerParameters::from_toml(&there.to_toml()), Ok(there));
    }

    #[test]
    fn factor_is_the_median_with_its_range() {
        let factor = by(&[1.0, 4.0, 2.0, f64::NAN]);
        assert_eq!((factor.times, factor.low, factor.high), (2.0, 1.0, 4.0));
        assert_eq!(factor.spread(), 1.0);
        assert_eq!(Rescaled::of("?".into(), vec![0.0]), None);
        let nothing = ServerParameters::default();
        assert_eq!(Rescaled::between(&nothing, &shipped()), None);
    }

    #[test]
    fn rescaling_combines_point_and_factor_spreads() {
        let mut file = shipped();
        file.requests.truncate(1);
        file.requests[0].points[0].spread = Some(0.3);
        file.requests[0].points[0].cpu_us = Some(Micros(4.0));
        let point = file.brought(by(&[1.2, 2.0, 2.8]), host("Slow")).requests[0].points[0];
        assert_eq!(point.cpu_us, Some(Micros(8.0)));
        assert!((point.spread.unwrap() - 0.5).abs() < 1e-9);
    }

    #[test]
    fn quick_and_full_calibrations_keep_common_points() {
        let table = |notes: &str, entries: &str| {
            let source = if notes.is_empty() {
                "a paper"
            } else {
                "x11prof calibrate"
            };
            let text = format!(
                "format = 1\n[server]\nname = \"t\"\nvendor = \"v\"\n[method]\nsource = \"{source}\"\n\
                 notes = \"{notes}\"\n{entries}"
            );
            ServerParameters::from_toml(&text).unwrap()
        };
        let entry = |name: &str, sizes: &[u32]| {
            let points: Vec<String> = sizes
                .iter()
                .map(|size| format!("{{ size = {size}, cpu_us = 1 }}"))
                .collect();
            format!(
                "[[request]]\nname = \"{name}\"\npoints = [{}]\n",
                points.join(", ")
            )
        };
        let both = entry("A", &[1, 10, 100]) + &entry("B", &[1]);
        let mut full = table("whole plan", &both);
        let mut quick = table("quick plan", &entry("A", &[10, 50, 100]));
        let mut published = table("", &both);
        keep_common(&mut [&mut full, &mut published, &mut quick]);
        assert_eq!(published, table("", &both));
        let common = entry("A", &[10, 100]);
        assert_eq!(full, table("whole plan", &common));
        assert_eq!(quick, table("quick plan", &common));
        let (mut one, mut other) = (table("whole plan", &both), table("whole plan", &common));
        keep_common(&mut [&mut one, &mut other]);
        assert_eq!(one, table("whole plan", &both));
    }
}
