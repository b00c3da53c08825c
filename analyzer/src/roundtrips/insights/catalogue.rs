//! Requests that are inherently slow, from `catalogue.toml`.

use std::sync::OnceLock;

use serde::Deserialize;

/// A request in the catalogue, which is slow on some servers.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Slow {
    pub(super) name: String,
    /// The reason why the request is slow, as a part of a sentence.
    pub(super) because: String,
    /// What to do instead of sending the request.
    pub(super) instead: String,
    /// The documents that support the entry.
    pub(super) sources: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
struct Catalogue {
    request: Vec<Slow>,
}

/// The catalogue's entry for the request with this name; `None` if there is none.
pub(super) fn slow(name: &str) -> Option<&'static Slow> {
    static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();
    // A test parses the catalogue, so the embedded version is valid.
    let all = CATALOGUE.get_or_init(|| toml::from_str(TEXT).unwrap_or_default());
    all.request.iter().find(|one| one.name == name)
}

const TEXT: &str = include_str!("catalogue.toml");

#[cfg(test)]
mod tests {
    use super::{Catalogue, TEXT};

    #[test]
    fn every_entry_has_a_source() {
        let all: Catalogue = toml::from_str(TEXT).unwrap();
        assert!(all.request.len() >= 4);
        for one in &all.request {
            assert!(
                one.sources.iter().all(|url| url.starts_with("https://")),
                "{one:?}"
            );
            assert!(!one.sources.is_empty(), "{one:?}");
        }
    }
}
