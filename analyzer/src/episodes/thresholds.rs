//! The latency from which on a user perceives an episode, by trigger.

use super::episode::Trigger;

/// An error in a threshold on the command line, with its message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}: expected MS, or TRIGGER=MS with one of input, output, asynchronous, keyboard, mouse")]
pub struct ThresholdError(String);

/// The latency from which on an episode is perceptible, in milliseconds: 100 in general (Shneiderman), 150 for the
/// keyboard and 195 for the mouse (Dabrowski & Munson).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// The general threshold in milliseconds.
    pub general: f64,
    /// The thresholds by trigger in milliseconds, in the order of `Trigger::ALL`; `None` if the general threshold
    /// applies.
    triggers: [Option<f64>; 3],
    /// The threshold for keys in milliseconds.
    pub keyboard: f64,
    /// The threshold for the pointer in milliseconds.
    pub mouse: f64,
}

impl Default for Thresholds {
    fn default() -> Thresholds {
        Thresholds {
            general: 100.0,
            triggers: [None; 3],
            keyboard: 150.0,
            mouse: 195.0,
        }
    }
}

impl Thresholds {
    /// Parses thresholds in milliseconds, such as `100` or `input=100,output=50,keyboard=150`. A single number applies
    /// to all triggers.
    pub fn parse(text: &str) -> Result<Thresholds, ThresholdError> {
        let mut thresholds = Thresholds::default();
        let wrong = || ThresholdError(text.to_owned());
        for part in text.split(',') {
            let (of, ms) = part.rsplit_once('=').unwrap_or(("", part));
            let ms: f64 = ms.trim().parse().map_err(|_| wrong())?;
            if !(ms > 0.0 && ms.is_finite()) {
                return Err(wrong());
            }
            match of.trim() {
                "" => {
                    thresholds.general = ms;
                    (thresholds.keyboard, thresholds.mouse) = (ms, ms);
                }
                "keyboard" => thresholds.keyboard = ms,
                "mouse" => thresholds.mouse = ms,
                name => {
                    let at = Trigger::ALL.iter().position(|one| one.name() == name);
                    let at = at.ok_or_else(wrong)?;
                    thresholds.triggers[at] = Some(ms);
                    if Trigger::ALL[at] == Trigger::Input {
                        (thresholds.keyboard, thresholds.mouse) = (ms, ms);
                    }
                }
            }
        }
        Ok(thresholds)
    }

    /// The threshold of an episode in milliseconds. The landmark distinguishes keys from the pointer.
    pub fn of(&self, trigger: Trigger, landmark: &str) -> f64 {
        let at = Trigger::ALL.iter().position(|one| *one == trigger);
        if trigger == Trigger::Input {
            let key = landmark.starts_with("Key") || landmark.starts_with("RawKey");
            return if key { self.keyboard } else { self.mouse };
        }
        at.and_then(|at| self.triggers[at]).unwrap_or(self.general)
    }
}
