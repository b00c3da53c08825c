//! What a request costs more where its answer is long and nothing in it tells how long: from two
//! loads that are alike but for their answers.

use x11prof_cost_model::Measured;
use x11prof_session::Effect;

use crate::fit::samples::Sample;
use crate::sampling::rounding::measured;
use crate::sampling::statistics::Estimate;

/// Two answers differ where one is longer by more than this, in bytes.
const APART: f64 = 1000.0;

/// What each 1000 bytes of answer add beyond their transport, by the samples of one entry, and the
/// samples as they would be without; `None` where no two differ in their answers alone.
pub(crate) fn apart(mut samples: Vec<Sample>) -> (Option<Measured>, Vec<Sample>) {
    let Some((short, long)) = pair(&samples) else {
        return (None, samples);
    };
    let thousands = (long.answer - short.answer) / 1000.0;
    let each = |short: Option<Estimate>, long: Option<Estimate>| {
        let (short, long) = short.zip(long)?;
        let halves = short.half_width.zip(long.half_width);
        Some(Estimate {
            centre: ((long.centre - short.centre) / thousands).max(0.0),
            half_width: halves.map(|(one, other)| one.hypot(other) / thousands),
        })
    };
    let (cpu, wall) = (each(short.cpu, long.cpu), each(short.wall, long.wall));
    for sample in &mut samples {
        let thousands = sample.answer / 1000.0;
        for (time, each) in [(&mut sample.cpu, cpu), (&mut sample.wall, wall)] {
            if let (Some(time), Some(each)) = (time, each) {
                time.centre = (time.centre - each.centre * thousands).max(0.0);
            }
        }
    }
    (measured(cpu, wall), samples)
}

/// Two that differ in their answers alone, the shorter one first.
fn pair(samples: &[Sample]) -> Option<(&Sample, &Sample)> {
    let works = |sample: &&Sample| sample.operation.effect != Effect::Nothing;
    samples.iter().filter(works).find_map(|short| {
        let mut others = samples.iter().filter(works);
        let long = others
            .find(|long| long.operation == short.operation && long.answer - short.answer > APART)?;
        Some((short, long))
    })
}

#[cfg(test)]
mod tests {
    use x11prof_session::Operation;

    use super::apart;
    use crate::fit::samples::Sample;
    use crate::sampling::statistics::Estimate;

    fn sample(size: f64, answer: f64) -> Sample {
        let mut operation = Operation::new("ListFonts".into());
        operation.items = vec![size];
        Sample {
            operation,
            cpu: Some(Estimate {
                centre: 2.0 + 4.0 * answer / 1000.0,
                half_width: Some(0.5),
            }),
            wall: None,
            busy: None,
            answer,
        }
    }

    #[test]
    fn long_answers_are_told_from_the_request() {
        let (each, alone) = apart(vec![sample(7.0, 500.0), sample(7.0, 20_500.0)]);
        assert_eq!(each.unwrap().cpu_us.unwrap().0, 4.0);
        assert!(
            alone
                .iter()
                .all(|sample| (sample.cpu.unwrap().centre - 2.0).abs() < 1e-9)
        );
    }

    #[test]
    fn what_differs_otherwise_tells_nothing() {
        let samples = vec![
            sample(7.0, 500.0),
            sample(1.0, 20_500.0),
            sample(7.0, 900.0),
        ];
        assert_eq!(apart(samples.clone()), (None, samples));
    }
}
