//! Interned names of a Perfetto trace: each is written once, and referenced by number afterwards.

use std::collections::HashMap;

use super::proto::{Interned, InternedData};

/// Maximum number of interned slice names; further names are written in full.
const NAMES_LIMIT: usize = 1 << 16;

/// The numbers of the interned names, and the names that have not been written yet.
#[derive(Default)]
pub(super) struct Names {
    events: HashMap<String, u64>,
    arguments: HashMap<String, u64>,
    new: InternedData,
}

impl Names {
    /// The number of a slice's name; `None` if there are too many names.
    pub(super) fn event(&mut self, name: &str) -> Option<u64> {
        if self.events.len() >= NAMES_LIMIT && !self.events.contains_key(name) {
            return None;
        }
        Some(number(&mut self.events, &mut self.new.event_names, name))
    }

    /// Returns the interned number of an argument's name.
    pub(super) fn argument(&mut self, name: &str) -> u64 {
        let new = &mut self.new.debug_annotation_names;
        number(&mut self.arguments, new, name)
    }

    /// Removes and returns the names that have not been written yet, for the next packet; `None` if there are none.
    pub(super) fn take_new(&mut self) -> Option<InternedData> {
        let new = std::mem::take(&mut self.new);
        (new != InternedData::default()).then_some(new)
    }
}

fn number(known: &mut HashMap<String, u64>, new: &mut Vec<Interned>, name: &str) -> u64 {
    if let Some(number) = known.get(name) {
        return *number;
    }
    // 0 means no name.
    let number = known.len() as u64 + 1;
    known.insert(name.to_owned(), number);
    new.push(Interned {
        iid: Some(number),
        name: Some(name.to_owned()),
    });
    number
}
