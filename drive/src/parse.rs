//! Parses a session from text.

use std::iter::Peekable;
use std::str::{Chars, FromStr};
use std::time::Duration;

use x11prof_protocol::{Chord, keysym_of};

use crate::action::{Action, Place, WindowName};
use crate::error::SessionError;
use crate::session::{Session, Step};

/// The maximum number of actions in a session.
const MOST: usize = 100_000;

impl FromStr for Session {
    type Err = SessionError;

    fn from_str(text: &str) -> Result<Session, SessionError> {
        let mut session = Session::default();
        let mut pause = Duration::ZERO;
        for (number, line) in text.lines().enumerate() {
            let wrong = |why| SessionError {
                line: number + 1,
                why,
            };
            let words = words(line).map_err(wrong)?;
            let Some((verb, rest)) = words.split_first() else {
                continue;
            };
            if verb == "pause" {
                let [time] = rest else {
                    return Err(wrong("pause takes a time, as in: pause 200ms".to_owned()));
                };
                pause += time_of(time).map_err(wrong)?;
                continue;
            }
            let (actions, between) = actions(verb, rest).map_err(wrong)?;
            if session.steps.len() + actions.len() > MOST {
                return Err(wrong(format!("more than {MOST} actions")));
            }
            for (at, action) in actions.into_iter().enumerate() {
                let pause = match at {
                    0 => std::mem::take(&mut pause),
                    _ => between,
                };
                session.steps.push(Step { pause, action });
            }
        }
        Ok(session)
    }
}

/// Parses the actions of a line. Also returns the pause between two of them, which only `type` can set (otherwise zero).
fn actions(verb: &str, rest: &[String]) -> Result<(Vec<Action>, Duration), String> {
    let one = |action| Ok((vec![action], Duration::ZERO));
    match (verb, rest) {
        ("screen", []) => one(Action::Window(None)),
        ("window", [class, title @ ..]) if title.len() < 2 => {
            one(Action::Window(Some(WindowName {
                class: class.clone(),
                title: title.first().cloned(),
            })))
        }
        ("type", [text, pause @ ..]) if pause.len() < 2 => {
            let between = pause.first().map(|pause| time_of(pause)).transpose()?;
            if let Some(no) = text.chars().find(|one| keysym_of(*one).is_none()) {
                return Err(format!("{no:?} is no key"));
            }
            let actions = text.chars().map(Action::Type).collect();
            Ok((actions, between.unwrap_or_default()))
        }
        ("key", [chord]) => one(Action::Key(
            chord.parse::<Chord>().map_err(|error| error.to_string())?,
        )),
        ("click", [button, at @ ..]) => {
            let (modifiers, number) = Chord::split(button).map_err(|error| error.to_string())?;
            one(Action::Click {
                button: button_of(number)?,
                modifiers,
                at: maybe_place(at)?,
            })
        }
        ("drag", [button, places @ ..]) if places.len() >= 4 && places.len() % 2 == 0 => {
            one(Action::Drag {
                button: button_of(button)?,
                path: places.chunks(2).map(place).collect::<Result<_, _>>()?,
            })
        }
        ("move", at) => one(Action::Move(place(at)?)),
        ("scroll" | "scroll-sideways", [steps, at @ ..]) => {
            let steps: i32 = steps.parse().map_err(|_| not_a(steps, "number of steps"))?;
            if !(1..=100).contains(&steps.unsigned_abs()) {
                return Err(not_a(
                    &steps.to_string(),
                    "number of steps: 1 to 100, or -1 to -100",
                ));
            }
            one(Action::Scroll {
                steps,
                sideways: verb != "scroll",
                at: maybe_place(at)?,
            })
        }
        ("wait", [time]) => one(Action::Wait(time_of(time)?)),
        (
            "drag" | "window" | "screen" | "type" | "key" | "click" | "scroll" | "scroll-sideways"
            | "wait",
            _,
        ) => Err(format!("'{verb}' has too few or too many words")),
        _ => Err(format!(
            "'{verb}' is no action: window, screen, type, key, click, drag, move, scroll, wait, pause"
        )),
    }
}

fn not_a(word: &str, what: &str) -> String {
    format!("'{word}' is no {what}")
}

fn button_of(word: &str) -> Result<u8, String> {
    let button = word.parse().ok().filter(|button| *button > 0);
    button.ok_or_else(|| not_a(word, "button: 1 is the left one"))
}

fn place(words: &[String]) -> Result<Place, String> {
    let number = |word: &String| {
        word.parse::<i16>()
            .map_err(|_| not_a(word, "place: two numbers of pixels"))
    };
    match words {
        [x, y] => Ok(Place {
            x: number(x)?,
            y: number(y)?,
        }),
        _ => Err("a place has two numbers: pixels to the right, pixels down".to_owned()),
    }
}

fn maybe_place(words: &[String]) -> Result<Option<Place>, String> {
    match words {
        [] => Ok(None),
        words => place(words).map(Some),
    }
}

/// Parses a duration such as `200ms` or `1.5s`, up to an hour.
fn time_of(word: &str) -> Result<Duration, String> {
    let (number, unit) = match word.strip_suffix("ms") {
        Some(number) => (number, 1e-3),
        None => (word.strip_suffix('s').unwrap_or(""), 1.0),
    };
    let seconds = number.parse::<f64>().ok().map(|number| number * unit);
    let seconds = seconds.filter(|seconds| (0.0..=3600.0).contains(seconds));
    let seconds = seconds.ok_or_else(|| not_a(word, "time: 200ms, 1.5s"))?;
    Ok(Duration::from_secs_f64(seconds))
}

/// Splits a line into words. A quoted word may contain spaces, and `#` begins a comment.
fn words(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut letters = line.chars().peekable();
    loop {
        while letters.next_if(|letter| letter.is_whitespace()).is_some() {}
        match letters.peek() {
            None | Some('#') => return Ok(words),
            Some('"') => words.push(quotation(&mut letters)?),
            Some(_) => {
                let mut word = String::new();
                while let Some(letter) = letters.next_if(|letter| !letter.is_whitespace()) {
                    word.push(letter);
                }
                words.push(word);
            }
        }
    }
}

fn quotation(letters: &mut Peekable<Chars<'_>>) -> Result<String, String> {
    letters.next();
    let mut word = String::new();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => return Ok(word),
            '\\' => match letters.next() {
                Some('n') => word.push('\n'),
                Some('t') => word.push('\t'),
                Some(letter @ ('"' | '\\')) => word.push(letter),
                Some('u') => {
                    let digits: String = letters.by_ref().take_while(|one| *one != '}').collect();
                    let digits = digits.strip_prefix('{').unwrap_or_default();
                    let number = u32::from_str_radix(digits, 16).ok();
                    let letter = number.and_then(char::from_u32);
                    word.push(letter.ok_or("after \\u comes a number, as in \\u{e9}")?);
                }
                _ => return Err("after \\ comes n, t, u, \" or \\".to_owned()),
            },
            _ => word.push(letter),
        }
    }
    Err("a quotation mark is missing".to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Session;

    proptest! {
        #[test]
        fn any_parsed_session_round_trips(text in "([a-z-]{1,9}( [-+a-z0-9\"\\\\.é]{0,8}){0,5}\n){0,9}") {
            if let Ok(session) = text.parse::<Session>() {
                let again: Session = session.to_string().parse().unwrap();
                prop_assert_eq!(again.inputs(), session.inputs());
            }
        }
    }

    const TEXT: &str = r#"window "XTerm" "a \"title\"\u{202e}"
type "hello\n" 120ms
pause 350ms
key ctrl+shift+Left
click ctrl+1 120 45
click 3
drag 1 10 10 -5 20 200 150
screen
move 10 20
scroll -3
scroll-sideways 2 1 1
wait 200ms
"#;

    #[test]
    fn session_text_round_trips() {
        let session: Session = TEXT.parse().unwrap();
        assert_eq!(session.to_string(), TEXT);
        assert_eq!(session.inputs(), 13);
        let again: Session = session.to_string().parse().unwrap();
        assert_eq!(again, session);
    }

    #[test]
    fn comments_and_empty_lines_are_ignored() {
        let session: Session = "\n # nothing\nkey a # a key\n".parse().unwrap();
        assert_eq!(session.to_string(), "key a\n");
    }

    #[test]
    fn parse_errors_name_the_line() {
        for (text, said) in [
            (
                "key a\nclik 1",
                "line 2: 'clik' is no action: window, screen, type, key, click, drag, move, scroll, wait, pause",
            ),
            ("click 0", "line 1: '0' is no button: 1 is the left one"),
            (
                "click 1 5",
                "line 1: a place has two numbers: pixels to the right, pixels down",
            ),
            ("type \"a", "line 1: a quotation mark is missing"),
            ("wait 5", "line 1: '5' is no time: 200ms, 1.5s"),
            ("wait 1e9s", "line 1: '1e9s' is no time: 200ms, 1.5s"),
            (
                "drag 1 10 10",
                "line 1: 'drag' has too few or too many words",
            ),
            (
                "scroll -2147483648",
                "line 1: '-2147483648' is no number of steps: 1 to 100, or -1 to -100",
            ),
            (
                "scroll 0",
                "line 1: '0' is no number of steps: 1 to 100, or -1 to -100",
            ),
        ] {
            let error = text.parse::<Session>().unwrap_err();
            assert_eq!(error.to_string(), said);
        }
    }
}
