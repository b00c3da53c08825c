//! `cargo xtask …`: the project's own tasks. It knows how to install what the tests and the demo
//! need and how to run them; it depends on no crate of the product, so that each task starts at once.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool"
)]

mod calibrate;
mod demo;
mod docs;
mod package;
pub mod packages;
mod pictures;
mod release;
mod results;
pub mod run;
mod size;
mod test;
pub mod words;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask TASK

  demo    install what is missing, build, calibrate a private Xvfb briefly, record xterm listing a
          directory tree in it, and print the execution profile of that recording
  bench   proxy [ROUNDS]: x11perf direct, through x11prof, and through other relays, side by side;
          analyze: requests per second of each stage of the analysis, beside tshark and xtrace; with --check its
          instructions a request, against those kept, with --write to keep them
  validate  ablate: what each term of the model is worth, over the recordings of division;
          carried [half] [PROGRAM…]: forecasts for other servers against the kernel's clocks;
          division [again] [FILE.toml] [PROGRAM…]: how server time is divided, against timed handlers;
          measure [quick|FILE] [again|between|x11perf]: two calibrations (or FILE and one) of one server,
          sizes between, x11perf's rates;
          coverage: programs of many kinds, decoded, beside tshark;
          episodes [truth|screen]: latencies beside what programs measure of themselves, and beside
          what is seen on the screen;
          nesting: actions that go from client to client, and who is blamed; issues: many sessions, by DuckDB and
          Spark as well; attach, ring [SECONDS]: what attaching costs, and a ring over a busy desktop;
          page [MB]: the page of a long trace; exports: each read by its reader; diff, roundtrips, killed;
          memory [MB [WORD…]]: every analysis (or those with these words) over a long trace;
          resources: what programs hold in the server, beside what X-Resource says
  calibrate [--time-limit SECONDS] [KIND…]  measure private servers of all kinds (or these) here, at
          rest, and write the parameter files that come with the program; at most 360 s each
  docs    update the generated parts of docs/REFERENCE.md and the outputs in README.md and docs/GUIDE.md that come
          from recordings
  package [twice|try|aarch64]  make target/package: a static program in a .deb and a tarball, their checksums and a
          bill of materials, from a clean tree; twice: again from another folder, with the same bytes;
          try: install, use and remove the .deb in a fresh Debian without a compiler (as root);
          aarch64: check that the program compiles for that processor
  pictures [gallery]  make the pictures in docs/pictures; gallery: record five programs, and make their
          pages in docs/gallery
  release check that versions, changelog and documents agree, build the packages, and try the publication; it tags
          and publishes nothing
  size    lines of code, tests and comments by crate; fails where the product has grown by more than
          1,500 lines since what xtask/src/size.rs accepts
  test    install what is missing and run every test, unit and end to end
  words   words of each document; fails over 900 in README.md or 15,000 in all
";

/// Runs the task that the first of `arguments` names.
pub fn task(arguments: &[String]) -> ExitCode {
    let done = match arguments.first().map(String::as_str) {
        Some("demo") => demo::demo(),
        Some("bench" | "validate") => results::keep(cargo_validation().args(arguments), arguments),
        Some("docs") => docs::docs(),
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

/// The program that validates and benches with the product's crates, built for release.
fn cargo_validation() -> std::process::Command {
    let mut cargo = run::cargo();
    cargo.args(["run", "--quiet", "--release", "--locked"]);
    cargo.args(["--package", "x11prof-validation", "--"]);
    cargo
}
