//! `cargo xtask words`: counts the words of the hand-written documents.

use std::fs;
use std::path::{Path, PathBuf};

use crate::run::root;

/// Maximum number of words in README.md.
const README: usize = 900;
/// Maximum number of words in all documents.
const ALL: usize = 15_000;

/// The start of a generated part of a document.
const GENERATED: &str = "<!-- generated:";
/// The end of a generated part.
const END: &str = "<!-- end -->";

/// The documents, as paths relative to the workspace's root: those in the root and in `docs`, and the conclusions in
/// `validation/results`.
pub fn documents(root: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = vec![PathBuf::from("validation/results/README.md")];
    for folder in ["", "docs"] {
        let path = root.join(folder);
        let entries =
            fs::read_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        found.extend(
            names
                .filter(|name| name.ends_with(".md"))
                .map(|name| Path::new(folder).join(name)),
        );
    }
    found.sort();
    Ok(found)
}

/// The words of `text`, except generated parts. A word contains a letter or a digit.
pub fn words(text: &str) -> usize {
    let mut generated = false;
    let mut count = 0;
    for line in text.lines() {
        if line.starts_with(GENERATED) {
            generated = true;
        } else if line.starts_with(END) {
            generated = false;
        } else if !generated {
            let words = line.split_whitespace();
            count += words
                .filter(|word| word.contains(char::is_alphanumeric))
                .count();
        }
    }
    count
}

/// Prints the number of words of each document. Returns an error if a limit is exceeded.
pub(crate) fn print() -> Result<(), String> {
    let root = root();
    let mut sum = 0;
    let mut readme = 0;
    for path in documents(&root)? {
        let text = fs::read_to_string(root.join(&path))
            .map_err(|error| format!("{}: {error}", path.display()))?;
        let count = words(&text);
        println!("{count:>7}  {}", path.display());
        sum += count;
        if path == Path::new("README.md") {
            readme = count;
        }
    }
    println!("{sum:>7}  in all, of {ALL}; README.md of {README}");
    match readme > README || sum > ALL {
        true => Err(format!(
            "README.md has {readme} of {README} words, all documents {sum} of {ALL}: shorten them"
        )),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{print, words};

    #[test]
    fn generated_parts_and_table_rules_are_not_counted() {
        let text = "# A title\n| a | b |\n|---|---|\n<!-- generated: options -->\nmuch more\n<!-- end -->\nend\n";
        assert_eq!(words(text), 5);
    }

    #[test]
    fn documents_are_within_their_word_limits() {
        print().unwrap();
    }
}
