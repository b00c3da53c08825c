//! Patterns that a user types for names of messages (`dump`, `stats`, what-if rules) and clients.

use x11prof_trace::Opened;

/// True if `pattern` matches the whole `name`: `*` matches any characters, `?` matches one. Each `*` matches as few
/// characters as possible, and more if the rest does not match.
pub fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut at, mut in_name) = (0, 0);
    let mut star = None;
    while in_name < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, in_name));
                at += 1;
            }
            Some(&byte) if byte == b'?' || byte == name[in_name] => {
                at += 1;
                in_name += 1;
            }
            _ => {
                let Some((star_at, taken)) = star else {
                    return false;
                };
                star = Some((star_at, taken + 1));
                at = star_at + 1;
                in_name = taken + 1;
            }
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

/// True if the name contains `text`, ignoring case.
pub(crate) fn holds(name: &str, text: &str) -> bool {
    name.to_lowercase().contains(&text.to_lowercase())
}

/// True if `typed` is the number of this client, or a part of its name. A number does not match names.
pub(crate) fn means(typed: &str, opened: &Opened) -> bool {
    let name = opened.name.as_deref().unwrap_or_default();
    match typed.parse::<u32>() {
        Ok(number) => number == opened.connection.0 || name == typed,
        Err(_) => name.contains(typed),
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn wildcards_match() {
        assert!(matches("RENDER:*", "RENDER:Composite"));
        assert!(matches("*Image*", "MIT-SHM:PutImage"));
        assert!(matches("Poly?ine", "PolyLine"));
        assert!(matches("*a*b", "xaabab"));
        assert!(!matches("Poly", "PolyLine"));
        assert!(!matches("*a*b", "xaaba"));
        assert!(!matches("ab*ba", "aba"));
        assert!(!matches("MIT-SHM:*", "PutImage"));
        assert!(matches("*", ""));
        assert!(!matches("?", ""));
    }
}
