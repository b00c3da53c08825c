//! The driver. It performs the actions of a session one after the other, each after the program has become idle.

mod config;
mod connection;
mod display;
mod input_injector;
mod keyboard;
mod processes;
mod subject;

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::DriveError;
use crate::action::Action;
use crate::session::Session;
pub use config::{DriveConfig, Pace, RelayedClients};
use input_injector::InputInjector;
pub use subject::Subject;

/// The time that a mark may take before the action's window is checked again.
const MARKED: Duration = Duration::from_millis(20);

/// The outcome of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Driven {
    /// The number of inputs that were sent.
    pub inputs: usize,
    /// The numbers (from 1) of the inputs after which the program did not become idle in time.
    pub restless: Vec<usize>,
    /// The reason why the session was not completed; `None` if it was completed.
    pub stopped: Option<String>,
}

/// Starts the program unless it already runs, sends it the actions of the session, and ends it if the driver started
/// it. Immediately before each input, calls `mark` with the number of the input (the first is 1) and its action. When the
/// effects of the last input have ended, calls `mark` with `None`.
///
/// # Errors
/// Fails if the display cannot be driven, or if the program cannot be started. A session that stops early is no error:
/// the returned value contains the reason.
pub fn drive(
    session: &Session,
    config: &DriveConfig,
    mut mark: impl FnMut(Option<(usize, &Action)>),
) -> Result<Driven, DriveError> {
    let mut hands = InputInjector::new(config)?;
    let mut driven = Driven::default();
    let mut begun: Option<Instant> = None;
    for (at, step) in session.steps.iter().enumerate() {
        let action = &step.action;
        let number = driven.inputs + 1;
        if action.is_input() {
            let pause = match config.pace {
                Pace::Quiet => Duration::ZERO,
                Pace::Recorded => step.pause,
                Pace::Every(time) => time,
            };
            if let Some(begun) = begun {
                hands.rest(begun + pause);
            }
        }
        let done = hands.prepare(action).and_then(|mut target| {
            if action.is_input() {
                let now = Instant::now();
                begun = Some(now);
                mark(Some((number, action)));
                // Another recorder of the display may delay the mark. The window or the focus may have changed since.
                if now.elapsed() > MARKED {
                    target = hands.prepare(action)?;
                }
            }
            hands.perform(action, target)
        });
        match done {
            Ok(is_quiet) if action.is_input() => {
                driven.inputs += 1;
                if !is_quiet {
                    driven.restless.push(number);
                }
                let is_last = session.steps[at + 1..]
                    .iter()
                    .all(|step| !step.action.is_input());
                if let Some(why) = hands.ended().filter(|_| !is_last) {
                    driven.stopped = Some(format!("{why} after action {number} ({action})"));
                    break;
                }
            }
            Ok(_) => {}
            Err(input_injector::Stop::Display(error)) => return Err(error),
            Err(input_injector::Stop::Because(why)) => {
                let action = action.to_string();
                let stopped = DriveError::Stopped {
                    number,
                    action,
                    why,
                };
                driven.stopped = Some(stopped.to_string());
                break;
            }
        }
    }
    mark(None);
    Ok(driven)
}
