//! Converts the names of symbols to the names in the source code.

use std::borrow::Cow;
use std::fmt::{self, Write};

use cpp_demangle::{DemangleOptions, Symbol};

/// The beginnings of mangled names of C++ and Rust. Without one, the library would read the C function `g` as the type
/// `__float128`.
const PREFIXES: [&str; 3] = ["_Z", "__Z", "_R"];
/// The maximum length of a mangled name, and of the name in the source code, in bytes. A short mangled name can stand
/// for a name of gigabytes.
const LONGEST: (usize, usize) = (1 << 12, 1 << 16);

/// A name in the source code, up to the maximum length.
#[derive(Default)]
struct Demangled(String);

impl Write for Demangled {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        match self.0.len() + part.len() > LONGEST.1 {
            true => Err(fmt::Error),
            false => self.0.write_str(part),
        }
    }
}

/// The name in the source code of the function with this symbol, or the unchanged symbol if it is not mangled or too
/// long.
pub(crate) fn demangle(symbol: &str) -> Cow<'_, str> {
    let is_mangled = PREFIXES.iter().any(|prefix| symbol.starts_with(prefix));
    if !is_mangled || symbol.len() > LONGEST.0 {
        return Cow::Borrowed(symbol);
    }
    let mut name = Demangled::default();
    let written = match rustc_demangle::try_demangle(symbol) {
        Ok(rust) => write!(name, "{rust:#}"),
        Err(_) => Symbol::new(symbol)
            .map_err(|_| fmt::Error)
            .and_then(|cpp| cpp.structured_demangle(&mut name, &DemangleOptions::default())),
    };
    written.map_or(Cow::Borrowed(symbol), |()| Cow::Owned(name.0))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::demangle;

    #[test]
    fn only_mangled_names_are_demangled() {
        for (symbol, name) in [
            ("_ZN5space3fooEibc", "space::foo(int, bool, char)"),
            ("_ZN3foo3bar17h05af221e174051e9E", "foo::bar"),
            ("_RNvC6_123foo3bar", "123foo::bar"),
            ("g", "g"),
            ("i", "i"),
            ("main", "main"),
            ("_Zero", "_Zero"),
        ] {
            assert_eq!(demangle(symbol), name);
        }
    }

    #[test]
    fn names_that_grow_when_demangled_keep_their_symbol() {
        // Each template argument repeats the argument before twice.
        let doubled = (0..18).fold("_Z1f1xI1aE".to_owned(), |name, n| {
            let last = char::from_digit(2 * n + 1, 36).unwrap();
            let last = last.to_ascii_uppercase();
            format!("{name}1xIS{last}_S{last}_E")
        });
        let begun = Instant::now();
        assert_eq!(demangle(&doubled), doubled);
        let nested = format!("_Z1f{}i{}", "St4pairIi".repeat(900), "E".repeat(900));
        assert_eq!(demangle(&nested), nested);
        let pointers = format!("_Z1f{}i", "P".repeat(100_000));
        assert_eq!(demangle(&pointers), pointers);
        assert!(begun.elapsed() < Duration::from_secs(5));
    }
}
