//! The house holds (docs/ARCHITECTURE.md): crates import downwards only, and neither the files of
//! a crate nor its folders import each other in circles. Read from the sources' `use` lines and
//! the paths that begin with `crate::`; what is for tests alone does not count.

mod circles;
mod sources;

use std::path::Path;

use sources::Crate;

/// The crates of the product, with their layers: a crate imports those of lower layers.
const CRATES: [(&str, &str, u8); 10] = [
    ("protocol", "x11prof_protocol", 1),
    ("trace", "x11prof_trace", 1),
    ("session", "x11prof_session", 2),
    ("cost-model", "x11prof_cost_model", 3),
    ("server-model", "x11prof_server_model", 4),
    ("proxy", "x11prof_proxy", 5),
    ("xmeasure", "x11prof_xmeasure", 5),
    ("analyzer", "x11prof_analyzer", 5),
    ("views", "x11prof_views", 6),
    (".", "x11prof", 7),
];

/// Circles that are known and still to be broken: a crate, and the files or folders of one of its
/// circles. No others may come, and these may only become smaller.
const KNOWN_FILES: [(&str, &[&str]); 9] = [
    ("analyzer", &["episodes/episode.rs", "episodes/tree.rs"]),
    ("analyzer", &["episodes/further.rs", "episodes/report.rs"]),
    (
        "analyzer",
        &["profile/carrying.rs", "profile/mod.rs", "profile/sums.rs"],
    ),
    ("analyzer", &["profile/partition.rs", "profile/report.rs"]),
    ("analyzer", &["roundtrips/mod.rs", "roundtrips/places.rs"]),
    ("analyzer", &["profile/copies.rs", "profile/groups.rs"]),
    (
        "views",
        &[
            "comparison/text.rs",
            "profile/text.rs",
            "profile/verdict.rs",
        ],
    ),
    ("views", &["page.rs", "table.rs"]),
    (".", &["pass.rs", "span.rs"]),
];
const KNOWN_FOLDERS: [(&str, &[&str]); 1] = [("views", &["comparison", "profile"])];

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

/// Fails where there are circles that are not known.
fn check(known: &[(&str, &[&str])], imports: impl Fn(&Crate) -> circles::Imports) {
    let mut new = Vec::new();
    for (folder, _, _) in CRATES {
        for circle in circles::circles(&imports(&read(folder))) {
            let is_part = |(of, files): &(&str, &[&str])| {
                *of == folder && circle.iter().all(|file| files.contains(&file.as_str()))
            };
            if !known.iter().any(is_part) {
                new.push(format!("{folder}: {}", circle.join(" ")));
            }
        }
    }
    assert!(new.is_empty(), "circles:\n{}", new.join("\n"));
}
