//! The tables of id fields, of layouts and of BOOLs compared with xcb-proto's descriptions.

use std::path::Path;
use std::process::Command;

/// The folder of Debian's package xcb-proto.
const DESCRIPTIONS: &str = "/usr/share/xcb";

#[test]
fn id_fields_layouts_and_bools_match_xcb_proto() {
    assert!(
        Path::new(DESCRIPTIONS).exists(),
        "install the package xcb-proto"
    );
    let checked = Command::new("python3")
        .args(["tests/xcb_proto.py", DESCRIPTIONS])
        .args(["src/id_fields/table.txt", "src/swap/extension_layouts.txt"])
        .arg("src/fields/bools.txt")
        .output()
        .unwrap();
    let differences = String::from_utf8_lossy(&checked.stdout);
    assert_eq!(differences, "");
    let counts = String::from_utf8_lossy(&checked.stderr);
    let mut counts = counts.lines().map(|line| line.split_once(' ').unwrap());
    let mut count = |of: &str| -> u32 {
        let (number, name) = counts.next().unwrap();
        assert_eq!(name, of);
        number.parse().unwrap()
    };
    assert!(count("requests") > 500 && count("layouts") > 700 && count("bools") > 30);
}
