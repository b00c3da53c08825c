//! Processes many files in parallel and returns the results in the order of the files.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The maximum number of results that wait for earlier results.
const WAITING: usize = 64;

/// Calls `work` for each item, on all processors. Calls `take` with each result, in the order of the items.
pub(super) fn in_order<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
    mut take: impl FnMut(&T, R),
) {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    for block in items.chunks(WAITING) {
        let next = AtomicUsize::new(0);
        let some = || {
            let mut done = Vec::new();
            while let at = next.fetch_add(1, Ordering::Relaxed)
                && let Some(item) = block.get(at)
            {
                done.push((at, work(item)));
            }
            done
        };
        let mut done = thread::scope(|scope| {
            let others = 1..threads.min(block.len());
            // If a thread cannot be started, fewer threads do the work.
            let begin = |_| thread::Builder::new().spawn_scoped(scope, some).ok();
            let others: Vec<_> = others.filter_map(begin).collect();
            let mut done = some();
            for other in others {
                match other.join() {
                    Ok(more) => done.extend(more),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            done
        });
        done.sort_unstable_by_key(|(at, _)| *at);
        for (item, (_, result)) in block.iter().zip(done) {
            take(item, result);
        }
    }
}

#[test]
fn results_are_in_item_order() {
    for number in [0, 1, 63, 64, 1000] {
        let items: Vec<usize> = (0..number).collect();
        let mut results = Vec::new();
        in_order(
            &items,
            |item| item * 2,
            |item, of| results.push((*item, of)),
        );
        let expected: Vec<_> = items.iter().map(|item| (*item, item * 2)).collect();
        assert_eq!(results, expected);
    }
}
