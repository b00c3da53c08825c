//! Checks the layers in docs/ARCHITECTURE.md: crates import downwards only, and neither the files of a crate nor its
//! folders import each other in circles. The test reads `use` lines and paths that begin with `crate::`; code for
//! tests is exempt.

#![allow(
    clippy::expect_used,
    reason = "a test that cannot go on says why and fails"
)]

mod circles;
mod sources;

use std::path::Path;

use sources::Crate;

/// The crates with their layers. A crate imports only lower layers. Task runners import no product crate.
const CRATES: [(&str, &str, u8); 17] = [
    ("xtask", "xtask", 0),
    ("audit", "x11prof_audit", 0),
    ("protocol", "x11prof_protocol", 1),
    ("trace", "x11prof_trace", 1),
    ("stacks", "x11prof_stacks", 1),
    ("session", "x11prof_session", 2),
    ("drive", "x11prof_drive", 2),
    ("cost-model", "x11prof_cost_model", 3),
    ("server-model", "x11prof_server_model", 4),
    ("proxy", "x11prof_proxy", 5),
    ("xmeasure", "x11prof_xmeasure", 6),
    ("analyzer", "x11prof_analyzer", 5),
    ("replay", "x11prof_replay", 6),
    ("collection", "x11prof_collection", 6),
    ("views", "x11prof_views", 7),
    (".", "x11prof", 8),
    ("validation", "x11prof_validation", 9),
];

fn read(folder: &str) -> Crate {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    Crate::read(&root.join(folder).join("src"))
}

#[test]
fn crates_import_only_lower_layers() {
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
fn files_have_no_import_cycles() {
    check(|one| one.imports().clone());
}

#[test]
fn folders_have_no_import_cycles() {
    check(Crate::folder_imports);
}

/// Fails if there are circles.
fn check(imports: impl Fn(&Crate) -> circles::Imports) {
    let mut found = Vec::new();
    for (folder, ..) in CRATES {
        let circles = circles::circles(&imports(&read(folder)));
        found.extend(
            circles
                .iter()
                .map(|one| format!("{folder}: {}", one.join(" "))),
        );
    }
    assert!(found.is_empty(), "circles:\n{}", found.join("\n"));
}
