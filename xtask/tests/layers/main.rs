//! The house holds (docs/ARCHITECTURE.md): crates import downwards only, and neither the files of
//! a crate nor its folders import each other in circles. Read from the sources' `use` lines and
//! the paths that begin with `crate::`; what is for tests alone does not count.

#![allow(
    clippy::expect_used,
    reason = "a test that cannot go on says why and fails"
)]

mod circles;
mod sources;

use std::collections::BTreeSet;
use std::path::Path;

use sources::Crate;

/// The crates of the product, with their layers: a crate imports those of lower layers.
const CRATES: [(&str, &str, u8); 11] = [
    ("protocol", "x11prof_protocol", 1),
    ("trace", "x11prof_trace", 1),
    ("session", "x11prof_session", 2),
    ("cost-model", "x11prof_cost_model", 3),
    ("server-model", "x11prof_server_model", 4),
    ("proxy", "x11prof_proxy", 5),
    ("xmeasure", "x11prof_xmeasure", 5),
    ("analyzer", "x11prof_analyzer", 5),
    ("collection", "x11prof_collection", 6),
    ("views", "x11prof_views", 7),
    (".", "x11prof", 8),
];

/// A circle that is known and still to be broken: a crate, and the files or folders in it.
type Known = (&'static str, &'static [&'static str]);
const KNOWN_FILES: [Known; 0] = [];
const KNOWN_FOLDERS: [Known; 0] = [];

fn read(folder: &str) -> Crate {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    Crate::read(&root.join(folder).join("src"))
}

#[test]
fn crates_import_downwards() {
    let mut upwards = Vec::new();
    for (folder, name, layer) in CRATES {
        for (file, imported) in read(folder).crates() {
            let of = CRATES.iter().find(|(_, known, _)| *known == imported);
            if let Some((_, _, other)) = of
                && *other >= layer
                && imported != name
            {
                upwards.push(format!("{folder}/src/{file} imports {imported}"));
            }
        }
    }
    assert!(upwards.is_empty(), "upwards:\n{}", upwards.join("\n"));
}

#[test]
fn files_make_no_circles() {
    check(&KNOWN_FILES, |one| one.imports().clone());
}

#[test]
fn folders_make_no_circles() {
    check(&KNOWN_FOLDERS, Crate::folder_imports);
}

/// Fails where there are circles that are not known, and where a known one has become smaller or is gone.
fn check(known: &[Known], imports: impl Fn(&Crate) -> circles::Imports) {
    let of_crate = |folder: &'static str| {
        let circles = circles::circles(&imports(&read(folder)));
        let line = move |circle: Vec<String>| format!("{folder}: {}", circle.join(" "));
        circles.into_iter().map(line).collect::<Vec<_>>()
    };
    let found: BTreeSet<String> = CRATES.iter().flat_map(|of| of_crate(of.0)).collect();
    let known = known.iter();
    let known = known.map(|(folder, files)| format!("{folder}: {}", files.join(" ")));
    let known: BTreeSet<String> = known.collect();
    let list = |some: Vec<&String>| {
        some.into_iter()
            .fold(String::new(), |all, one| all + "\n" + one)
    };
    let new = list(found.difference(&known).collect());
    assert!(new.is_empty(), "circles:{new}");
    let gone = list(known.difference(&found).collect());
    assert!(
        gone.is_empty(),
        "no circles any more; take them off the list:{gone}"
    );
}
