//! Patterns with `*` and `?`, as in names of fonts.

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
