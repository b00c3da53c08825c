//! The result of an audit: the number of checks that pass, and the checks that fail.

use std::fmt;

/// The result of an audit of a recording's figures.
#[derive(Debug, Default)]
pub struct Audit {
    /// The number of comparisons that pass.
    pub held: usize,
    /// The checks that failed.
    pub violations: Vec<Violation>,
    /// The figures of the checks that were skipped, because this recording has no such figures.
    pub idle: Vec<&'static str>,
}

/// A check that failed.
#[derive(Debug, PartialEq)]
pub struct Violation {
    figure: String,
    here: (String, f64),
    there: (String, f64),
    why: &'static str,
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (figure, why) = (&self.figure, self.why);
        let ((here, is), (there, other)) = (&self.here, &self.there);
        write!(out, "{figure}: {is} by {here}, {why} {other} by {there}")
    }
}

impl Audit {
    /// The number of comparisons so far.
    #[must_use]
    pub fn made(&self) -> usize {
        self.held + self.violations.len()
    }

    /// Adds the result of comparing the figure `here` with the figure `there`, each with its value. `holds` is true if
    /// the comparison passes; `why` describes the failed relation.
    pub(super) fn note(
        &mut self,
        holds: bool,
        figure: &str,
        (here, is): (&str, f64),
        why: &'static str,
        (there, other): (&str, f64),
    ) {
        if holds {
            self.held += 1;
            return;
        }
        self.violations.push(Violation {
            figure: figure.to_owned(),
            here: (here.to_owned(), is),
            there: (there.to_owned(), other),
            why,
        });
    }
}

impl fmt::Display for Audit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for violation in &self.violations {
            writeln!(out, "{violation}")?;
        }
        match self.violations.len() {
            0 => writeln!(out, "all {} checks hold", self.held)?,
            failed => writeln!(out, "{failed} of {} checks do not hold", self.made())?,
        }
        match self.idle.is_empty() {
            true => Ok(()),
            false => writeln!(out, "not in this recording: {}", self.idle.join("; ")),
        }
    }
}
