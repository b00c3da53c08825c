//! The bill of materials (CycloneDX): the libraries in the program, with licences and checksums.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use super::{Package, TARGET, files};
use crate::run::{cargo, output};

/// A library that is linked into the program.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Library {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) licence: String,
}

/// The third-party libraries, by name.
pub(super) fn libraries(package: &Package) -> Result<BTreeSet<Library>, String> {
    let tree = output(
        cargo()
            .args(["tree", "--locked", "--target", TARGET, "--edges", "normal"])
            .args(["--prefix", "none", "--format", "{p}|{l}"])
            .current_dir(&package.tree),
    )?;
    Ok(tree.lines().filter_map(library).collect())
}

/// The library in a line such as `itoa v1.0.18|MIT OR Apache-2.0`; `None` for our own crates, which have a path.
fn library(line: &str) -> Option<Library> {
    let (name, licence) = line.split_once('|')?;
    let mut words = name.split(' ');
    let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
    // `(*)` marks a repeated line, `(proc-macro)` a library that only runs while building.
    let rest = words.next();
    if rest.is_some_and(|word| word != "(*)") || name.starts_with("x11prof") {
        return None;
    }
    Some(Library {
        name: name.to_owned(),
        version: version.to_owned(),
        licence: licence.trim_end_matches(" (*)").replace('/', " OR "),
    })
}

/// Writes the bill of materials and returns its file name.
pub(super) fn bill(package: &Package) -> Result<String, String> {
    let lock = files::read(&package.tree.join("Cargo.lock"))?;
    let checksums = checksums(&lock);
    let when = format!("@{}", package.epoch);
    let when = output(Command::new("date").args(["-u", "-d", &when, "+%Y-%m-%dT%H:%M:%SZ"]))?;
    let components: Vec<String> = libraries(package)?
        .iter()
        .map(|Library { name, version, licence }| {
            let hash = checksums.get(&(name.as_str(), version.as_str())).copied().unwrap_or_default();
            format!(
                "    {{ \"type\": \"library\", \"name\": \"{name}\", \"version\": \"{version}\", \
                 \"purl\": \"pkg:cargo/{name}@{version}\", \"licenses\": [{{ \"expression\": \"{licence}\" }}], \
                 \"hashes\": [{{ \"alg\": \"SHA-256\", \"content\": \"{hash}\" }}] }}"
            )
        })
        .collect();
    let text = format!(
        "{{\n  \"bomFormat\": \"CycloneDX\",\n  \"specVersion\": \"1.5\",\n  \"version\": 1,\n  \"metadata\": {{\n    \
         \"timestamp\": \"{when}\",\n    \"component\": {{ \"type\": \"application\", \"name\": \"x11prof\", \
         \"version\": \"{}\", \"licenses\": [{{ \"expression\": \"MIT OR Apache-2.0\" }}] }}\n  }},\n  \
         \"components\": [\n{}\n  ]\n}}\n",
        package.version,
        components.join(",\n")
    );
    let name = format!("x11prof-{}.cdx.json", package.version);
    files::write(&package.out.join(&name), text.as_bytes(), 0o644)?;
    Ok(name)
}

/// The checksums in a lock file, by name and version.
fn checksums(lock: &str) -> BTreeMap<(&str, &str), &str> {
    let mut found = BTreeMap::new();
    for package in lock.split("[[package]]") {
        let value = |key: &str| {
            let mut lines = package.lines();
            let line = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
            line.map(|text| text.trim_matches('"'))
        };
        if let (Some(name), Some(version), Some(sum)) =
            (value("name"), value("version"), value("checksum"))
        {
            found.insert((name, version), sum);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{checksums, library};

    #[test]
    fn workspace_crates_and_proc_macros_are_not_materials() {
        let itoa = library("itoa v1.0.18|MIT/Apache-2.0 (*)").unwrap();
        assert_eq!(
            (itoa.name.as_str(), itoa.version.as_str()),
            ("itoa", "1.0.18")
        );
        assert_eq!(itoa.licence, "MIT OR Apache-2.0");
        for line in [
            "x11prof-trace v0.1.0 (/a/trace)|MIT",
            "paste v1.0.15 (proc-macro)|MIT",
        ] {
            assert_eq!(library(line), None, "{line}");
        }
    }

    #[test]
    fn checksums_come_from_the_lock_file() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.2\"\nchecksum = \"ff\"\n\n[[package]]\nname = \"ours\"\nversion = \"0.1\"\n";
        let found = checksums(lock);
        assert_eq!(found.get(&("a", "1.2")), Some(&"ff"));
        assert_eq!(found.len(), 1);
    }
}
