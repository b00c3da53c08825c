//! Turns: a test that measures time runs alone; all other tests run concurrently.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The current turns.
struct Turns {
    side_by_side: usize,
    alone: bool,
    /// Number of tests that wait for an exclusive turn. No other test starts meanwhile.
    waiting: usize,
}

static TURNS: Mutex<Turns> = Mutex::new(Turns {
    side_by_side: 0,
    alone: false,
    waiting: 0,
});
static CHANGED: Condvar = Condvar::new();

thread_local! {
    /// Number of shared and exclusive turns that this test holds.
    static HELD: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// A test's turn, released on drop. It stays on the test's thread.
pub(crate) struct Turn {
    alone: bool,
    _thread: PhantomData<MutexGuard<'static, ()>>,
}

/// A shared turn. [`super::Place`] and [`super::Server`] hold one.
pub(crate) fn side_by_side() -> Turn {
    Turn::take(false)
}

/// An exclusive turn.
pub(crate) fn alone() -> Turn {
    Turn::take(true)
}

impl Turn {
    fn take(alone: bool) -> Turn {
        let (beside, by_itself) = HELD.get();
        if waits() {
            match (beside, by_itself, alone) {
                (0, 0, false) => change(
                    |turns| !turns.alone && turns.waiting == 0,
                    |turns| turns.side_by_side += 1,
                ),
                // A test that waits here runs nothing that could disturb other tests, so its shared turn is
                // released.
                (_, 0, true) => {
                    change(
                        |_| true,
                        |turns| {
                            turns.side_by_side -= usize::from(beside > 0);
                            turns.waiting += 1;
                        },
                    );
                    change(
                        |turns| !turns.alone && turns.side_by_side == 0,
                        |turns| {
                            turns.waiting -= 1;
                            turns.alone = true;
                        },
                    );
                }
                _ => {}
            }
        }
        HELD.set((beside + usize::from(!alone), by_itself + usize::from(alone)));
        Turn {
            alone,
            _thread: PhantomData,
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let (beside, by_itself) = HELD.get();
        let (beside, by_itself) = (
            beside - usize::from(!self.alone),
            by_itself - usize::from(self.alone),
        );
        HELD.set((beside, by_itself));
        if !waits() || by_itself > 0 {
            return;
        }
        let was_alone = self.alone;
        change(
            |_| true,
            |turns| {
                if was_alone {
                    turns.alone = false;
                    turns.side_by_side += usize::from(beside > 0);
                } else if beside == 0 {
                    turns.side_by_side -= 1;
                }
            },
        );
    }
}

/// Threads that a test starts have no name and share the test's turn.
fn waits() -> bool {
    std::thread::current().name().is_some()
}

/// Waits until `ready` holds, then changes the turns.
fn change(ready: impl Fn(&Turns) -> bool, change: impl FnOnce(&mut Turns)) {
    let turns = TURNS.lock().unwrap_or_else(PoisonError::into_inner);
    let turns = CHANGED.wait_while(turns, |turns| !ready(turns));
    change(&mut turns.unwrap_or_else(PoisonError::into_inner));
    CHANGED.notify_all();
}
