//! The parts of control records that are replaced: arguments, folders, hosts, marks. Names of programs, the machine's
//! processor and all numbers are kept.

use x11prof_trace::{BlockedOn, Control, Started};

use super::secrets::Secrets;
use super::well_known::is_atom;

/// The replacement for removed text.
const GONE: &str = "…";

/// Replaces the private parts of a control record.
pub(super) fn scrub(mut control: Control, secrets: &Secrets) -> Control {
    match &mut control {
        Control::Started(before) => *before = started(before.clone()),
        Control::Server(server) => {
            server.display = display(&server.display);
            let executable = server.executable.as_deref().map(file_name);
            server.executable = executable.map(str::to_owned);
            server.arguments = without_words(std::mem::take(&mut server.arguments));
        }
        Control::Opened(opened) => {
            let command = std::mem::take(&mut opened.command);
            opened.command = program_only(command, opened.name.as_deref());
        }
        Control::Closed { why: Some(why), .. } => GONE.clone_into(why),
        Control::Capture { why: Some(why), .. }
        | Control::Timing { why: Some(why), .. }
        | Control::Hole { why, .. }
        | Control::Trouble { what: why } => *why = without_names(why),
        Control::Mark { text } => letters(text, secrets),
        Control::Labels { labels } => {
            // Versions and programs are kept; names of persons and the user's own labels are removed.
            labels.retain(|name, _| name == "version" || name == "program");
            if let Some(program) = labels.get_mut("program") {
                *program = file_name(program).to_owned();
            }
        }
        Control::Link(link) => link.display = display(&link.display),
        Control::Existing(existing) => {
            for window in &mut existing.windows {
                let names = [&mut window.instance, &mut window.class, &mut window.title];
                for name in names.into_iter().flatten() {
                    letters(name, secrets);
                }
            }
            let mut atoms = existing.atoms.iter_mut();
            while let Some(atom) = atoms.find(|atom| !is_atom(atom.name.as_bytes())) {
                letters(&mut atom.name, secrets);
            }
        }
        Control::Stack { frames, .. } => {
            for frame in frames {
                frame.file = file_name(&frame.file).to_owned();
                frame.function = frame.function.as_deref().map(without_folders);
            }
        }
        Control::BuildId { file, .. } => *file = file_name(file).to_owned(),
        Control::Symbol {
            file, functions, ..
        } => {
            *file = file_name(file).to_owned();
            for function in functions {
                function.name = without_folders(&function.name);
                let line = function.line.as_deref().map(file_name);
                function.line = line.map(str::to_owned);
            }
        }
        // The name of a file may be anything.
        Control::BlockedStack {
            object: BlockedOn::File,
            name,
            ..
        } => *name = None,
        _ => {}
    }
    control
}

/// Replaces the private parts of the trace's first record.
pub(super) fn started(mut started: Started) -> Started {
    let name = started
        .command
        .first()
        .map(|program| file_name(program).to_owned());
    started.command = program_only(started.command, name.as_deref());
    started
}

/// Replaces a text with letters.
fn letters(text: &mut String, secrets: &Secrets) {
    let mut letters = std::mem::take(text).into_bytes();
    secrets.word(&mut letters);
    *text = String::from_utf8_lossy(&letters).into_owned();
}

/// Returns the command without its arguments and its folder. `known` is the name of the program, or of its process.
fn program_only(command: Vec<String>, known: Option<&str>) -> Vec<String> {
    let Some(program) = command.first() else {
        return command;
    };
    let name = program_name(program, known).to_owned();
    let more = command.len() > 1 || !program.ends_with(&name);
    std::iter::once(name)
        .chain(more.then(|| GONE.to_owned()))
        .collect()
}

/// A program's name without its folder. The folder may contain a space, and some programs write their arguments after
/// their name. In these cases the name is the part that the process's name `known` also has.
fn program_name<'a>(command: &'a str, known: Option<&str>) -> &'a str {
    let Some((first, _)) = command.split_once(char::is_whitespace) else {
        return file_name(command);
    };
    // The kernel cuts the name of a process (prctl(2), PR_SET_NAME). Arguments may follow.
    let is_known = |name: &&str| {
        let rest = known.and_then(|known| Some((known.len(), name.strip_prefix(known)?)));
        rest.is_some_and(|(length, rest)| {
            rest.is_empty() || length == 15 && !rest.contains(char::is_whitespace)
        })
    };
    let mut names = [file_name(command), file_name(first)].into_iter();
    names.find(is_known).unwrap_or(GONE)
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// Returns a function's name without folders: compilers name a function without a name after its source file, such as
/// `<lambda at /home/me/app.cc:3:5>`. A folder may contain spaces, so all between two folders goes too.
fn without_folders(name: &str) -> String {
    let slashes = name.match_indices(['/', '\\']).map(|(at, _)| at);
    // C++ has a function `operator/`.
    let mut slashes = slashes.filter(|at| !name[..*at].ends_with("operator"));
    let Some(first) = slashes.next() else {
        return name.to_owned();
    };
    let is_before = |c: char| c.is_whitespace() || "<([{,\"'".contains(c);
    let word = name[..first].rsplit(is_before).next().unwrap_or_default();
    let last = slashes.next_back().unwrap_or(first);
    format!("{}{}", &name[..first - word.len()], &name[last + 1..])
}

/// Returns a display's name without its host: `:0` for `host:0`.
fn display(name: &str) -> String {
    match name.rfind(':') {
        Some(at) => name[at..].to_owned(),
        None => GONE.to_owned(),
    }
}

/// Returns the options, displays and numbers among a server's arguments, which cost models and reports use. Other words
/// may be titles, files, addresses or names of people.
fn without_words(arguments: Vec<String>) -> Vec<String> {
    let is_of = |text: &str, others: &str| {
        text.chars()
            .all(|c| c.is_ascii_alphanumeric() || others.contains(c))
    };
    let is_figure = |word: &str| {
        let is_of_figures = |c: char| c.is_ascii_digit() || "x+-.,".contains(c);
        // An address has more points.
        word.chars().all(is_of_figures) && word.matches('.').count() < 2
    };
    let keep = |word: &String| match word.split_at_checked(1) {
        Some(("-" | "+", option)) => is_of(option, "-_"),
        Some((":", display)) => is_figure(display),
        Some((first, _)) => first.starts_with(|c: char| c.is_ascii_digit()) && is_figure(word),
        None => true,
    };
    let words = arguments.into_iter();
    words
        .map(|word| if keep(&word) { word } else { GONE.to_owned() })
        .collect()
}

/// Returns the text before the first word that may belong to a path, a display, a host or an address. Such a word has a
/// separator (such as `/`) before another character. The rest is dropped, because a path may continue in the next
/// words.
fn without_names(text: &str) -> String {
    let is_name = |word: &str| {
        let inner = word.trim_end_matches(['.', ':', ';', ',', ')']);
        inner.contains(['/', '@', ':', '.']) || word.contains('/')
    };
    let mut words: Vec<&str> = text.split(' ').collect();
    if let Some(at) = words.iter().position(|word| is_name(word)) {
        words.truncate(at);
        words.push(GONE);
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use x11prof_trace::{ConnectionId, Control, Opened, Server, Started};

    use super::{GONE, program_name, program_only, scrub, without_folders};
    use crate::scrub::secrets::Secrets;

    #[test]
    fn program_name_has_no_arguments() {
        let known = Some("verylongprognam");
        for command in [
            "verylongprogname --token=S",
            "/a/verylongprogname S",
            "/a b/verylongprogname",
        ] {
            assert_eq!(program_name(command, known), "verylongprogname");
        }
        assert_eq!(program_name("/a b/xlogo", Some("xlogo")), "xlogo");
        assert_eq!(
            program_name("Web Content -child 3", Some("Web Content")),
            GONE
        );
    }

    #[test]
    fn names_of_functions_have_no_folders() {
        for (name, scrubbed) in [
            (
                "<lambda at /home/alice/secret/x.cc:3:5>",
                "<lambda at x.cc:3:5>",
            ),
            ("lambda at /home/my name/x.cc", "lambda at x.cc"),
            ("{closure C:\\Users\\alice\\x.rs}", "{closure x.rs}"),
            ("~draw file:///home/alice/x.js:3", "~draw x.js:3"),
            ("github.com/alice/secret.(*T).Draw", "secret.(*T).Draw"),
            (
                "operator/(V, <lambda at src/x.cc:1>)",
                "operator/(V, <lambda at x.cc:1>)",
            ),
            ("V::operator/=(V const&)", "V::operator/=(V const&)"),
            ("<a::B as c::D>::e", "<a::B as c::D>::e"),
        ] {
            assert_eq!(without_folders(name), scrubbed);
        }
    }

    #[test]
    fn programs_and_numbers_are_kept_and_other_text_removed() {
        let secrets = Secrets::default();
        let strings = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        let records = [
            Control::Started(Started {
                format: 1,
                recorder: "x11prof 0".into(),
                wall_clock_ns: 5,
                command: strings(&["/home/me/bin/xterm", "-T", "secret"]),
                cpu_model: "A processor".into(),
                cpus: 2,
                kernel: "Linux 6".into(),
                full: false,
            }),
            Control::Server(Server {
                display: "myhost:7".into(),
                executable: Some("/home/me/Xvfb".into()),
                arguments: strings(&[
                    ":7",
                    "-desktop",
                    "secret-of-ann",
                    "-fp",
                    "/home/me/fonts",
                    "-screen",
                    "0",
                    "800x600x24",
                    "-label=secret",
                    "+iglx",
                    "-interface",
                    "192.168.4.9",
                    "::1",
                ]),
                ..Server::default()
            }),
            Control::Opened(Opened {
                connection: ConnectionId(1),
                transport: "unix".into(),
                pid: Some(3),
                name: Some("xterm".into()),
                command: strings(&["/opt/xterm --profile=/home/me/secret --title=secret 5.pdf"]),
                started_ns: None,
            }),
            Control::Mark {
                text: "my secret".into(),
            },
            Control::Trouble {
                what: "writing /home/me/trace on myhost:0 failed (32 records)".into(),
            },
            Control::Hole {
                since_ns: 1,
                why: "no reply from 192.168.4.9 or secret.example.org, /home/me".into(),
            },
            Control::Closed {
                connection: ConnectionId(1),
                by: "refused".into(),
                why: Some("myhost is not allowed".into()),
            },
            Control::Labels {
                labels: [
                    ("user", "secret"),
                    ("version", "5.1"),
                    ("program", "/home/secret/xterm"),
                ]
                .map(|(name, text)| (name.to_owned(), text.to_owned()))
                .into(),
            },
        ];
        let after = records.map(|record| format!("{:?}", scrub(record, &secrets)));
        for text in &after {
            for secret in ["secret", "/", "myhost", "home", "192", "::1"] {
                assert!(!text.contains(secret), "{text}");
            }
        }
        assert!(after[0].contains("[\"xterm\", \"…\"]") && after[0].contains("A processor"));
        assert!(after[2].contains("[\"xterm\", \"…\"]"), "{}", after[2]);
        assert!(after[1].contains("\":7\"") && after[1].contains("\"Xvfb\""));
        let options = r#"[":7", "-desktop", "…", "-fp", "…", "-screen", "0", "800x600x24", "…", "+iglx", "-interface", "…", "…"]"#;
        assert!(after[1].contains(options), "{}", after[1]);
        assert!(after[4].contains("\"writing …\""), "{}", after[4]);
        let folder = strings(&["/home/my secret of/xset", "q"]);
        assert_eq!(program_only(folder.clone(), Some("xset")), ["xset", "…"]);
        assert_eq!(program_only(folder, None), ["…", "…"]);
        assert!(after[5].contains("\"no reply from …\""), "{}", after[5]);
        assert!(
            after[7].contains("5.1") && !after[7].contains("user"),
            "{}",
            after[7]
        );
    }
}
