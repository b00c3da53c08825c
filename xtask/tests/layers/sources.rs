//! The sources of a crate: its files as modules, with their imports.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::circles::Imports;

/// A module's path within its crate: `["windows", "tree"]`.
type Module = Vec<String>;

struct File {
    /// The path under `src`.
    name: String,
    /// The used paths, except re-exports.
    uses: Vec<Module>,
    /// Re-exports: the modules by the names under which others see them.
    shows: BTreeMap<String, Module>,
}

/// A crate's files by their modules.
pub(crate) struct Crate {
    files: BTreeMap<Module, File>,
    imports: Imports,
}

impl Crate {
    /// Reads the sources in a folder.
    pub(crate) fn read(folder: &Path) -> Crate {
        let mut paths = Vec::new();
        collect(folder, &mut paths);
        let mut texts = BTreeMap::new();
        for path in paths {
            let name = path.strip_prefix(folder).expect("it is in the folder");
            let text = fs::read_to_string(&path).expect("a readable source");
            texts.insert(name.display().to_string(), text);
        }
        Crate::of(texts)
    }

    fn of(texts: BTreeMap<String, String>) -> Crate {
        let mut tests = BTreeSet::new();
        for (name, text) in &texts {
            for test in test_modules(text) {
                let mut module = module_of(name);
                module.push(test.to_owned());
                tests.insert(module);
            }
        }
        let modules = texts
            .iter()
            .map(|(name, text)| (module_of(name), name, text));
        let kept =
            modules.filter(|(module, ..)| !tests.iter().any(|test| module.starts_with(test)));
        let files = kept.map(|(module, name, text)| {
            let file = read_file(name, &module, text);
            (module, file)
        });
        let mut read = Crate {
            files: files.collect(),
            imports: Imports::new(),
        };
        for (module, file) in &read.files {
            let used = file.uses.iter().filter_map(|path| read.file_of(path, 0));
            let others = used.filter(|other| *other != module);
            let names = others.map(|other| read.files[other].name.clone());
            read.imports.insert(file.name.clone(), names.collect());
        }
        read
    }

    /// The imports of each file within this crate.
    pub(crate) fn imports(&self) -> &Imports {
        &self.imports
    }

    /// Imports between the folders right under `src`. A file belongs to the folder of its name; other files
    /// right under `src` are left out.
    pub(crate) fn folder_imports(&self) -> Imports {
        let folders = self.imports.keys().filter_map(|file| file.split_once('/'));
        let folders: BTreeSet<&str> = folders.map(|(folder, _)| folder).collect();
        let folder = |file: &String| {
            let first = file.split('/').next().unwrap_or_default();
            let name = first.trim_end_matches(".rs");
            folders.contains(name).then(|| name.to_owned())
        };
        let mut all = Imports::new();
        for (file, imported) in &self.imports {
            if let Some(from) = folder(file) {
                let others = imported.iter().filter_map(folder);
                let others = others.filter(|other| *other != from).collect::<Vec<_>>();
                all.entry(from).or_default().extend(others);
            }
        }
        all
    }

    /// The crates of this workspace that each file imports.
    pub(crate) fn crates(&self) -> Vec<(String, String)> {
        let of_file = |file: &File| {
            let first = file.uses.iter().chain(file.shows.values());
            let ours = first.filter_map(|path| path.first());
            let ours = ours.filter(|name| name.starts_with("x11prof"));
            ours.map(|name| (file.name.clone(), name.clone()))
                .collect::<Vec<_>>()
        };
        self.files.values().flat_map(of_file).collect()
    }

    /// The file that defines the item at `path`; `None` if it is in another crate.
    fn file_of(&self, path: &[String], depth: u8) -> Option<&Module> {
        let path = path.strip_prefix(&["crate".to_owned()])?;
        let longest = (0..=path.len()).rev();
        let (module, file) = longest
            .filter_map(|len| self.files.get_key_value(&path[..len]))
            .next()?;
        let name = path.get(module.len());
        match name.and_then(|name| file.shows.get(name)) {
            Some(shown) if depth < 8 => self.file_of(shown, depth + 1),
            _ => Some(module),
        }
    }
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            collect(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            paths.push(path);
        }
    }
}

fn module_of(name: &str) -> Module {
    let name = name.trim_end_matches(".rs");
    let parts = name.split('/').map(str::to_owned);
    let mut parts: Module = parts.collect();
    if matches!(
        parts.last().map(String::as_str),
        Some("mod" | "lib" | "main")
    ) {
        parts.pop();
    }
    parts
}

/// The modules in separate files that are only for tests.
fn test_modules(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().zip(text.lines().skip(1));
    lines.filter_map(|(before, line)| {
        let test = before.trim() == "#[cfg(test)]";
        let line = line.trim().trim_start_matches("pub(crate) ");
        let name = line.strip_prefix("mod ")?.strip_suffix(';')?;
        test.then_some(name)
    })
}

fn read_file(name: &str, module: &[String], text: &str) -> File {
    let text = code(text);
    let mut file = File {
        name: name.to_owned(),
        uses: Vec::new(),
        shows: BTreeMap::new(),
    };
    let children: BTreeSet<&str> = text
        .split(';')
        .filter_map(|statement| statement.rsplit_once("mod ").map(|(_, name)| name))
        .filter(|name| !name.contains(char::is_whitespace))
        .collect();
    let absolute = |path: &str| absolute(path, module, &children);
    for statement in text.split_inclusive(';') {
        let line = statement.rsplit('\n').rev();
        let statement: String = line.collect::<Vec<_>>().join(" ");
        let Some((public, tree)) = use_tree(&statement) else {
            continue;
        };
        for (path, shown) in expand(tree) {
            let path = absolute(&path);
            let own = path.get(1..).is_some_and(|path| path.starts_with(module));
            if public && own {
                file.shows.insert(shown, path);
            } else {
                file.uses.push(path);
            }
        }
    }
    // Paths in the code itself.
    for start in ["crate::", "super::"] {
        for (at, _) in text.match_indices(start) {
            let rest = &text[at..];
            let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
            let path = rest[..end.unwrap_or(rest.len())].trim_end_matches(':');
            let before = text[..at].chars().next_back();
            if !before.is_some_and(|c| c == ':' || c == '_' || c.is_alphanumeric()) {
                file.uses.push(absolute(path));
            }
        }
    }
    file
}

/// The text without comments and without the tests at its end.
fn code(text: &str) -> String {
    let text = text
        .split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or(text);
    let lines = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// The path of a `use` statement, and true if it is public.
fn use_tree(statement: &str) -> Option<(bool, &str)> {
    let at = statement.rfind("use ")?;
    let before = statement[..at].trim_end();
    let before = before
        .rsplit(['}', ']', ';'])
        .next()
        .unwrap_or(before)
        .trim();
    let public = before.starts_with("pub");
    let alone = before.is_empty() || public;
    let tree = statement[at + 4..].trim().trim_end_matches(';');
    alone.then_some((public, tree))
}

/// The single paths in `a::{b, c::d as e}`, with the names that they get.
fn expand(tree: &str) -> Vec<(String, String)> {
    let tree = tree.trim();
    let Some((prefix, inner)) = tree.split_once('{') else {
        let (path, renamed) = tree.split_once(" as ").unwrap_or((tree, ""));
        let path = path.trim().trim_end_matches("::self").to_owned();
        let last = path.rsplit("::").next().unwrap_or_default().to_owned();
        let shown = if renamed.is_empty() {
            last
        } else {
            renamed.trim().to_owned()
        };
        return if path.is_empty() {
            Vec::new()
        } else {
            vec![(path, shown)]
        };
    };
    let inner = inner.rsplit_once('}').map_or(inner, |(inner, _)| inner);
    let (mut parts, mut depth, mut from) = (Vec::new(), 0, 0);
    for (at, c) in inner.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&inner[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inner[from..]);
    let parts = parts.into_iter().filter(|part| !part.trim().is_empty());
    let whole = |part: &str| match part.trim() {
        "self" => prefix.trim_end_matches("::").to_owned(),
        part => format!("{prefix}{part}"),
    };
    parts.flat_map(|part| expand(&whole(part))).collect()
}

/// A path from the root of its crate, which is `crate`, or that of another crate.
fn absolute(path: &str, module: &[String], children: &BTreeSet<&str>) -> Module {
    let mut parts: Module = path
        .split("::")
        .map(|part| part.trim().to_owned())
        .collect();
    let mut base = module.to_vec();
    match parts.first().map(String::as_str) {
        Some("crate") => return parts,
        Some("self") => {
            parts.remove(0);
        }
        Some("super") => {
            while parts.first().is_some_and(|part| part == "super") {
                parts.remove(0);
                base.pop();
            }
        }
        Some(child) if children.contains(child) => {}
        _ => return parts,
    }
    let start = std::iter::once("crate".to_owned());
    start.chain(base).chain(parts).collect()
}

#[test]
fn imports_are_resolved_through_reexports() {
    let files = [
        (
            "lib.rs",
            "mod a;\nmod b;\n#[cfg(test)]\nmod c;\npub use a::deep::{One, Two as Other};\n",
        ),
        ("a/mod.rs", "pub(crate) mod deep;\n"),
        (
            "a/deep.rs",
            "use crate::b::{self, X};\n// use crate::c::Y;\npub fn f() {}\n",
        ),
        (
            "b.rs",
            "use std::io;\nuse crate::Other;\n\n#[cfg(test)]\nmod tests {\n use crate::c;\n}\n",
        ),
        ("c.rs", "use crate::b;\nuse x11prof_views::V;\n"),
    ];
    let texts = files.map(|(name, text)| (name.to_owned(), text.to_owned()));
    let read = Crate::of(texts.into_iter().collect());
    let imports = |file: &str| read.imports()[file].iter().cloned().collect::<Vec<_>>();
    assert_eq!(imports("a/deep.rs"), ["b.rs"]);
    assert_eq!(imports("b.rs"), ["a/deep.rs"]);
    assert_eq!(imports("lib.rs"), Vec::<String>::new());
    assert!(read.folder_imports()["a"].is_empty());
    assert_eq!(read.crates(), []);
}
