//! The types of JSON documents and input files with their doc comments, parsed from the product's source.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Crates whose types are serialised.
const CRATES: [&str; 5] = ["analyzer", "collection", "cost-model", "views", "drive"];

/// A struct or an enum.
#[derive(Debug, Default)]
struct Type {
    meaning: String,
    is_enum: bool,
    /// The style of the names of an enum's values.
    style: String,
    members: Vec<Member>,
}

/// A field, or a value of an enum.
#[derive(Debug)]
struct Member {
    name: String,
    kind: String,
    meaning: String,
    /// The fields of the type take the place of this field.
    flattened: bool,
}

/// The types by name, and for each name by the file that defines it.
#[derive(Debug, Default)]
pub(super) struct Types(BTreeMap<String, Vec<(PathBuf, Type)>>);

/// A type: its name, and the file that defines it.
pub(super) type TypeId = (String, PathBuf);

impl Types {
    /// Reads the source of all crates.
    pub(super) fn read() -> Types {
        let mut types = Types::default();
        for name in CRATES {
            types.folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join(name).join("src"));
        }
        types
    }

    fn folder(&mut self, folder: &Path) {
        for entry in fs::read_dir(folder).expect("a folder of source") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                self.folder(&path);
            } else {
                self.file(&path, &fs::read_to_string(&path).unwrap_or_default());
            }
        }
    }

    /// Reads a file as rustfmt lays it out: items begin at the margin, members one indentation to the right.
    fn file(&mut self, path: &Path, text: &str) {
        let mut lines = text.lines();
        let mut above = Above::default();
        while let Some(line) = lines.next() {
            if above.take(line, &mut lines) {
                continue;
            }
            let bare = line
                .trim_start_matches("pub ")
                .trim_start_matches("pub(crate) ");
            let item = ["struct ", "enum "]
                .into_iter()
                .find_map(|word| Some((word, bare.strip_prefix(word)?.strip_suffix(" {")?)));
            let before = std::mem::take(&mut above);
            let Some((word, name)) = item else {
                continue;
            };
            if !before.attributes.contains("Serialize")
                && !before.attributes.contains("Deserialize")
            {
                continue;
            }
            let name = name.split('<').next().unwrap_or(name).to_owned();
            let found = Type {
                is_enum: word == "enum ",
                style: before.value("rename_all"),
                meaning: before.meaning,
                members: members(&mut lines),
            };
            self.0
                .entry(name)
                .or_default()
                .push((path.to_owned(), found));
        }
    }

    /// Resolves `name` in the file `from`: a type of the same file, else the type whose path shares the longest
    /// prefix.
    fn find(&self, name: &str, from: &Path) -> Option<(&Path, &Type)> {
        let common = |path: &Path| {
            path.components()
                .zip(from.components())
                .take_while(|(a, b)| a == b)
                .count()
        };
        let found = self
            .0
            .get(name)?
            .iter()
            .max_by_key(|(path, _)| common(path))?;
        Some((&found.0, &found.1))
    }

    /// The heading of a type: its name, followed by the file's name if several types share the name.
    fn heading(&self, (name, path): &TypeId) -> String {
        let file = path.file_stem().unwrap_or_default().to_string_lossy();
        let file = match file.as_ref() {
            "mod" | "report" => path
                .parent()
                .and_then(Path::file_name)
                .unwrap_or_default()
                .to_string_lossy(),
            _ => file,
        };
        match self.0.get(name).is_some_and(|found| found.len() > 1) {
            true => format!("{name} of {file}"),
            false => name.clone(),
        }
    }

    /// The tables of a type and of the types within it that `shown` lacks.
    pub(super) fn tables(&self, name: &str, shown: &mut BTreeSet<TypeId>) -> String {
        let mut text = String::new();
        let Some((path, _)) = self.find(name, Path::new("")) else {
            panic!(
                "no type {name} is serialised: correct the list in tests/e2e/documents/reference.rs"
            );
        };
        let mut waiting = vec![(name.to_owned(), path.to_owned())];
        while let Some(id) = waiting.pop() {
            if !shown.insert(id.clone()) {
                continue;
            }
            let Some((path, found)) = self.find(&id.0, &id.1) else {
                continue;
            };
            let _ = write!(
                text,
                "\n#### {}\n\n{}\n\n",
                self.heading(&id),
                found.meaning
            );
            text.push_str(match found.is_enum {
                true => "| value | meaning |\n|---|---|\n",
                false => "| field | type | meaning |\n|---|---|---|\n",
            });
            let mut within = Vec::new();
            let members = found.members.iter().flat_map(|member| {
                let inner = member.flattened.then(|| self.find(&member.kind, path));
                match inner.flatten() {
                    Some((_, inner)) => inner.members.as_slice(),
                    None => std::slice::from_ref(member),
                }
            });
            for member in members {
                let meaning = member.meaning.replace('|', "\\|");
                let _ = match found.is_enum {
                    true => writeln!(
                        text,
                        "| `{}` | {meaning} |",
                        styled(&member.name, &found.style)
                    ),
                    false => {
                        let kind = self.kind(&member.kind, path, &mut within);
                        writeln!(text, "| `{}` | {kind} | {meaning} |", member.name)
                    }
                };
            }
            waiting.extend(within.into_iter().rev());
        }
        text
    }

    /// A Rust type as users of JSON or TOML see it. Appends types of this project to `within`.
    fn kind(&self, kind: &str, from: &Path, within: &mut Vec<TypeId>) -> String {
        let inner = |start: &str| kind.strip_prefix(start)?.strip_suffix('>');
        if let Some(inner) = inner("Option<").or_else(|| inner("Box<")) {
            let or = if kind.starts_with("Option") {
                " or null"
            } else {
                ""
            };
            return format!("{}{or}", self.kind(inner, from, within));
        }
        if let Some(inner) = inner("Vec<") {
            return format!("list of {}", self.kind(inner, from, within));
        }
        if let Some((_, inner)) = inner("BTreeMap<").and_then(|two| two.split_once(", ")) {
            return format!("object of {} by name", self.kind(inner, from, within));
        }
        match kind {
            "bool" => return "boolean".to_owned(),
            "String" | "Arc<str>" | "&'static str" | "CompactString" | "Symbol" | "PathBuf"
            | "Cow<'static, str>" => return "text".to_owned(),
            "f64" | "Micros" | "usize" => return "number".to_owned(),
            _ if kind.trim_start_matches(['u', 'i']).parse::<u8>().is_ok() => {
                return "number".to_owned();
            }
            _ if kind.starts_with(['[', '(']) => return "list".to_owned(),
            _ => {}
        }
        let name = kind.rsplit("::").next().unwrap_or(kind);
        match self.find(name, from) {
            Some((path, _)) => {
                let id = (name.to_owned(), path.to_owned());
                let heading = self.heading(&id);
                within.push(id);
                format!("[{heading}](#{})", heading.to_lowercase().replace(' ', "-"))
            }
            None => format!("`{kind}`"),
        }
    }
}

/// Comments and attributes above an item or a member.
#[derive(Debug, Default)]
struct Above {
    meaning: String,
    attributes: String,
}

impl Above {
    /// Parses a comment or attribute line, which may continue in `later` lines. Returns whether the line was one.
    fn take<'a>(&mut self, line: &str, later: &mut impl Iterator<Item = &'a str>) -> bool {
        let bare = line.trim_start();
        if let Some(comment) = bare.strip_prefix("///") {
            let space = if self.meaning.is_empty() { "" } else { " " };
            self.meaning.push_str(space);
            self.meaning.push_str(comment.trim());
            return true;
        }
        if !bare.starts_with("#[") {
            return false;
        }
        let mut attribute = bare.to_owned();
        while !attribute.ends_with(']') {
            let Some(line) = later.next() else { break };
            attribute.push_str(line.trim());
        }
        self.attributes.push_str(&attribute);
        true
    }

    /// The value of `name` in an attribute; empty if there is none.
    fn value(&self, name: &str) -> String {
        let start = format!("{name} = \"");
        let after = self.attributes.split_once(&start).map(|(_, after)| after);
        let value = after.and_then(|after| after.split('"').next());
        value.unwrap_or_default().to_owned()
    }
}

/// The members up to the end of an item.
fn members<'a>(lines: &mut impl Iterator<Item = &'a str>) -> Vec<Member> {
    let mut members = Vec::new();
    let mut above = Above::default();
    while let Some(line) = lines.next() {
        if line == "}" {
            break;
        }
        if above.take(line, lines) {
            continue;
        }
        let mut text = line.trim().to_owned();
        while !text.ends_with(',') && !text.ends_with('{') && !text.is_empty() {
            let Some(line) = lines.next() else { break };
            text.push_str(line.trim());
        }
        if text.ends_with('{') {
            // A variant with fields: its doc comment describes the fields.
            for line in lines.by_ref() {
                if line == "    }," {
                    break;
                }
            }
        }
        let Above {
            meaning,
            attributes,
        } = &above;
        let renamed = above.value("rename");
        let bare = text
            .trim_start_matches("pub ")
            .trim_start_matches("pub(crate) ");
        let bare = bare.trim_end_matches([',', '{', ' ']);
        let (name, kind) = bare.split_once(": ").unwrap_or((bare, ""));
        let name = name.split('(').next().unwrap_or(name);
        let skipped =
            attributes.contains("serde(skip)") || attributes.contains("skip_serializing)");
        if !skipped && !name.is_empty() {
            members.push(Member {
                name: if renamed.is_empty() {
                    name.trim_start_matches("r#").to_owned()
                } else {
                    renamed
                },
                kind: kind.to_owned(),
                meaning: meaning.clone(),
                flattened: attributes.contains("serde(flatten)"),
            });
        }
        above = Above::default();
    }
    members
}

/// An enum's value as serde writes it.
fn styled(name: &str, style: &str) -> String {
    let between = match style {
        "kebab-case" => "-",
        "snake_case" => "_",
        "lowercase" => "",
        _ => return name.to_owned(),
    };
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !text.is_empty() {
            text.push_str(between);
        }
        text.extend(letter.to_lowercase());
    }
    text
}
