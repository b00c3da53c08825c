//! The table of id fields against xcb-proto's descriptions.

use std::path::Path;
use std::process::Command;

/// The folder of Debian's package xcb-proto.
const DESCRIPTIONS: &str = "/usr/share/xcb";

#[test]
fn the_id_fields_are_those_of_xcb_proto() {
    assert!(
        Path::new(DESCRIPTIONS).exists(),
        "install the package xcb-proto"
    );
    let checked = Command::new("python3")
        .args(["tests/xcb_proto.py", DESCRIPTIONS])
        .arg("src/id_fields/table.txt")
        .output()
        .unwrap();
    let differences = String::from_utf8_lossy(&checked.stdout);
    let count = String::from_utf8_lossy(&checked.stderr);
    assert_eq!(differences, "");
    let requests: u32 = count.split(' ').next().unwrap().parse().unwrap();
    assert!(requests > 500, "{count}");
}
