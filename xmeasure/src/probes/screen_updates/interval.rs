//! The interval between a server's updates while changes continue, and the delay of the first.

use std::io;
use std::time::Duration;

use super::copies::{Copies, SHOWN};
use crate::sampling::executor::{Executor, Pause};

/// The number of small changes in quick succession, and their interval, to detect updates.
const CHANGES: usize = 250;
const SOON: Duration = Duration::from_millis(2);
/// A change caused an update if its extra cost is above this share of the most expensive changes'. An update may be
/// split over two steps, or coincide with the viewer's next request.
const GREAT: f64 = 0.2;

/// True if the first change after a pause is shown immediately: most of these changes soon cost more than `half` of
/// an update.
pub(super) fn is_at_once(
    small: &Copies,
    server: &mut dyn Executor,
    times: usize,
    half: f64,
) -> io::Result<bool> {
    let mut soon = 0;
    for picture in small.seen.iter().cycle().take(times) {
        // Wait until all work for the previous change is done.
        server.pause(&[Pause::Sleep(SHOWN * 2)]);
        let time = server.with_what_follows(picture, SOON)?.cpu;
        soon += usize::from(time.is_some_and(|time| time > half));
    }
    Ok(2 * soon > times)
}

/// The interval between updates while changes continue: the distance between changes that cost more than an
/// invisible change. Zero if most changes cost more, by a share of `update`, the cost of an update.
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
    // Other load on the core makes single changes much more expensive than an update does.
    if middle - usual > GREAT * update {
        return Ok(Duration::ZERO);
    }
    let steps = apart(&seen, usual + (expensive - usual) * GREAT);
    Ok(steps.map_or(Duration::ZERO, |steps| step.mul_f64(steps)))
}

/// The mean number of steps between steps above `least`. An update that is split over two steps counts once. `None`
/// if there are fewer than two, or if most steps are above `least`.
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
    fn update_interval_is_the_spacing_of_expensive_steps() {
        let mut steps = [1.0; 40];
        for at in [3, 11, 12, 19, 27] {
            steps[at] = 9.0;
        }
        // The update of steps 11 and 12 fell into both.
        assert_eq!(apart(&steps, 5.0), Some(8.0));
        assert_eq!(apart(&[9.0; 40], 5.0), None);
        assert_eq!(apart(&[1.0, 9.0, 1.0], 5.0), None);
    }
}
