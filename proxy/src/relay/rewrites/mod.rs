//! Rewrites (`record --try FIX`): the recorder changes a program's requests as a modified program would send them, so
//! that the gain can be measured before the program is changed.
//!
//! [`rewriter`] only transforms bytes. The relay reads and writes the sockets.

mod memory;
mod reply_splitter;
mod requests;
pub(crate) mod rewriter;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};

use x11prof_trace::ExtensionOpcodes;

/// A change of requests that the recorder can try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rewrite {
    /// The recorder replies to a QueryExtension if the server already replied to the same request on this connection.
    AnswerQueries,
    /// The recorder replies to an InternAtom if the server already returned an atom for the name on this connection.
    AnswerAtoms,
    /// RANDR GetScreenResources, which may probe all outputs, is replaced by GetScreenResourcesCurrent.
    CurrentResources,
    /// QueryExtension and ListExtensions do not report MIT-SHM and DRI3, which share memory and cannot be used over a
    /// network.
    NoSharing,
}

impl Rewrite {
    /// All rewrites that the recorder can try.
    pub const ALL: [Rewrite; 4] = [
        Rewrite::AnswerQueries,
        Rewrite::AnswerAtoms,
        Rewrite::CurrentResources,
        Rewrite::NoSharing,
    ];

    /// The name of the rewrite on the command line and in traces.
    pub fn name(self) -> &'static str {
        match self {
            Rewrite::AnswerQueries => "answer-queries",
            Rewrite::AnswerAtoms => "answer-atoms",
            Rewrite::CurrentResources => "current-resources",
            Rewrite::NoSharing => "no-sharing",
        }
    }

    /// The rewrite with this name; `None` if there is none.
    pub fn from_name(name: &str) -> Option<Rewrite> {
        Rewrite::ALL
            .into_iter()
            .find(|rewrite| rewrite.name() == name)
    }

    fn index(self) -> usize {
        match self {
            Rewrite::AnswerQueries => 0,
            Rewrite::AnswerAtoms => 1,
            Rewrite::CurrentResources => 2,
            Rewrite::NoSharing => 3,
        }
    }
}

/// The number of requests that each rewrite changed, by the index of the rewrite in `Rewrite::ALL`.
pub(crate) type Counts = [u64; Rewrite::ALL.len()];

/// The rewrites that a recording tries, with the number of requests that each rewrite changed.
#[derive(Debug, Default)]
pub(crate) struct TriedRewrites {
    pub(crate) rewrites: Vec<Rewrite>,
    pub(crate) opcodes: Opcodes,
    counts: [AtomicU64; Rewrite::ALL.len()],
}

/// The major opcodes of the extensions that rewrites need; 0, which no request uses, if the server lacks the extension.
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

impl TriedRewrites {
    pub(crate) fn new(rewrites: &[Rewrite], opcodes: Opcodes) -> TriedRewrites {
        let mut rewrites = rewrites.to_vec();
        rewrites.sort_unstable();
        rewrites.dedup();
        TriedRewrites {
            rewrites,
            opcodes,
            counts: Default::default(),
        }
    }

    /// True if there are no rewrites to try.
    pub(crate) fn is_none(&self) -> bool {
        self.rewrites.is_empty()
    }

    pub(crate) fn add(&self, counts: Counts) {
        for (total, count) in self.counts.iter().zip(counts) {
            total.fetch_add(count, Ordering::Relaxed);
        }
    }

    /// The rewrites, each with the number of requests that it changed.
    pub(crate) fn counts(&self) -> Vec<(Rewrite, u64)> {
        let count = |rewrite: &Rewrite| self.counts[rewrite.index()].load(Ordering::Relaxed);
        self.rewrites
            .iter()
            .map(|rewrite| (*rewrite, count(rewrite)))
            .collect()
    }
}
