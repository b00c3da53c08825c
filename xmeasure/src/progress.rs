//! The progress of a calibration, weighted by the durations of its phases so that it never decreases.

use std::time::Duration;

use crate::plan::Progress;

/// Reports the progress of a calibration.
pub(crate) struct Meter<'a> {
    tell: &'a mut dyn FnMut(Progress<'_>),
    /// The remaining phases, the current phase first, with their approximate durations.
    phases: Vec<(&'static str, Duration)>,
    /// The total duration of the completed phases.
    before: Duration,
    total: Duration,
    /// The share (0 to 1) that was last reported.
    share: f64,
}

impl<'a> Meter<'a> {
    /// Creates a meter at the beginning of the first of `phases`. The meter calls `tell` with the progress.
    pub(crate) fn new(
        phases: Vec<(&'static str, Duration)>,
        tell: &'a mut dyn FnMut(Progress<'_>),
    ) -> Meter<'a> {
        Meter {
            tell,
            total: phases.iter().map(|(_, lasts)| *lasts).sum(),
            phases,
            before: Duration::ZERO,
            share: 0.0,
        }
    }

    /// Begins the phase `name`, and ends earlier phases.
    pub(crate) fn begin(&mut self, name: &str) {
        if let Some(at) = self.phases.iter().position(|(phase, _)| *phase == name) {
            self.before += self.phases.drain(..at).map(|(_, lasts)| lasts).sum();
        }
        self.step(0.0, "");
    }

    /// Reports that `part` (0 to 1) of the phase is complete and `request` is measured next.
    pub(crate) fn step(&mut self, part: f64, request: &str) {
        let (phase, lasts) = self.phases.first().copied().unwrap_or_default();
        let done = self.before + lasts.mul_f64(part.clamp(0.0, 1.0));
        let share = done.as_secs_f64() / self.total.as_secs_f64().max(f64::EPSILON);
        self.share = self.share.max(share.min(1.0));
        (self.tell)(Progress {
            phase,
            share: self.share,
            left: self.total.saturating_sub(done),
            request,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::Meter;
    use std::time::Duration;

    #[test]
    fn progress_never_decreases_and_names_its_phase() {
        let mut reported = Vec::new();
        let mut tell = |progress: crate::Progress<'_>| {
            reported.push((
                progress.phase.to_owned(),
                progress.share,
                progress.left.as_secs(),
            ));
        };
        let phases = vec![
            ("one", Duration::from_secs(2)),
            ("two", Duration::from_secs(6)),
            ("three", Duration::from_secs(2)),
        ];
        let mut meter = Meter::new(phases, &mut tell);
        meter.begin("two");
        meter.step(0.5, "Bell");
        meter.step(0.25, "Bell");
        meter.step(7.0, "Bell");
        meter.begin("three");
        meter.step(1.0, "");
        let shares: Vec<f64> = reported.iter().map(|progress| progress.1).collect();
        assert_eq!(shares, [0.2, 0.5, 0.5, 0.8, 0.8, 1.0]);
        assert_eq!(reported[1], ("two".to_owned(), 0.5, 5));
        assert_eq!(reported[5], ("three".to_owned(), 1.0, 0));
    }
}
