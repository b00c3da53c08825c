//! Input: text, parsed as control records, parameters, budgets, sessions to drive, known issues and names.
#![no_main]

use x11prof_analyzer::Budget;
use x11prof_collection::Known;
use x11prof_cost_model::{Network, ServerParameters, Substitutions};
use x11prof_drive::Session;
use x11prof_trace::Control;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(control) = serde_json::from_slice::<Control>(bytes) {
        let again = serde_json::to_vec(&control).expect("a record is JSON");
        let again: Control = serde_json::from_slice(&again).expect("its JSON is read");
        assert_eq!(again, control);
    }
    let Ok(text) = str::from_utf8(bytes) else {
        return;
    };
    if let Ok(parameters) = ServerParameters::from_toml(text) {
        ServerParameters::from_toml(&parameters.to_toml()).expect("its own text is read");
    }
    if let Ok(session) = text.parse::<Session>() {
        session
            .to_string()
            .parse::<Session>()
            .expect("its own text is read");
    }
    let map = x11prof_stacks::fuzzing::PerfMap::parse(text);
    let name = map.name(bytes.len() as u64);
    assert!(name.is_none_or(|name| text.contains(name)));
    drop(Substitutions::parse(text));
    drop(Network::parse(text));
    drop(Budget::parse(text));
    drop(Known::parse(text));
    drop(x11prof_proxy::DisplayName::parse(text));
});
