//! A busy desktop: programs of several toolkits under a window manager and a compositor, a screen recorder, and
//! constant input.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::reported;
use xtask::packages::Needed;

/// The programs of the desktop, in addition to those of the demo and the tests.
pub(super) const PROGRAMS: &[Needed] = &[
    needed("openbox", "openbox"),
    needed("picom", "picom"),
    needed("mousepad", "mousepad"),
    needed("featherpad", "featherpad"),
    needed("mupdf", "mupdf"),
    needed("xdotool", "xdotool"),
    needed("xwd", "x11-apps"),
    needed("gs", "ghostscript"),
];

const fn needed(program: &'static str, package: &'static str) -> Needed {
    Needed { program, package }
}

/// The file with the names of the desktop's programs that have ended.
const ENDED: &str = "ended";

const SCRIPT: &str = "
    runs() { \"$@\"; echo \"$1: $?\" >>ended; }
    seq -f 'Line %g: the quick brown fox jumps over the lazy dog' 3000 >text
    printf '%%!PS\\n' >f.ps
    runs openbox & sleep 1
    runs picom --backend xrender &
    runs gtk3-widget-factory & runs mousepad text & runs featherpad --standalone text &
    runs xterm -e 'while true; do ls -laR /usr/share/doc | head -3000; sleep 0.5; done' &
    while [ -e page.pdf ]; do mupdf page.pdf; sleep 1; done & # a typed q ends it
    while true; do xwd -root -silent >/dev/null; sleep 0.5; done &
    sleep 3
    while true; do
      for w in $(xdotool search --onlyvisible --name .); do
        xdotool windowactivate $w 2>/dev/null; xdotool windowsize $w 700 500 2>/dev/null
        for x in 80 240 400 560; do xdotool mousemove $x 200 click 1 sleep 0.02 click 5 click 4 key Tab; done
        xdotool key --delay 10 Next Next Prior Prior; xdotool type --delay 10 'The quick brown fox.'
        xdotool windowmove $w $((RANDOM % 400)) $((RANDOM % 300)) 2>/dev/null
      done
    done";

/// A running desktop: a process group that is ended on drop.
pub(super) struct Desktop {
    group: Child,
    folder: PathBuf,
}

impl Desktop {
    /// Starts the desktop's programs on a display, in a separate folder.
    pub(super) fn start(
        display: &str,
        authority: Option<&Path>,
        folder: &Path,
    ) -> Result<Desktop, String> {
        // Creates a page to show. Without it, mupdf is skipped.
        let _ = Command::new("gs")
            .args(["-q", "-dNOPAUSE", "-dBATCH", "-sDEVICE=pdfwrite"])
            .arg(format!("-sOutputFile={}", folder.join("page.pdf").display()))
            .args(["-c", "/Helvetica findfont 30 scalefont setfont 1 1 20 { 72 700 moveto 20 string cvs show showpage } for"])
            .status();
        let _ = fs::remove_file(folder.join(ENDED));
        let mut bash = Command::new("bash");
        bash.args(["-c", SCRIPT])
            .env("DISPLAY", display)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        if let Some(authority) = authority {
            bash.env("XAUTHORITY", authority);
        }
        let group = bash.spawn().map_err(reported)?;
        let folder = folder.to_owned();
        Ok(Desktop { group, folder })
    }

    /// The programs that have ended, one per line.
    pub(super) fn ended(&self) -> String {
        fs::read_to_string(self.folder.join(ENDED)).unwrap_or_default()
    }
}

impl Drop for Desktop {
    fn drop(&mut self) {
        let group = format!("-{}", self.group.id());
        let _ = Command::new("kill").args(["-TERM", "--", &group]).status();
        let _ = self.group.wait();
    }
}
