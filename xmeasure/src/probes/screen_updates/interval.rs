//! How often a server shows what has changed while changes go on, and how soon the first of them.

use std::io;
use std::time::Duration;

use super::copies::{Copies, SHOWN};
use crate::sampling::executor::{Executor, Pause};

/// Small changes that follow each other soon, and how soon, to see how often there is an update.
const CHANGES: usize = 250;
const SOON: Duration = Duration::from_millis(2);
/// A change is followed by an update where it costs more than unseen ones by this share of what the
/// most expensive do: an update may fall into two steps, or into one together with the viewer's
/// asking for the next.
const GREAT: f64 = 0.2;

/// Whether the first change after a pause is shown at once: most of such changes cost more than
/// `half` of an update soon.
pub(super) fn is_at_once(
    small: &Copies,
    server: &mut dyn Executor,
    times: usize,
    half: f64,
) -> io::Result<bool> {
    let mut soon = 0;
    for picture in small.seen.iter().cycle().take(times) {
        // All that the one before has led to is over.
        server.pause(&[Pause::Sleep(SHOWN * 2)]);
        let time = server.with_what_follows(picture, SOON)?.cpu;
        soon += usize::from(time.is_some_and(|time| time > half));
    }
    Ok(2 * soon > times)
}

/// How far apart the updates are while changes go on: how far those changes are from each other
/// that cost more than one that is not seen. Zero where most do, by a share of `update`, what one
/// costs.
pub(super) fn interval(
    small: &Copies,
    server: &mut dyn Executor,
    update: f64,
) -> io::Result<Duration> {
    let mut steps = |pictures: &[_; 2]| -> io::Result<(Vec<f64>, Duration)> {
        let (start, mut all) = (server.elapsed(), Vec::new());
        for picture in pictures.iter().cycle().take(CHANGES) {
            all.extend(server.with_what_follows(picture, SOON)?.cpu);
        }
        let step = (server.elapsed() - start).div_f64(CHANGES as f64);
        server.pause(&[Pause::Sleep(SHOWN)]);
        Ok((all, step))
    };
    let (mut unseen, _) = steps(&small.unseen)?;
    let (seen, step) = steps(&small.seen)?;
    unseen.sort_by(f64::total_cmp);
    let mut sorted = seen.clone();
    sorted.sort_by(f64::total_cmp);
    let (Some(usual), Some(middle), Some(expensive)) = (
        unseen.get(unseen.len() / 2),
        sorted.get(sorted.len() / 2),
        sorted.get(sorted.len() * 19 / 20),
    ) else {
        return Ok(Duration::ZERO);
    };
    // Others on the processor's core make single ones much more expensive than an update does.
    if middle - usual > GREAT * update {
        return Ok(Duration::ZERO);
    }
    let steps = apart(&seen, usual + (expensive - usual) * GREAT);
    Ok(steps.map_or(Duration::ZERO, |steps| step.mul_f64(steps)))
}

/// How many steps lie between those that are greater than `least`, on the mean. One that falls into two
/// steps counts once. `None` where there are no two, or there is one in most steps.
fn apart(steps: &[f64], least: f64) -> Option<f64> {
    let great = |at: usize| steps.get(at).is_some_and(|step| *step > least);
    let all = (0..steps.len()).filter(|&at| great(at));
    if 2 * all.clone().count() > steps.len() {
        return None;
    }
    let begin: Vec<usize> = all.filter(|&at| at == 0 || !great(at - 1)).collect();
    let (first, last) = (begin.first()?, begin.last()?);
    (begin.len() > 1).then(|| (last - first) as f64 / (begin.len() - 1) as f64)
}

#[cfg(test)]
mod tests {
    use super::apart;

    #[test]
    fn updates_are_as_far_apart_as_the_expensive_steps() {
        let mut steps = [1.0; 40];
        for at in [3, 11, 12, 19, 27] {
            steps[at] = 9.0;
        }
        // That of 11 and 12 fell into both.
        assert_eq!(apart(&steps, 5.0), Some(8.0));
        assert_eq!(apart(&[9.0; 40], 5.0), None);
        assert_eq!(apart(&[1.0, 9.0, 1.0], 5.0), None);
    }
}
