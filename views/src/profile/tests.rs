//! The text of the reports whose JSON the analyzer's own tests hold fast.

use serde::de::DeserializeOwned;
use x11prof_analyzer::{Comparison, ProfileReport};

use crate::Page;

/// The JSON in a snapshot, below its head.
fn of_snapshot<T: DeserializeOwned>(snapshot: &str) -> T {
    let json = &snapshot[snapshot.find("\n{").unwrap()..];
    serde_json::from_str(json).unwrap()
}

#[test]
fn a_profile_keeps_its_text() {
    let report: ProfileReport = of_snapshot(include_str!(
        "../../../analyzer/src/profile/snapshots/x11prof_analyzer__profile__tests__small_json.snap"
    ));
    insta::assert_snapshot!("small_text", super::text(&report, &Page::default().whole()));
}

#[test]
fn a_comparison_keeps_its_text() {
    let comparison: Comparison = of_snapshot(include_str!(
        "../../../analyzer/src/profile/snapshots/x11prof_analyzer__profile__tests__comparison_json.snap"
    ));
    insta::assert_snapshot!(
        "comparison_text",
        crate::comparison::text(&comparison, &Page::default())
    );
}
