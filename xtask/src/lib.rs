//! `cargo xtask …`: the project's tasks. They install and run the programs that tests and the demo need. The crate
//! depends on no crate of the product, so that each task starts immediately.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool"
)]

mod calibrate;
mod demo;
mod docs;
mod instructions;
mod lint;
mod package;
pub mod packages;
mod pictures;
mod release;
mod results;
pub mod run;
mod size;
pub mod stages;
mod test;
pub mod words;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask TASK

Develop
  test    install missing programs and run every test, unit and end to end
  lint    lint and document all crates, compiled for the static program of the packages
  demo    install missing programs, build, calibrate a private Xvfb briefly, record xterm in it, and print the profile
  size    lines of code, tests and comments by crate; fails if the product grew by more than 1,500 lines since
          the number in xtask/src/size.rs
  words   words of each document; fails over 900 in README.md or 15,000 in all
  docs    update the generated parts of docs/REFERENCE.md, and the outputs in README.md and docs/GUIDE.md that come
          from recordings
  pictures [gallery]  make docs/pictures; gallery: record five programs and make their pages in docs/gallery

Measure (the output is kept in validation/results)
  bench   proxy [ROUNDS] [TEST…]: programs direct, through x11prof and through other relays
          analyze: requests per second of each stage; --check compares instructions per request with the kept
          numbers, --write keeps them
          stacks, timed, growth N: cost of stacks, cost of handler times, growth of the analyses
  validate  ablate: the value of each term of the cost model
          attach, guest, ring [SECONDS]: attached recordings: cost, faults, a ring on a busy desktop
          calibration [KIND…|between|x11perf]: duration and repeatability, sizes between, x11perf's rates
          carried [PROGRAM…], replay: forecasts and replays for other servers, with the kernel clock as the reference
          coverage: programs of many kinds, decoded, compared with tshark
          division, timed [KIND]: server time by request, with timed handlers as the reference
          episodes [toolkits|screen|programs|idle], drive: latencies, with toolkits and the screen as the reference
          programs, suites: large programs and other projects' test suites, directly and through the recorder
          nesting, issues, diff, diverge, network, killed, exports, page, memory, resources, figures, audit: see their files
  calibrate [KIND…]  measure private servers of all kinds (or these) here, on an idle machine, and write the parameter
          files that come with the program

Release
  package [twice|try|aarch64]  make target/package from a clean tree: a static program as a .deb and a tarball,
          checksums and a bill of materials; twice: compare with a second build; try: install the .deb in a fresh Debian
          (as root); aarch64: check that the program compiles for that processor
  release check that versions, changelog and documents agree, build the packages, and try the publication; tags
          and publishes nothing
";

/// Runs the task that the first of `arguments` names.
pub fn task(arguments: &[String]) -> ExitCode {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.first().copied() {
        Some("demo") => demo::demo(),
        // Counts instructions of programs that are built for release, and so needs no validation program.
        Some("bench") if matches!(words[1..], ["analyze", "--check" | "--write"]) => {
            instructions::check(words[2] == "--write")
        }
        Some("bench" | "validate") => results::keep(&mut cargo_validation(arguments), arguments),
        Some("docs") => docs::docs(),
        Some("lint") => lint::lint(),
        Some("calibrate") => calibrate::calibrate(&arguments[1..]),
        Some("package") => package::package(&arguments[1..]),
        Some("pictures") => pictures::pictures(&arguments[1..]),
        Some("release") => release::release(),
        Some("size") => size::size(),
        Some("test") => test::test(&arguments[1..]),
        Some("words") => words::print(),
        Some("help" | "--help" | "-h") => {
            print!("{USAGE}");
            Ok(())
        }
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The cargo command that runs validations and benchmarks (crate `validation`), built for release.
fn cargo_validation(arguments: &[String]) -> std::process::Command {
    let mut cargo = run::cargo();
    cargo.args(["run", "--quiet", "--locked", "--release"]);
    cargo.args(["--package", "x11prof-validation", "--"]);
    cargo.args(arguments);
    cargo
}
