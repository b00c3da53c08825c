//! Runs x11prof to get all reports on a recording, and compares their figures with each other.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use crate::{Audit, Pages, audit};

/// The reports to compare: the report's name, its format, and x11prof's arguments. The format `all` is several
/// formats in one document. `CUT` is replaced by the middle of the recording and `LENGTH` by its length, both in
/// seconds.
const PAGES: &[(&str, &str, &str)] = &[
    ("report", "all", "report --format all --all"),
    ("html", "html", "report --format html"),
    ("by-client", "json", "report --format json --by client"),
    ("by-window", "json", "report --format json --by window"),
    ("by-drawable", "json", "report --format json --by drawable"),
    ("before", "json", "report --format json --to CUT"),
    ("after", "json", "report --format json --from CUT"),
    ("episodes", "all", "episodes --format all --all"),
    ("episodes-before", "json", "episodes --format json --to CUT"),
    (
        "episodes-after",
        "json",
        "episodes --format json --from CUT",
    ),
    ("events", "all", "episodes --format all --events /dev/stdin"),
    ("stacks", "stacks", "export --to collapsed -o /dev/stdout"),
    ("network", "all", "network --format all --all"),
    ("stats", "all", "stats --format all"),
    ("dump", "lines", "dump --format json"),
    ("net", "json", "report --format json --net 100KB/s,50ms"),
    (
        "episodes-net",
        "json",
        "episodes --format json --net 100KB/s,50ms",
    ),
    (
        "compare",
        "json",
        "compare --format json --params xvfb-24 --params xvnc",
    ),
    ("top", "json", "top --json --seconds LENGTH"),
    (
        "check",
        "text",
        "check --budget /dev/stdin --junit /dev/stdout",
    ),
];

/// A budget with zero limits, which makes `check` print every figure.
const BUDGET: &str = "[total]\nrequests = 0\nbytes = 0\nround_trips = 0\nsynchronisations = 0\nserver_ms = 0\n\
                      [start_up]\nrequests = 0\nbytes = 0\nround_trips = 0\nlatency_ms = 0\n";

/// Definitions of events that most recordings contain, for `episodes --events`.
const EVENTS: &str = "format = 1\n\
                      [[event]]\nname = \"Key\"\ntype = \"input\"\nstart = { event = \"KeyPress\" }\n\
                      [[event]]\nname = \"Shown\"\ntype = \"window\"\nnested = true\nstart = { request = \"MapWindow\" }\n";

/// Compares all reports on the recording at `path`, and the profile `live` that `record --live` printed on SIGUSR1 after
/// the programs ended. `x11prof` returns a command that runs x11prof, without arguments.
///
/// # Errors
/// Fails if a report fails.
pub fn recording(
    x11prof: &(dyn Fn() -> Command + Sync),
    path: &Path,
    live: Option<&str>,
) -> Result<Audit, String> {
    let mut pages = Pages::default();
    let (first, rest) = PAGES.split_at(1);
    add(&mut pages, x11prof, path, first, 0.0)?;
    if pages.figure("report:total.count") == Some(0.0) {
        // There is nothing to compare.
        return Ok(Audit::default());
    }
    let half = pages.figure("report:trace.duration_ms").unwrap_or_default() / 2e3;
    // If the recording contains an emulated network, a second network must not be added. Collapsed stacks round times
    // to whole microseconds, which is too coarse for short recordings.
    let emulated = pages.figure("report:warnings[kind=emulated-network].count") > Some(0.0);
    let short = pages.figure("report:total.server_ms") < Some(0.1);
    let rest = rest.iter().copied();
    let rest: Vec<_> = rest
        .filter(|(name, ..)| !(emulated && *name == "episodes-net" || short && *name == "stacks"))
        .collect();
    add(&mut pages, x11prof, path, &rest, half)?;
    if let Some(live) = live {
        pages.add("live", "text", live)?;
    }
    Ok(audit(&pages))
}

/// Produces the `wanted` reports of the recording at `path`, two at a time, and adds them to `pages`. `cut` is the
/// middle of the recording, in seconds.
fn add(
    pages: &mut Pages,
    x11prof: &(dyn Fn() -> Command + Sync),
    path: &Path,
    wanted: &[(&str, &str, &str)],
    cut: f64,
) -> Result<(), String> {
    for pair in wanted.chunks(2) {
        let made: Vec<_> = thread::scope(|scope| {
            let begin = |(_, _, words)| {
                let made = move || page(x11prof, path, words, cut);
                // If no thread can be started, this thread produces the report.
                thread::Builder::new()
                    .spawn_scoped(scope, made)
                    .map_err(|_| made())
            };
            let begun: Vec<_> = pair.iter().copied().map(begin).collect();
            let end = |begun: Result<thread::ScopedJoinHandle<'_, _>, _>| match begun {
                Ok(thread) => thread.join(),
                Err(made) => Ok(made),
            };
            begun.into_iter().map(end).collect()
        });
        for ((name, format, words), made) in pair.iter().zip(made) {
            let failed = |why: &str| format!("{words}: {why}");
            let text = made.map_err(|_| failed("it panicked"))??;
            let plain = |text: &str| without_name(text, path);
            let added = match *format {
                "all" => pages.add_all(name, &text, plain),
                "text" => pages.add(name, format, &plain(&text)),
                _ => pages.add(name, format, &text),
            };
            added.map_err(|why| failed(&why))?;
        }
    }
    Ok(())
}

/// Removes the recording's file name from a report, because the name may look like a figure.
fn without_name(page: &str, path: &Path) -> String {
    let suite = |name: &str| format!("classname=\"{name}\"");
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let page = page.replace(&suite(&stem), &suite("TRACE"));
    match page.strip_prefix(&*path.to_string_lossy()) {
        Some(rest) => format!("TRACE{rest}"),
        None => page,
    }
}

/// Runs the command of `x11prof` with the arguments `words` on the recording at `path`, and returns the output that a user would see.
/// `cut` is the middle of the recording, in seconds.
fn page(
    x11prof: &(dyn Fn() -> Command + Sync),
    path: &Path,
    words: &str,
    cut: f64,
) -> Result<String, String> {
    let asked = words;
    let failed = |why: &str| format!("{}: {asked}: {why}", path.display());
    let length = f64::max(0.1, 2.0 * cut).to_string();
    let cut = cut.to_string();
    let mut words = words.split(' ').map(|word| match word {
        "CUT" => cut.as_str(),
        "LENGTH" => length.as_str(),
        word => word,
    });
    let mut command = x11prof();
    command
        .args(words.next())
        .arg(path)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // Only `dump` reports missing parts of the recording just as warnings, on standard error.
        .stderr(match asked.starts_with("dump") {
            true => Stdio::inherit(),
            false => Stdio::piped(),
        });
    let output = command.spawn().and_then(|mut child| {
        if let Some(mut stdin) = child.stdin.take() {
            // The write may fail, because most reports do not read standard input.
            let file = match asked.starts_with("check") {
                true => BUDGET,
                false => EVENTS,
            };
            stdin.write_all(file.as_bytes()).ok();
        }
        child.wait_with_output()
    });
    let output = output.map_err(|error| failed(&error.to_string()))?;
    // `check` fails here by design: the recording exceeds a budget of zero.
    let over = asked.starts_with("check") && output.status.code() == Some(1);
    match output.status.success() || over {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(failed(String::from_utf8_lossy(&output.stderr).trim())),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::without_name;

    #[test]
    fn a_recordings_name_is_no_figure() {
        let path = Path::new("of 120 % after.mcap");
        let page = |text| without_name(text, path);
        assert_eq!(page("of 120 % after.mcap: 5 s"), "TRACE: 5 s");
        let case = "<testcase classname=\"of 120 % after\" name=\"a\"/>";
        assert_eq!(page(case), "<testcase classname=\"TRACE\" name=\"a\"/>");
    }
}
