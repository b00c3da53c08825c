//! The file of known issues, which lists issues that are accepted or tracked.

use serde::Deserialize;
use x11prof_analyzer::name_matches;

use crate::issues::Issue;

/// The version of the file.
const FORMAT: u32 = 1;

/// The reasons why a file of known issues cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KnownError {
    /// The text is not valid TOML, or has missing or unknown keys.
    #[error("no file of known issues: line {line}: {message}")]
    Toml {
        /// The number of the line with the error, from 1.
        line: usize,
        /// The message of the TOML parser.
        message: String,
    },
    /// The file has this format version, which is not supported.
    #[error("known issues of format {0}; this x11prof reads format {FORMAT}")]
    Format(u32),
    /// An entry lacks the keys that identify the issue, or those that describe it.
    #[error("known issue {number}: {why}")]
    KnownEntry {
        /// The number of the entry in the file, from 1.
        number: usize,
        /// The keys that the user must add to the entry, as a sentence.
        why: &'static str,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: u32,
    #[serde(default)]
    issue: Vec<KnownEntry>,
}

/// An entry of the file of known issues. A `*` in a text matches any characters.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KnownEntry {
    program: Option<String>,
    landmark: Option<String>,
    blame: Option<String>,
    pub(crate) accepted: Option<String>,
    pub(crate) bug: Option<String>,
}

/// The entries of a file of known issues.
#[derive(Debug, Clone, Default)]
pub struct Known(Vec<KnownEntry>);

impl Known {
    /// Parses the text of a file of known issues.
    ///
    /// # Errors
    /// Returns an error if the text is not a file of known issues, or if an entry lacks the keys that identify the
    /// issue or the keys that describe it.
    pub fn parse(file: &str) -> Result<Known, KnownError> {
        let parsed: Result<File, toml::de::Error> = toml::from_str(file);
        let parsed = parsed.map_err(|error| {
            let at = error.span().map_or(0, |span| span.start).min(file.len());
            let before = file.as_bytes().get(..at).unwrap_or_default();
            KnownError::Toml {
                line: before.iter().filter(|byte| **byte == b'\n').count() + 1,
                message: error.message().to_owned(),
            }
        })?;
        if parsed.format != FORMAT {
            return Err(KnownError::Format(parsed.format));
        }
        for (at, entry) in parsed.issue.iter().enumerate() {
            let wrong = |why| {
                Err(KnownError::KnownEntry {
                    number: at + 1,
                    why,
                })
            };
            let about = [&entry.program, &entry.landmark, &entry.blame];
            if about.iter().all(|text| text.is_none()) {
                return wrong("say which by program, landmark or blame");
            }
            if entry.accepted.is_none() && entry.bug.is_none() {
                return wrong("say `accepted = \"why\"` or `bug = \"its number\"`");
            }
        }
        Ok(Known(parsed.issue))
    }

    /// The first entry that matches the issue; `None` if no entry does.
    pub(crate) fn of(&self, issue: &Issue) -> Option<&KnownEntry> {
        let fits = |wanted: &Option<String>, text: &str| {
            wanted
                .as_ref()
                .is_none_or(|wanted| name_matches(wanted, text))
        };
        self.0.iter().find(|entry| {
            fits(&entry.program, issue.program.as_deref().unwrap_or_default())
                && fits(&entry.landmark, &issue.landmark)
                && fits(&entry.blame, &issue.blame)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Known;
    use crate::issues::Issue;

    #[test]
    fn known_issues_match_and_invalid_files_are_rejected() {
        let known = Known::parse(
            "format = 1\n[[issue]]\nlandmark = \"Clicks in *\"\nblame = \"sleeping\"\nbug = \"#12\"\n",
        )
        .unwrap();
        let issue = |landmark: &str| Issue {
            landmark: landmark.into(),
            blame: "sleeping".into(),
            ..Issue::default()
        };
        let bug = known.of(&issue("Clicks in Notes")).unwrap().bug.clone();
        assert_eq!(bug.as_deref(), Some("#12"));
        assert!(known.of(&issue("Typing in Notes")).is_none());
        let error = |text: &str| Known::parse(text).unwrap_err().to_string();
        assert_eq!(
            error("format = 1\n[[issue]]\nbug = \"1\"\n"),
            "known issue 1: say which by program, landmark or blame"
        );
        assert!(
            error("format = 1\n[[issue]]\nbugs = 1\n")
                .starts_with("no file of known issues: line 3: ")
        );
        assert!(error("format = 2").contains("format 2"));
    }
}
