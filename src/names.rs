//! Handles names from the user that match nothing in the trace. An unknown name is an error that suggests the most
//! similar name.

use std::collections::BTreeSet;
use std::path::Path;

use x11prof_analyzer::{Unmatched, name_matches, program_of};
use x11prof_protocol::known_names;

use crate::error::{CommandError, shown};

/// The number of characters of a typed name that are compared. The time grows with the length.
const LONGEST: usize = 100;
/// The number of names that the error for an unknown name lists.
const LISTED: usize = 8;

/// Handles patterns without a match. Prints a message for a name that X11 defines, and fails for any other name.
pub(crate) fn unmatched<'a>(
    patterns: impl IntoIterator<Item = &'a str>,
) -> Result<(), CommandError> {
    let mut patterns = patterns.into_iter().peekable();
    if patterns.peek().is_none() {
        return Ok(());
    }
    let known = known_names();
    for pattern in patterns {
        if !known.iter().any(|name| name_matches(pattern, name)) {
            if pattern.to_lowercase().starts_with("error") {
                return Err(CommandError::usage(format_args!(
                    "there is no message {pattern:?}; errors have names such as BadWindow; '*Bad*' matches all errors"
                )));
            }
            let nearest = nearest(pattern, &known).unwrap_or_default();
            return Err(CommandError::usage(format_args!(
                "there is no message {pattern:?}; did you mean {nearest:?}?"
            )));
        }
        // Toolkits receive input events through the X Input Extension, whose events have the names of core events.
        let of_extension =
            |name: &&String| name.split_once(':').is_some_and(|(_, of)| of == pattern);
        match known.iter().find(of_extension) {
            Some(name) => say!("the trace has no message that matches {pattern}; try {name}"),
            None => say!("the trace has no message that matches {pattern}"),
        }
    }
    Ok(())
}

/// Returns the error for a client or landmark that the trace at `path` does not contain.
pub(crate) fn no_such(path: &Path, missing: &Unmatched) -> CommandError {
    // Several clients may belong to the same program, which is listed once.
    let program = |name: &String| program_of(name).unwrap_or(name).to_owned();
    let known: BTreeSet<String> = missing.known.iter().map(program).collect();
    let known: Vec<String> = known.into_iter().collect();
    let number = missing.wanted.parse::<u32>().is_ok();
    let offered = match nearest_part(&missing.wanted, &known) {
        None => "there is none".to_owned(),
        _ if number => {
            let first = missing.known.iter().take(2 * LISTED);
            let first: Vec<&str> = first.map(String::as_str).collect();
            format!("there are: {}", first.join(", "))
        }
        _ if known.len() <= LISTED => format!("there are: {}", known.join(", ")),
        Some(nearest) => format!("the nearest is {nearest:?}"),
    };
    CommandError::usage(format_args!(
        "{}: no {} {:?}; {offered}",
        shown(path),
        missing.what,
        missing.wanted,
    ))
}

/// Returns the message name that is most similar to `name`; `None` if a message has exactly this name.
pub(crate) fn misspelt(name: &str) -> Option<String> {
    let known = known_names();
    match known.iter().any(|one| one == name) {
        true => None,
        false => nearest(name, &known),
    }
}

/// Returns the `known` name that is most similar to `typed`. For a pattern of an extension (`RENDER:*`), returns the
/// most similar pattern.
fn nearest(typed: &str, known: &[String]) -> Option<String> {
    let extension = |name: &String| Some(format!("{}:*", name.split_once(':')?.0));
    let candidates: Vec<String> = match typed.ends_with(":*") {
        true => known.iter().filter_map(extension).collect(),
        false => known.to_vec(),
    };
    let typed: String = typed.to_lowercase().chars().take(LONGEST).collect();
    let like = |name: &String| {
        let name = name.to_lowercase();
        // The user may have omitted the extension's name.
        let short = name.split_once(':').map_or(&*name, |(_, short)| short);
        let alike = strsim::normalized_damerau_levenshtein;
        alike(&typed, &name).max(alike(&typed, short) - 0.01)
    };
    candidates
        .into_iter()
        .map(|name| (like(&name), name))
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, name)| name)
}

/// Returns the `known` name that contains the words most similar to `typed`. Names of windows and clients consist of
/// several words.
pub(crate) fn nearest_part<'a>(typed: &str, known: &'a [String]) -> Option<&'a str> {
    let typed: String = typed.to_lowercase().chars().take(LONGEST).collect();
    let words = typed.split_whitespace().count().max(1);
    let like = |name: &&String| {
        let name = name.to_lowercase();
        let of_name: Vec<&str> = name.split_whitespace().collect();
        let parts = of_name.windows(words.min(of_name.len()).max(1));
        parts
            .map(|part| strsim::normalized_damerau_levenshtein(&typed, &part.join(" ")))
            .fold(0.0, f64::max)
    };
    let best = known.iter().max_by(|a, b| like(a).total_cmp(&like(b)));
    best.map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::{nearest, nearest_part};
    use x11prof_protocol::known_names;

    #[test]
    fn nearest_name_is_found() {
        let known = known_names();
        for (typed, meant) in [
            ("InternAtm", "InternAtom"),
            ("CopyAera", "CopyArea"),
            ("polyline", "PolyLine"),
            ("composite", "RENDER:Composite"),
            ("RENDR:*", "RENDER:*"),
            ("MIT-SHM:PutImge", "MIT-SHM:PutImage"),
        ] {
            assert_eq!(nearest(typed, &known).as_deref(), Some(meant));
        }
    }

    #[test]
    fn nearest_part_of_a_name_is_found() {
        let known =
            ["Typing in Mousepad", "Clicks in XTerm", "emacs (client 3)"].map(str::to_owned);
        for (typed, meant) in [("mosepad", 0), ("typng in", 0), ("clik", 1), ("emcas", 2)] {
            assert_eq!(nearest_part(typed, &known), Some(known[meant].as_str()));
        }
    }
}
