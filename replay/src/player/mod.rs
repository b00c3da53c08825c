//! Replays a script on the display of the environment.

mod connection;
mod control;
mod order;
mod patience;
mod performer;
mod screens;
mod send;
mod shared_memory;
mod waiting;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use crate::script::{Action, Script};
use crate::{Played, ReplayError};
use performer::Player;
use waiting::Waiting;

/// The pace at which a replay sends the recorded requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// With the recorded pauses, so that the display server sleeps and wakes up as in the recorded session.
    Recorded,
    /// Without pauses, as fast as the display's replies and events permit.
    Full,
}

/// The settings for a replay.
#[derive(Debug, Clone)]
pub struct PlayConfig {
    /// The pace at which the recorded requests are sent.
    pub pace: Pace,
    /// The folder for screenshots: one at each mark of the recording, and one at the end. `None` for no screenshots.
    pub pictures: Option<PathBuf>,
    /// When this becomes true, the replay stops.
    pub stop: Arc<AtomicBool>,
}

/// Replays the script on the display in `DISPLAY`, with the cookie from the authority file in `XAUTHORITY`.
///
/// # Errors
/// Fails if the display cannot be reached, has no matching screen, stops replying, or closes a connection;
/// and if `config.stop` becomes true.
pub fn play(script: &Script, config: &PlayConfig) -> Result<Played, ReplayError> {
    let mut player = Player::new(script, &config.stop)?;
    let start = Instant::now();
    let first = script.steps.first().map(|step| step.time);
    let mut waiting = Waiting::default();
    for step in &script.steps {
        if let (Pace::Recorded, Some(first)) = (config.pace, first) {
            // No pause if the recorded time is outside the range of `Instant`.
            let at = start.checked_add(step.time.since(first));
            player.pump_until(at.unwrap_or(start));
        }
        player.check_stop()?;
        waiting.go_on(&mut player)?;
        match &step.action {
            Action::Open(client) => player.open(*client)?,
            Action::Send(batch) => waiting.send(&mut player, batch)?,
            Action::Input(input) if player.control.takes_input() => {
                player.settle(None)?;
                match player.control.input(*input, &player.ids)? {
                    true => player.played.inputs += 1,
                    false => player.played.inputs_for_others += 1,
                }
            }
            Action::Input(_) => {}
            Action::Mark(text) => picture(&mut player, config, text)?,
            Action::Close(client) if waiting.has(*client) => {}
            Action::Close(client) => player.close(*client)?,
        }
    }
    waiting.finish(&mut player)?;
    picture(&mut player, config, "end")?;
    player.control.is_there()?;
    for client in 0..player.clients.len() {
        player.close(client)?;
    }
    Ok(player.finish(start.elapsed()))
}

/// Takes a screenshot of the current state, if the user requested screenshots.
fn picture(player: &mut Player<'_>, config: &PlayConfig, name: &str) -> Result<(), ReplayError> {
    let Some(folder) = &config.pictures else {
        return Ok(());
    };
    player.settle(None)?;
    player.picture(folder, name)
}
