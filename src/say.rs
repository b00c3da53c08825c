//! The program's messages to its user: the one place that writes to standard error.
//!
//! Nobody may be there to hear it (a full disk, a reader that has gone): that is no reason to fail,
//! let alone to take a recorded program down. `eprintln!` would panic, and the lints forbid it.

use std::io::{self, Write};

use x11prof_views::plain_lines;

/// Says what it formats on a line of its own, as the program.
macro_rules! say {
    ($($words:tt)*) => { $crate::say::say_all(&format!("x11prof: {}\n", format_args!($($words)*))) };
}

/// Says `text` as it is, line feeds included.
pub(crate) fn say_all(text: &str) {
    // One write, so that lines of several threads do not mix.
    let _ = io::stderr().lock().write_all(plain_lines(text).as_bytes());
}

#[cfg(test)]
mod tests {
    /// Lints see `eprintln!` and its kin, but a file may allow them; no file of the program does.
    #[test]
    fn nothing_prints_but_through_here() {
        let mut seen = 0;
        let mut folders = vec![std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src")];
        let root = folders[0].parent().unwrap().to_owned();
        for library in [
            "protocol",
            "trace",
            "session",
            "cost-model",
            "proxy",
            "drive",
            "stacks",
            "replay",
            "analyzer",
            "views",
            "xmeasure",
        ] {
            folders.push(root.join(library).join("src"));
        }
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let text = std::fs::read_to_string(&path).unwrap();
                seen += 1;
                for lint in ["print_stderr", "print_stdout"] {
                    let named = text.contains(lint);
                    assert!(!named || path.ends_with("src/say.rs"), "{}", path.display());
                }
            }
        }
        assert!(seen > 100, "{seen} files");
    }
}
