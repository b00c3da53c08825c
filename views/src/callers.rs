//! The call sites that waited for replies or sent requests, in text form.

use x11prof_analyzer::{
    BlockedIn, By, CallerReport, CallersReport, FunctionReport, RanIn, interpreted, place_of,
};
use x11prof_trace::BlockedOn;

use crate::page::{Page, Style, cut};
use crate::plain::plain;
use crate::table::Table;
use crate::units::{counted, decimals, share};

/// The default number of rows.
const ROWS: usize = 12;
/// The maximum number of calling functions that are named for a suggestion or an episode.
const ASKERS: usize = 3;
/// The maximum number of call sites with blocked threads that are named for an episode.
const BLOCKED: usize = 6;
/// The width of the column with the request's name, in characters.
const REQUEST: usize = 20;
/// The maximum number of functions in the name of a group of stacks.
const CALLERS: usize = 8;

/// The place of code that no file contains, such as the output of a just-in-time compiler.
const MADE_AT_RUN_TIME: &str = "[made at run time]";

/// The call sites that waited for replies, as a table below the sum of all round trips.
pub(crate) fn text(report: &CallersReport, page: &Page) -> String {
    let more = report.looking_ms / (report.round_trips_ms - report.looking_ms).max(1e-6);
    // The waits of a program that reports its own stacks are not sampled.
    let is_reported = report.looking_ms == 0.0;
    let first = format!(
        "Call sites of waits in the recording: {} of {} {}",
        report.looked_at,
        counted(report.round_trips, "round trip"),
        if is_reported {
            "have a stack".to_owned()
        } else {
            let more = share(100.0 * more.max(0.0));
            format!("were sampled, which made all waits together {more} longer")
        }
    );
    let waits = if is_reported { "Waits" } else { "Sampled" };
    let mut text = page.paint(Style::Bold, page.wrap(&first, 2).trim_end());
    text.push('\n');
    if report.callers.is_empty() {
        return text;
    }
    let most = report.callers.first().map_or(0.0, |one| one.waited_ms);
    let digits = decimals(most);
    if page.all {
        report
            .callers
            .iter()
            .for_each(|caller| whole(caller, digits, page, &mut text));
    } else {
        let mut table = Table::new(["Call site", waits, "Waited ms", "Main request"]);
        for caller in report.callers.iter().take(ROWS) {
            let request = caller.requests.first();
            let request = request.map(|one| cut(&one.request, REQUEST));
            table.row([
                place(&caller.functions),
                caller.waits.to_string(),
                format!("{:.digits$}", caller.waited_ms),
                request.unwrap_or_default(),
            ]);
        }
        let rest = report.callers.get(ROWS..).unwrap_or_default();
        if !rest.is_empty() {
            let waits: u64 = rest.iter().map(|one| one.waits).sum();
            let ms: f64 = rest.iter().map(|one| one.waited_ms).sum();
            let name = format!("… {} more", rest.len());
            table.row([
                name,
                waits.to_string(),
                format!("{ms:.digits$}"),
                String::new(),
            ]);
        }
        text.push_str(&table.on(page));
    }
    let mut legend =
        "Each row shows the calling function, outside of Xlib, XCB, cairo and libc, and its nearest named \
         callers (<)."
            .to_owned();
    let part = report.looked_at - report.whole;
    if part > 0 {
        legend.push_str(&format!(
            " {} incomplete: the frame of a function is unknown.",
            counted(part, "stack")
        ));
    }
    if !is_reported && 2 * report.looked_at < report.round_trips {
        legend.push_str(" Short waits are not sampled, to limit the overhead.");
    }
    if !page.all {
        legend.push_str(" --all shows every call site, with its longest-waiting stack.");
    }
    let legend = page.wrap(&legend, 0);
    text.push_str(&page.paint(Style::Faint, legend.trim_end()));
    text.push('\n');
    text
}

/// Writes a call site to `text`, with the call stack that waited longest, one function per line.
fn whole(caller: &CallerReport, digits: usize, page: &Page, text: &mut String) {
    let requests = caller.requests.iter();
    let requests: Vec<String> = requests
        .map(|one| format!("{} {}", one.waits, one.request))
        .collect();
    let line = format!("{:.digits$} ms: {}", caller.waited_ms, requests.join(", "));
    text.push_str(&page.wrap(&line, 2));
    for name in function_names(&caller.functions) {
        text.push_str(&format!(
            "    {}\n",
            cut(&name, page.columns().saturating_sub(4))
        ));
    }
}

/// Returns advice for readers of `text` if a call site in it has an address instead of a name; otherwise an empty text.
pub(crate) fn advice_on_names(text: &str, page: &Page) -> String {
    let advice = "A call site such as [app+0x1d850] has no name: install the debug symbols of the program, or set \
                  DEBUGINFOD_URLS to a server that has them.";
    match text.contains("+0x") {
        true => page.wrap_in(Style::Faint, advice, 0),
        false => String::new(),
    }
}

/// The call sites that sent most of `round_trips` requests that a suggestion saves, each with its number of sampled round trips; `None` if no
/// call site is known.
pub(crate) fn askers(callers: &[CallerReport], round_trips: u64) -> Option<String> {
    let mut askers: Vec<(u64, String)> = callers
        .iter()
        .map(|one| (one.waits, place(&one.functions)))
        .collect();
    askers.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let named = askers.iter().take(ASKERS);
    let mut named: Vec<String> = named
        .map(|(waits, name)| format!("{name} ({waits})"))
        .collect();
    let rest: u64 = askers.iter().skip(ASKERS).map(|(waits, _)| waits).sum();
    if rest > 0 {
        named.push(format!("others ({rest})"));
    }
    let stacks: u64 = askers.iter().map(|(waits, _)| waits).sum();
    let sampled = match stacks < round_trips {
        true => format!(" ({stacks} of {round_trips} sampled)"),
        false => String::new(),
    };
    (!named.is_empty()).then(|| format!("Requested{sampled} by {}.", named.join(", ")))
}

/// The call sites at which an episode's client waited longest for replies; `None` if no wait was sampled. `all_ms` is the
/// time of all waits for replies, in milliseconds.
pub(crate) fn waited_in(callers: &[CallerReport], all_ms: f64) -> Option<String> {
    let one = |one: &CallerReport| {
        let request = match one.requests.as_slice() {
            [] => String::new(),
            [of] => format!(", {}", of.request),
            [first, ..] => format!(", mostly {}", first.request),
        };
        let trips = counted(one.waits, "sampled round trip");
        format!(
            "{} ({trips}, {:.1} ms{})",
            place(&one.functions),
            one.waited_ms,
            request
        )
    };
    // A shorter wait would appear as 0.0 ms.
    let long = callers.iter().filter(|one| one.waited_ms >= 0.05);
    let named: Vec<String> = long.take(ASKERS).map(one).collect();
    let sampled: f64 = callers.iter().map(|one| one.waited_ms).sum();
    let of = match sampled < all_ms / 2.0 {
        true => format!("; all replies {all_ms:.1} ms, others not sampled"),
        false => String::new(),
    };
    (!named.is_empty()).then(|| format!("Waited in {}{of}", named.join(", in ")))
}

/// The functions in which an episode's client used the most CPU time; `None` without samples.
pub(crate) fn ran_in(places: &[RanIn]) -> Option<String> {
    let one = |one: &RanIn| format!("{} ({:.1} ms)", plain(&one.place), one.ran_ms);
    let named: Vec<String> = places.iter().take(ASKERS).map(one).collect();
    (!named.is_empty()).then(|| format!("Ran in {}", named.join(", in ")))
}

/// The functions in which an episode's client was off the processor longest, and the objects that it waited for; `None`
/// without stacks.
pub(crate) fn blocked_in(places: &[BlockedIn]) -> Option<String> {
    let one = |one: &BlockedIn| {
        let location = plain(&one.location);
        format!("{} in {location}", awaited_object(one))
    };
    let named: Vec<String> = places.iter().take(BLOCKED).map(one).collect();
    (!named.is_empty()).then(|| format!("Off-CPU, all threads: {}", named.join("; ")))
}

/// A table of the functions in which clients were off the processor, with the objects that they waited for.
pub(crate) fn off_cpu(places: &[BlockedIn], page: &Page) -> String {
    let mut table = Table::new(["Off-CPU in", "Off-CPU ms", "Waits", "For"]).left([3]);
    let digits = decimals(places.first().map_or(0.0, |one| one.ms));
    for one in places.iter().take(page.rows) {
        table.row([
            plain(&one.location).into_owned(),
            format!("{:.digits$}", one.ms),
            one.waits.to_string(),
            cut(&object(one), page.columns().saturating_sub(50)),
        ]);
    }
    let left = places.len().saturating_sub(page.rows);
    if left > 0 {
        let ms: f64 = places.iter().skip(page.rows).map(|one| one.ms).sum();
        let name = format!("… {left} more");
        table.row([name, format!("{ms:.digits$}"), String::new(), String::new()]);
    }
    let legend = "Waits of 1 ms or more, without those for events, sockets and other threads.";
    let legend = page.wrap(legend, 0);
    format!(
        "{}{}\n",
        table.on(page),
        page.paint(Style::Faint, legend.trim_end())
    )
}

/// Returns the longest wait in the middle of work, if it took at least `least_ms` milliseconds: `waits 20.0 ms for child
/// process make (71) in run (main.c:5)`.
pub fn main_wait(places: &[BlockedIn], least_ms: f64) -> Option<String> {
    let mut in_work = places.iter().filter(|one| one.object.is_in_work());
    let longest = in_work.find(|one| one.ms >= least_ms)?;
    let location = plain(&longest.location);
    Some(format!("{} in {location}", awaited_object(longest)))
}

/// Returns the text of a wait, such as `sleeps 500.0 ms` or `waits 20.0 ms for child process make (71)`.
fn awaited_object(of: &BlockedIn) -> String {
    match of.object {
        BlockedOn::Sleep => format!("sleeps {:.1} ms", of.ms),
        _ => format!("waits {:.1} ms for {}", of.ms, object(of)),
    }
}

/// Returns the text for the object of a wait, such as `child process make (71)`.
fn object(of: &BlockedIn) -> String {
    let name = of.name.as_deref().map(plain);
    let with = |kind: &str, by: &str| match &name {
        Some(name) => format!("{kind}{by}{name}"),
        None => kind.to_owned(),
    };
    match of.object {
        BlockedOn::Sleep => "time (sleep)".to_owned(),
        BlockedOn::Lock => with("a lock", " that is held by thread "),
        BlockedOn::Thread if name.is_some() => with("thread", " "),
        BlockedOn::Thread => "another thread".to_owned(),
        BlockedOn::Child => with("child process", " "),
        BlockedOn::Pipe => with("a pipe", " of "),
        BlockedOn::Socket => with("a socket", " of "),
        BlockedOn::File => with("file", " "),
        BlockedOn::Events => "events".to_owned(),
        BlockedOn::Other => "an unknown reason".to_owned(),
    }
}

/// The call site at which a client waited longest for replies; `None` if no wait was sampled.
pub fn longest_wait(callers: &[CallerReport]) -> Option<String> {
    callers.first().map(|one| place(&one.functions))
}

/// The call site that sent the most requests named `request`; `None` if no stack is known.
pub fn asks_most(callers: &[CallerReport], request: &str) -> Option<String> {
    let waits = |one: &CallerReport| {
        let of = one.requests.iter().find(|of| of.request == request);
        of.map_or(0, |of| of.waits)
    };
    let asking = callers.iter().filter(|one| waits(one) > 0);
    let most = asking.max_by_key(|one| waits(one))?;
    Some(place(&most.functions))
}

/// The names of the group to which a request belongs. `functions` are the functions of the request's stack, the
/// innermost first. `by` selects grouping by function, line, library or the whole stack.
pub fn group_names(functions: &[FunctionReport], by: By) -> Vec<String> {
    let own = interpreted(functions).or(functions.first());
    match (own, by) {
        (None, _) => vec!["(not known)".to_owned()],
        (Some(_), By::Stack) => chain_names(functions, CALLERS),
        (Some(own), By::Library) => vec![library_of(own)],
        (Some(own), By::Line) if own.line.is_some() => function_names([own]),
        (Some(own), _) if own.name.is_some() => function_names([&without_line(own)]),
        // A function without a name is shown with its nearest named caller.
        _ => vec![place(
            &functions.iter().map(without_line).collect::<Vec<_>>(),
        )],
    }
}

/// The names of the functions, in their order and unchanged.
pub fn function_names<'a>(functions: impl IntoIterator<Item = &'a FunctionReport>) -> Vec<String> {
    let named = functions.into_iter().map(function);
    named.map(|name| plain(&name).into_owned()).collect()
}

/// The names of a stack's functions, the innermost first, without lines. The name of a function of a stripped program is
/// its address. A library function without a name is merged with its caller. If no function has a name, the innermost
/// library is the only name.
pub fn named_functions(functions: &[FunctionReport]) -> Vec<String> {
    let is_program = |one: &FunctionReport| library(one) == one.module;
    let named = functions.iter();
    let named = named.filter(|one| (one.name.is_some() || is_program(one)) && !is_start(one));
    let named: Vec<FunctionReport> = named.map(without_line).collect();
    match (named.is_empty(), functions.first()) {
        (true, Some(innermost)) => vec![format!("[{}]", library_of(innermost))],
        _ => function_names(&named),
    }
}

fn without_line(one: &FunctionReport) -> FunctionReport {
    FunctionReport {
        line: None,
        ..one.clone()
    }
}

/// Returns at most `most` names: the innermost function of a call stack (its address if it has no name), then its nearest
/// named callers. For an interpreted program, these are the innermost function, if it has a name, and then the functions
/// of the interpreted code.
fn chain_names(functions: &[FunctionReport], most: usize) -> Vec<String> {
    let own = interpreted(functions);
    let own_at = functions.iter().position(|one| Some(one) == own);
    let is_shown = |at: usize, one: &FunctionReport| match own_at {
        Some(own) => at >= own && one.interpreted || at == 0 && one.name.is_some(),
        None => at == 0 || one.name.is_some() && !is_start(one),
    };
    let shown = (0..).zip(functions);
    let shown = shown.filter(|(at, one)| is_shown(*at, one));
    function_names(shown.take(most).map(|(_, one)| one))
}

/// Returns the text of a call site: `f < g [module]`, or `f < … < g [module]` if functions in between have no names. If
/// both functions are in one module, the module appears once.
fn place(functions: &[FunctionReport]) -> String {
    let shown: Vec<&FunctionReport> = place_of(functions).filter(|one| !is_start(one)).collect();
    let [first, caller] = shown[..] else {
        return function_names(shown).join("");
    };
    let is_next = functions.get(1) == Some(caller);
    let between = if is_next { " < " } else { " < … < " };
    let module = format!(" [{}]", library(caller));
    let is_shared = library(first) == library(caller);
    let (mut names, has_name) = ([function(first), function(caller)], first.name.is_some());
    let second = &mut names[usize::from(!has_name)];
    if is_shared && let Some(without) = second.strip_suffix(&module) {
        *second = without.to_owned();
    }
    plain(&names.join(between)).into_owned()
}

/// Returns true for the functions of libc that call `main`.
fn is_start(function: &FunctionReport) -> bool {
    let name = function.name.as_deref().unwrap_or_default();
    name == "_start" || name.starts_with("__libc_start")
}

/// Returns the text of a function, such as `main (app.c:12)`, `gdk_init [libgdk-3]` or `[app]`.
fn function(of: &FunctionReport) -> String {
    let library = library(of);
    // A plus sign precedes the start address of a function without a name.
    let module = match of.module.rsplit_once('+') {
        Some((_, start)) if of.name.is_none() && library != of.module => {
            format!("{library}+{start}")
        }
        _ => library.to_owned(),
    };
    let place = match &of.line {
        None if module.is_empty() => MADE_AT_RUN_TIME.to_owned(),
        Some(line) => format!("({})", line.rsplit('/').next().unwrap_or_default()),
        None => format!("[{module}]"),
    };
    match &of.name {
        Some(name) => format!(
            "{} {place}",
            without_parameters(lisp_name(name).as_deref().unwrap_or(name))
        ),
        None => place,
    }
}

/// Converts the symbol of a natively compiled Emacs Lisp function, such as
/// `F782d6372656174652d6672616d65_x_create_frame_0`, to its Lisp name `x-create-frame` (comp.el, `comp-c-func-name`).
/// `None` for other symbols.
fn lisp_name(name: &str) -> Option<String> {
    let (hex, rest) = name.strip_prefix('F')?.split_once('_')?;
    rest.rsplit_once('_')?.1.parse::<u32>().ok()?;
    let bytes = hex.as_bytes().chunks(2);
    let bytes = bytes.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    let name = String::from_utf8(bytes.collect::<Option<Vec<u8>>>()?).ok()?;
    (!name.is_empty() && hex.len().is_multiple_of(2)).then_some(name)
}

/// Returns the name of the program's file or library of a function, such as `libgdk-3`.
fn library_of(of: &FunctionReport) -> String {
    let name = match (library(of), &of.name) {
        // The address of a function without a name.
        (library, None) => library.rsplit_once('+').map_or(library, |(name, _)| name),
        (library, Some(_)) => library,
    };
    match name {
        "" => MADE_AT_RUN_TIME.to_owned(),
        name => plain(name).into_owned(),
    }
}

/// Returns the short name of a function's file: `libgdk-3.so.0` becomes `libgdk-3`.
fn library(of: &FunctionReport) -> &str {
    let module = &of.module;
    // A version or an address may follow, but not another letter, as in `my.software`.
    let is_end = |(at, _): &(usize, _)| {
        let rest = &module[at + 3..];
        *at > 0 && (rest.is_empty() || rest.starts_with(['.', '+', ' ']))
    };
    let end = module.match_indices(".so").find(is_end);
    end.map_or(module, |(at, _)| &module[..at])
}

/// Removes the parameters of a C++ name: `A::f(int, B const&) const` becomes `A::f`, also in a thunk such as `{virtual
/// override thunk({offset(-16)}, A::f(int))}`.
fn without_parameters(name: &str) -> &str {
    let name = match name.split_once("thunk(") {
        Some((first, rest)) if first.starts_with('{') => {
            let target = rest.split_once(", ").map_or(rest, |(_, target)| target);
            target
                .trim_end_matches('}')
                .strip_suffix(')')
                .unwrap_or(target)
        }
        _ => name,
    };
    let mut depth = 0;
    let end = name.rfind(')').map_or(0, |at| at + 1);
    for (at, letter) in name[..end].char_indices().rev() {
        match letter {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return if at > 0 { &name[..at] } else { name };
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use x11prof_analyzer::FunctionReport;

    use super::{By, group_names, lisp_name, place, without_parameters};

    #[test]
    fn call_site_is_a_function_and_its_nearest_named_caller() {
        let of = |name: Option<&str>, module: &str| FunctionReport {
            name: name.map(str::to_owned),
            module: module.to_owned(),
            line: None,
            inlined: false,
            interpreted: false,
        };
        let (f, g) = (of(Some("f"), "libtk.so.6"), of(Some("g"), "libtk.so.6"));
        let unknown = of(None, "libtk.so.6+0x4a0");
        let start = of(Some("__libc_start_main"), "libc.so.6");
        let python = |name, line: &str| FunctionReport {
            line: Some(line.to_owned()),
            interpreted: true,
            ..of(Some(name), "")
        };
        let library = python(
            "Misc.update",
            "/usr/lib/python3.11/tkinter/__init__.py:1370",
        );
        let own = python("draw", "/home/ann/app.py:7");
        for (functions, shown) in [
            (vec![f.clone(), g.clone()], "f < g [libtk]"),
            (
                vec![f.clone(), unknown.clone(), g.clone()],
                "f < … < g [libtk]",
            ),
            (vec![unknown, g.clone(), f.clone()], "[libtk+0x4a0] < g"),
            (
                vec![f.clone(), g, library, own],
                "f [libtk] < … < draw (app.py:7)",
            ),
            (vec![f, start], "f [libtk]"),
            (Vec::new(), ""),
        ] {
            assert_eq!(place(&functions), shown);
        }
    }

    #[test]
    fn library_is_the_file_of_the_innermost_function() {
        let of = |name: Option<&str>, module: &str| FunctionReport {
            name: name.map(str::to_owned),
            module: module.to_owned(),
            ..FunctionReport::default()
        };
        for (function, shown) in [
            (of(Some("f"), "libtk.so.6"), "libtk"),
            (of(None, "libtk.so.6+0x4a0"), "libtk"),
            (of(None, "app+0x4a0"), "app"),
            (of(Some("f"), "g++"), "g++"),
            (of(Some("f"), "my.software"), "my.software"),
            (of(None, "my.software+0x10"), "my.software"),
            (of(None, ".so+0x10"), ".so"),
            (of(None, "gone.so.1 (deleted)+0x10"), "gone"),
            (
                of(None, "memfd:code (deleted)+0x10"),
                "memfd:code (deleted)",
            ),
            (of(None, ""), "[made at run time]"),
        ] {
            assert_eq!(group_names(&[function], By::Library), [shown]);
        }
    }

    #[test]
    fn native_lisp_names_are_decoded() {
        let name = "F782d6372656174652d6672616d65_x_create_frame_0";
        assert_eq!(lisp_name(name).as_deref(), Some("x-create-frame"));
        for other in ["Fsend_0", "F7_a_0", "F_0", "Function_of_1", "F78_x"] {
            assert_eq!(lisp_name(other), None, "{other}");
        }
    }

    #[test]
    fn function_parameters_are_stripped() {
        for (name, short) in [
            ("gdk_init", "gdk_init"),
            ("A::f(int, B const&) const", "A::f"),
            (
                "(anonymous namespace)::f(void (*)(int))",
                "(anonymous namespace)::f",
            ),
            ("A::operator()(int)", "A::operator()"),
            ("(odd)", "(odd)"),
            ("F782d62_x_b_0", "F782d62_x_b_0"),
            (
                "{virtual override thunk({offset(-16)}, A::f(int, B const&))}",
                "A::f",
            ),
        ] {
            assert_eq!(without_parameters(name), short);
        }
    }
}
