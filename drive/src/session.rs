//! A session: a sequence of actions with the user's pauses.

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use crate::action::{Action, quoted};

/// Consecutive characters with shorter pauses than this are printed as one `type` line.
const ONE_TEXT: Duration = Duration::from_secs(2);

/// An action of a session, and the pause before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The user's pause from the start of the previous action to the start of this one; zero if unknown.
    pub pause: Duration,
    /// The action that follows the pause.
    pub action: Action,
}

/// A session: a sequence of actions with pauses, to be sent to a program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Session {
    /// The actions in order, each with the pause before it.
    pub steps: Vec<Step>,
}

impl Session {
    /// Creates a session that types the text character by character, without pauses.
    pub fn of_text(text: &str) -> Session {
        let steps = text.chars().map(|character| Step {
            pause: Duration::ZERO,
            action: Action::Type(character),
        });
        Session {
            steps: steps.collect(),
        }
    }

    /// The number of actions that send input to the program.
    pub fn inputs(&self) -> usize {
        let inputs = self.steps.iter().filter(|step| step.action.is_input());
        inputs.count()
    }
}

/// The text form, which parses back to the same actions. A `type` line with several characters contains the mean of
/// their pauses. In the alternate form (`{:#}`) each character is a separate line with its own pause.
impl Display for Session {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut steps = self.steps.iter().peekable();
        while let Some(step) = steps.next() {
            if step.pause.as_millis() > 0 {
                writeln!(f, "pause {}ms", step.pause.as_millis())?;
            }
            let Action::Type(character) = step.action else {
                writeln!(f, "{}", step.action)?;
                continue;
            };
            let mut text = String::from(character);
            let (mut pauses, mut pause) = (0, Duration::ZERO);
            while let Some((next, of)) = steps.peek().and_then(|next| match next.action {
                Action::Type(character) if next.pause < ONE_TEXT && !f.alternate() => {
                    Some((character, next.pause))
                }
                _ => None,
            }) {
                steps.next();
                text.push(next);
                pause += of;
                pauses += 1;
            }
            write!(f, "type {}", quoted(&text))?;
            match pause.checked_div(pauses).map(|mean| mean.as_millis()) {
                None | Some(0) => writeln!(f)?,
                Some(mean) => writeln!(f, " {mean}ms")?,
            }
        }
        Ok(())
    }
}
