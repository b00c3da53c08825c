//! `cargo xtask size`: lines of code, of tests and of comments, by crate.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::run::root;

/// Lines of product code of the last release. If you raise the number, give the reason in CHANGELOG.md.
const ACCEPTED: usize = 93_000;
/// Growth up to this many lines needs no reason.
const LEEWAY: usize = 1500;
/// Folders whose code users do not run.
const TOOLS: [&str; 4] = ["xtask", "audit", "validation", "fuzz"];

/// Non-empty lines; a line with code and a comment counts as code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Lines {
    code: usize,
    tests: usize,
    comments: usize,
}

impl Lines {
    fn add(&mut self, other: Lines) {
        self.code += other.code;
        self.tests += other.tests;
        self.comments += other.comments;
    }
}

/// Prints the table. Returns an error if there is more product code than accepted.
pub(crate) fn size() -> Result<(), String> {
    let crates = crates(&root())?;
    println!(
        "{:<14}{:>9}{:>9}{:>9}",
        "crate", "code", "tests", "comments"
    );
    let row = |name: &str, lines: &Lines| {
        let Lines {
            code,
            tests,
            comments,
        } = lines;
        println!("{name:<14}{code:>9}{tests:>9}{comments:>9}");
    };
    let (mut product, mut all) = (Lines::default(), Lines::default());
    for (name, lines) in &crates {
        row(name, lines);
        all.add(*lines);
        if !TOOLS.contains(&name.as_str()) {
            product.add(*lines);
        }
    }
    row("product", &product);
    row("all", &all);
    accept(product.code)
}

fn accept(code: usize) -> Result<(), String> {
    match code > ACCEPTED + LEEWAY {
        true => Err(format!(
            "{code} lines of product code are over {LEEWAY} more than the {ACCEPTED} of the last release: \
             say why in CHANGELOG.md and raise ACCEPTED in xtask/src/size.rs"
        )),
        false => Ok(()),
    }
}

/// The lines of each crate, by its folder.
fn crates(root: &Path) -> Result<BTreeMap<String, Lines>, String> {
    let reported = |error: std::io::Error| format!("{}: {error}", root.display());
    let mut crates = BTreeMap::new();
    for entry in fs::read_dir(root).map_err(reported)? {
        let path = entry.map_err(reported)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.join("Cargo.toml").exists() {
            let mut lines = Lines::default();
            files(&path, false, &mut lines)?;
            crates.insert(name.into_owned(), lines);
        }
    }
    let mut program = Lines::default();
    files(&root.join("src"), false, &mut program)?;
    files(&root.join("tests"), true, &mut program)?;
    crates.insert("x11prof".to_owned(), program);
    Ok(crates)
}

/// Adds the lines of a folder and its subfolders; all of them count as tests if `tests` is true.
fn files(folder: &Path, tests: bool, sum: &mut Lines) -> Result<(), String> {
    let reported = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(reported)? {
        found.push(entry.map_err(reported)?.path());
    }
    let is_rust = |path: &Path| path.extension().is_some_and(|of| of == "rs");
    // Modules that a file of this folder, or the file next to the folder, declares for tests only.
    let mut declared = Vec::new();
    let beside = folder.with_extension("rs");
    for path in found.iter().filter(|path| is_rust(path)).chain([&beside]) {
        if let Ok(text) = fs::read_to_string(path) {
            declared.extend(test_modules(&text));
        }
    }
    for path in found {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let tests = tests
            || declared.iter().any(|name| *name == stem)
            || stem == "tests"
            || stem == "examples";
        if path.is_dir() && stem != "target" {
            files(&path, tests, sum)?;
        } else if is_rust(&path) {
            sum.add(count(&fs::read_to_string(&path).map_err(reported)?, tests));
        }
    }
    Ok(())
}

/// The attributes of code that is compiled only for tests, in this crate or a crate above.
const TESTS_ALONE: [&str; 2] = [
    "#[cfg(test)]",
    r##"#[cfg(any(test, feature = "testing"))]"##,
];

/// The modules in separate files that a file declares for tests only.
fn test_modules(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let declared = lines.windows(2).filter_map(|two| {
        let [attribute, module] = two else {
            return None;
        };
        let name = module.strip_suffix(';')?.split_once("mod ")?.1;
        TESTS_ALONE.contains(attribute).then(|| name.to_owned())
    });
    declared.collect()
}

/// The lines of a file, as rustfmt lays it out.
fn count(text: &str, tests: bool) -> Lines {
    let mut lines = Lines::default();
    // The prefix of the line that ends the current test-only item.
    let mut ends: Option<String> = None;
    let mut attributed = None;
    for line in text.lines() {
        let bare = line.trim();
        let indent = &line[..line.len() - line.trim_start().len()];
        if TESTS_ALONE.contains(&bare) {
            attributed = Some(format!("{indent}}}"));
        } else if let Some(end) = attributed.take() {
            if bare.starts_with("#[") || bare.starts_with("//") {
                attributed = Some(end);
            } else if !bare.ends_with(';') {
                ends = Some(end);
            }
            lines.tests += 1;
            continue;
        }
        let for_tests = tests || ends.is_some() || attributed.is_some();
        if ends.as_ref().is_some_and(|end| line.starts_with(end)) {
            ends = None;
        }
        match bare {
            "" => {}
            _ if bare.starts_with("//") => lines.comments += 1,
            _ if for_tests => lines.tests += 1,
            _ => lines.code += 1,
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::{accept, count, crates, test_modules};
    use crate::run::root;

    #[test]
    fn code_tests_and_comments_are_distinguished() {
        let text = "//! A file.\n\nuse a::b;\n\n#[cfg(test)]\nmod one;\n\nfn f() {\n    g();\n}\n\n\
                    #[cfg(test)]\nmod tests {\n    // Why.\n    fn t() {\n    }\n}\nfn h() {}\n";
        let lines = count(text, false);
        assert_eq!((lines.code, lines.tests, lines.comments), (5, 7, 2));
        assert_eq!(count(text, true).code, 0);
        assert_eq!(test_modules(text), ["one"]);
    }

    #[test]
    fn product_size_is_accepted() {
        let crates = crates(&root()).unwrap();
        let product = crates
            .iter()
            .filter(|(name, _)| !super::TOOLS.contains(&name.as_str()));
        let code: usize = product.map(|(_, lines)| lines.code).sum();
        assert!(code > 10_000, "{code}");
        accept(code).unwrap();
    }
}
