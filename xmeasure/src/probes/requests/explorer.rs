//! Chooses the sizes and the combinations of attributes to measure, by short measurements: sizes at which interpolation
//! between the neighbours errs, combinations whose cost does not follow from the single attributes.

use std::io;
use std::time::Duration;

use x11prof_cost_model::{Basis, CostTable, FORMAT, ServerParameters, Substitutions};
use x11prof_session::Operation;

use crate::fit::entries;
use crate::fit::samples::Sample;
use crate::sampling::executor::Executor;
use crate::sampling::handlers::Handled;
use crate::sampling::statistics::Estimate;
use crate::workloads::loads::{Candidate, Loads, Series};
use crate::workloads::workload::Workload;

/// A relative error above this is worth a measurement.
const WORTH: f64 = 0.03;
/// A combination of attributes whose estimate by the rules is off by more than this is worth an entry.
const WORTH_AN_ENTRY: f64 = 0.15;
/// Handler times of a load; their median counts and their range is the noise.
const LOOKS: usize = 3;

/// The parameters of exploring.
pub(crate) struct Explorer<'a> {
    pub(crate) executor: &'a mut dyn Executor,
    /// The operation of a load's first request.
    pub(crate) describe: &'a mut dyn FnMut(&Workload) -> Option<Operation>,
    /// The end of exploring. Loads without a look by then keep their initial sizes.
    pub(crate) until: Duration,
    /// Called before every look; answers whether to go on.
    pub(crate) step: &'a mut dyn FnMut(&'static str, Duration) -> bool,
}

/// A look at a load: time of a request and how far the looks were apart, in microseconds.
#[derive(Debug, Clone)]
struct QuickReading {
    operation: Operation,
    time: f64,
    noise: f64,
}

impl Explorer<'_> {
    /// The loads to measure, in order.
    pub(crate) fn choose(&mut self, loads: Loads) -> io::Result<Vec<Workload>> {
        let mut chosen = loads.single;
        let mut seen: Vec<Sample> = Vec::new();
        for series in &loads.series {
            self.refine(series, &mut chosen, &mut seen)?;
        }
        let mut table = table(&seen);
        for candidate in loads.candidates {
            self.consider(candidate, &mut table, &mut chosen, &mut seen)?;
        }
        Ok(chosen)
    }

    /// Adds the loads of a series at sizes between which a straight line will do.
    fn refine(
        &mut self,
        series: &Series,
        chosen: &mut Vec<Workload>,
        seen: &mut Vec<Sample>,
    ) -> io::Result<()> {
        let mut known: Vec<(u16, Option<QuickReading>)> = Vec::new();
        for &size in &series.sizes {
            known.push((size, self.look(&(series.load)(size))?));
        }
        let mut depths = vec![0; known.len()];
        let mut at = 1_usize;
        while let (Some((low, Some(below))), Some((high, Some(above)))) =
            (known.get(at.wrapping_sub(1)), known.get(at))
        {
            let depth = depths.get(at).copied().unwrap_or(series.deepest);
            let middle = between(*low, *high).filter(|_| depth < series.deepest);
            let found = match middle {
                Some(middle) => self
                    .look(&(series.load)(middle))?
                    .map(|look| (middle, look)),
                None => None,
            };
            match found.filter(|(_, look)| look.strays(below, above)) {
                Some((middle, look)) => {
                    known.insert(at, (middle, Some(look)));
                    if let Some(depth) = depths.get_mut(at) {
                        *depth += 1;
                    }
                    depths.insert(at, depth + 1);
                }
                None => at += 1,
            }
        }
        for (size, look) in known {
            chosen.push((series.load)(size));
            seen.extend(look.map(QuickReading::sample));
        }
        Ok(())
    }

    /// Adds the loads of a combination of attributes if its cost does not follow from the others'.
    fn consider(
        &mut self,
        candidate: Candidate,
        table: &mut CostTable,
        chosen: &mut Vec<Workload>,
        seen: &mut Vec<Sample>,
    ) -> io::Result<()> {
        let Some(look) = self.look(&candidate.probe)? else {
            return Ok(());
        };
        let price = table.price(&look.operation);
        let expected = price.server.time.0;
        let error = (look.time - expected).abs();
        if price.basis == Basis::Unpriced || error > (WORTH_AN_ENTRY * look.time).max(look.noise) {
            self.refine(&candidate.series, chosen, seen)?;
            chosen.extend(candidate.single);
        }
        Ok(())
    }

    /// Looks at a load; `None` if the server refuses it or the time is over.
    fn look(&mut self, load: &Workload) -> io::Result<Option<QuickReading>> {
        let Some(operation) = (self.describe)(load) else {
            return Ok(None);
        };
        let now = self.executor.elapsed();
        if now >= self.until || !(self.step)(operation.request.as_str(), now) {
            return Ok(None);
        }
        let answers = self.executor.rehearse(load)?;
        if answers.iter().any(|answers| answers.errors > 0) {
            return Ok(None);
        }
        let mut looks = Vec::new();
        for _ in 0..LOOKS {
            let handled = self.executor.handled(load, &answers)?;
            let first = handled.as_deref().and_then(<[Handled]>::first);
            looks.extend(first.and_then(|handled| handled.warm.first().copied()));
        }
        looks.sort_by(f64::total_cmp);
        let (Some(least), Some(most)) = (looks.first(), looks.last()) else {
            return Ok(None);
        };
        let time = looks.get(looks.len() / 2).copied().unwrap_or(*most);
        let noise = most - least;
        Ok(Some(QuickReading {
            operation,
            time,
            noise,
        }))
    }
}

impl QuickReading {
    /// The size of the operation's item.
    fn size(&self) -> f64 {
        self.operation.items.first().copied().unwrap_or(0.0)
    }

    /// True where the time lies off the line between two others by more than is tolerated and
    /// more than the looks themselves are apart.
    fn strays(&self, below: &QuickReading, above: &QuickReading) -> bool {
        let width = above.size() - below.size();
        if width <= 0.0 || self.size() <= below.size() || self.size() >= above.size() {
            return false;
        }
        let along = (self.size() - below.size()) / width;
        let line = below.time + (above.time - below.time) * along;
        let noise = self
            .noise
            .max(below.noise * (1.0 - along))
            .max(above.noise * along);
        (self.time - line).abs() > (WORTH * self.time).max(noise)
    }

    fn sample(self) -> Sample {
        Sample {
            operation: self.operation,
            cpu: Some(Estimate {
                centre: self.time,
                half_width: None,
            }),
            wall: None,
            cold: None,
        }
    }
}

/// The size half way between two on a logarithmic scale, where there is one.
fn between(low: u16, high: u16) -> Option<u16> {
    let middle = (f64::from(low.max(1)) * f64::from(high)).sqrt().round() as u16;
    (middle > low && middle < high).then_some(middle)
}

/// The looks so far, as prices.
fn table(seen: &[Sample]) -> CostTable {
    let parameters = ServerParameters {
        format: FORMAT,
        requests: entries::entries(seen),
        ..ServerParameters::default()
    };
    CostTable::new(&parameters, &Substitutions::default())
}

#[cfg(test)]
mod tests;
