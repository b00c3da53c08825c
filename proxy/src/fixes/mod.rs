//! Advice that is tried, not believed (`record --try FIX`): the recorder does to a program's requests what a change
//! of the program would do, so that what it would gain can be measured.
//!
//! All of it is apart from the ordinary relay, which never looks into a message. [`rewriter`] says what goes where
//! (pure: bytes in, bytes out); [`relay`] carries it.

mod answers;
mod memory;
pub(crate) mod relay;
mod requests;
mod rewriter;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};

use x11prof_trace::ExtensionOpcodes;

/// A change to be tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fix {
    /// A QueryExtension that was answered on this connection before is answered by the recorder.
    AnswerQueries,
    /// The same of an InternAtom that found an atom.
    AnswerAtoms,
    /// RANDR GetScreenResources, which may probe all outputs, becomes GetScreenResourcesCurrent.
    CurrentResources,
    /// A QueryExtension finds no MIT-SHM and no DRI3, which share memory and cannot cross a network.
    NoSharing,
}

impl Fix {
    /// All that there are.
    pub const ALL: [Fix; 4] = [
        Fix::AnswerQueries,
        Fix::AnswerAtoms,
        Fix::CurrentResources,
        Fix::NoSharing,
    ];

    /// Its name on the command line and in traces.
    pub fn name(self) -> &'static str {
        match self {
            Fix::AnswerQueries => "answer-queries",
            Fix::AnswerAtoms => "answer-atoms",
            Fix::CurrentResources => "current-resources",
            Fix::NoSharing => "no-sharing",
        }
    }

    /// The fix of this name.
    pub fn from_name(name: &str) -> Option<Fix> {
        Fix::ALL.into_iter().find(|fix| fix.name() == name)
    }

    fn index(self) -> usize {
        match self {
            Fix::AnswerQueries => 0,
            Fix::AnswerAtoms => 1,
            Fix::CurrentResources => 2,
            Fix::NoSharing => 3,
        }
    }
}

/// How often each fix changed something, by its index.
pub(crate) type Counts = [u64; Fix::ALL.len()];

/// What is tried in a recording, and how often it changed something.
#[derive(Debug, Default)]
pub(crate) struct TriedFixes {
    fixes: Vec<Fix>,
    opcodes: Opcodes,
    counts: [AtomicU64; Fix::ALL.len()],
}

/// The major opcodes that matter; 0 where the server lacks the extension, which no request has.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Opcodes {
    pub(crate) big_requests: u8,
    pub(crate) randr: u8,
    pub(crate) record: u8,
}

impl Opcodes {
    pub(crate) fn of(extensions: &[ExtensionOpcodes]) -> Opcodes {
        let major = |name: &str| {
            let found = extensions.iter().find(|extension| extension.name == name);
            found.map_or(0, |extension| extension.major)
        };
        Opcodes {
            big_requests: major("BIG-REQUESTS"),
            randr: major("RANDR"),
            record: major("RECORD"),
        }
    }
}

impl TriedFixes {
    pub(crate) fn new(fixes: &[Fix], opcodes: Opcodes) -> TriedFixes {
        let mut fixes = fixes.to_vec();
        fixes.sort_unstable();
        fixes.dedup();
        TriedFixes {
            fixes,
            opcodes,
            counts: Default::default(),
        }
    }

    /// True where the relay is the ordinary one.
    pub(crate) fn is_none(&self) -> bool {
        self.fixes.is_empty()
    }

    fn add(&self, counts: Counts) {
        for (total, count) in self.counts.iter().zip(counts) {
            total.fetch_add(count, Ordering::Relaxed);
        }
    }

    /// Each fix with how often it changed something.
    pub(crate) fn counts(&self) -> Vec<(Fix, u64)> {
        let count = |fix: &Fix| self.counts[fix.index()].load(Ordering::Relaxed);
        self.fixes.iter().map(|fix| (*fix, count(fix))).collect()
    }
}
