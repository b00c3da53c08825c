//! Interned names: names of requests, names and values of attributes, names of fonts.

use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Maximum number of names, so that a malicious trace cannot grow the table without limit.
const CAPACITY: usize = 1 << 16;
/// The longest interned name, in bytes.
const LONGEST: usize = 256;

/// An interned name. Copies, comparisons and hashes operate on a pointer. The text is never freed. All names beyond the
/// limits of the table become `(other)`. The pointer to a pointer halves the size of a symbol.
#[derive(Clone, Copy)]
pub struct Symbol(&'static &'static str);

impl Symbol {
    /// Returns the symbol for `name`; equal names have the same symbol.
    pub fn new(name: &str) -> Symbol {
        static TABLE: OnceLock<Mutex<HashMap<&'static str, Symbol>>> = OnceLock::new();
        let table = TABLE.get_or_init(|| Mutex::new(HashMap::new()));
        // An insertion is a single step, so the table is consistent even if it is poisoned.
        let mut table = table.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = table.get(name) {
            return *known;
        }
        let name = if name.len() > LONGEST || table.len() >= CAPACITY {
            "(other)"
        } else {
            name
        };
        if let Some(known) = table.get(name) {
            return *known;
        }
        let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
        let symbol = Symbol(Box::leak(Box::new(kept)));
        table.insert(kept, symbol);
        symbol
    }

    /// The text of the name.
    pub fn as_str(self) -> &'static str {
        self.0
    }
}

impl PartialEq for Symbol {
    fn eq(&self, other: &Symbol) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}
impl Eq for Symbol {}
impl Hash for Symbol {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::from_ref(self.0).hash(state);
    }
}
/// Symbols are ordered by their text, so that listings are stable.
impl Ord for Symbol {
    fn cmp(&self, other: &Symbol) -> std::cmp::Ordering {
        self.0.cmp(other.0)
    }
}
impl PartialOrd for Symbol {
    fn partial_cmp(&self, other: &Symbol) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}
impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.0, f)
    }
}
impl From<&str> for Symbol {
    fn from(name: &str) -> Symbol {
        Symbol::new(name)
    }
}

#[cfg(test)]
mod tests {
    use super::Symbol;

    #[test]
    fn equal_names_share_one_symbol() {
        assert_eq!(Symbol::new("GXcopy"), Symbol::new(&String::from("GXcopy")));
        assert_ne!(Symbol::new("GXcopy"), Symbol::new("GXxor"));
        assert_eq!(Symbol::new("PolyLine").as_str(), "PolyLine");
    }

    #[test]
    fn overlong_names_do_not_grow_the_table() {
        let a = Symbol::new(&"a".repeat(300));
        let b = Symbol::new(&"b".repeat(300));
        assert_eq!(a, b);
        assert_eq!(a.as_str(), "(other)");
    }
}
