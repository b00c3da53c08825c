//! Turns: tests that measure times run apart from tests that use much CPU time.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The current turns.
struct Turns {
    side_by_side: usize,
    /// Number of tests that measure times.
    quiet: usize,
    /// Number of tests that wait until they can measure times.
    waiting: usize,
    /// No other test starts until all these have run.
    held_back: bool,
}

/// Number of tests that wait before other tests are held back. The last of the other tests may take a minute, in which
/// the processors are idle.
const WAITING: usize = 4;
/// Maximum number of tests that measure times at once. They mostly sleep.
const QUIET: usize = 3;

static TURNS: Mutex<Turns> = Mutex::new(Turns {
    side_by_side: 0,
    quiet: 0,
    waiting: 0,
    held_back: false,
});
static CHANGED: Condvar = Condvar::new();

thread_local! {
    /// Number of turns of either kind that this test holds.
    static HELD: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// A test's turn, released on drop. It stays on the test's thread.
pub(crate) struct Turn {
    quiet: bool,
    _thread: PhantomData<MutexGuard<'static, ()>>,
}

/// The turn of an ordinary test. [`super::Place`] and [`super::Server`] hold one.
pub(crate) fn side_by_side() -> Turn {
    Turn::take(false)
}

/// The turn of a test that measures times.
pub(crate) fn quiet() -> Turn {
    Turn::take(true)
}

impl Turn {
    fn take(quiet: bool) -> Turn {
        let (beside, apart) = HELD.get();
        if waits() {
            match (beside, apart, quiet) {
                (0, 0, false) => change(
                    |turns| turns.quiet == 0 && !turns.held_back,
                    |turns| turns.side_by_side += 1,
                ),
                // A test that waits here runs nothing that could disturb other tests, so its other turn is
                // released.
                (_, 0, true) => {
                    change(
                        |_| true,
                        |turns| {
                            turns.side_by_side -= usize::from(beside > 0);
                            turns.waiting += 1;
                            turns.held_back |= turns.waiting >= WAITING;
                        },
                    );
                    change(
                        |turns| turns.quiet < QUIET && turns.side_by_side == 0,
                        |turns| {
                            turns.waiting -= 1;
                            turns.held_back &= turns.waiting > 0;
                            turns.quiet += 1;
                        },
                    );
                }
                _ => {}
            }
        }
        HELD.set((beside + usize::from(!quiet), apart + usize::from(quiet)));
        Turn {
            quiet,
            _thread: PhantomData,
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let (beside, apart) = HELD.get();
        let (beside, apart) = (
            beside - usize::from(!self.quiet),
            apart - usize::from(self.quiet),
        );
        HELD.set((beside, apart));
        if !waits() || apart > 0 {
            return;
        }
        let was_quiet = self.quiet;
        change(
            |_| true,
            |turns| {
                if was_quiet {
                    turns.quiet -= 1;
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
