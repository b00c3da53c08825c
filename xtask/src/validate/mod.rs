//! `cargo xtask validate …`: checks of the results against truths that we did not make, too long
//! for a test.

mod accuracy;
mod coverage;
mod episodes;
mod long_trace;
mod measure;
mod memory;
mod rates;
mod resources;

/// Runs the validation that `arguments` names.
pub(crate) fn validate(arguments: &[String]) -> Result<(), String> {
    match arguments.first().map(String::as_str) {
        Some("accuracy") => accuracy::validate(&arguments[1..]),
        Some("coverage") => coverage::validate(),
        Some("episodes") => episodes::validate(&arguments[1..]),
        Some("measure") => measure::validate(&arguments[1..]),
        Some("memory") => memory::validate(&arguments[1..]),
        Some("resources") => resources::validate(),
        _ => Err(
            "usage: cargo xtask validate accuracy [ROUNDS] [more|again|runs] [SERVER…] [WORKLOAD…]\n       \
             cargo xtask validate coverage\n       \
             cargo xtask validate episodes [truth [BENCHMARK…]|toolkits [TOOLKIT…]|idle|screen]\n       \
             cargo xtask validate measure [quick|FILE] [again|between|x11perf]\n       \
             cargo xtask validate memory [MB [WORD…]]\n       \
             cargo xtask validate resources"
                .to_owned(),
        ),
    }
}
