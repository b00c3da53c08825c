//! The programs that the demo and the tests run, and their Debian packages.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::run::run;

/// A program and its package.
pub struct Needed {
    /// A program's name on the PATH, or a file's full path.
    pub program: &'static str,
    /// Debian's (and Ubuntu's) package.
    pub package: &'static str,
}

const fn needed(program: &'static str, package: &'static str) -> Needed {
    Needed { program, package }
}

/// The demo's programs.
pub const DEMO: &[Needed] = &[
    needed("Xvfb", "xvfb"),
    needed("xterm", "xterm"),
    needed(
        "/usr/share/fonts/X11/misc/6x13-ISO8859-1.pcf.gz",
        "xfonts-base",
    ),
];

/// Further programs of the tests.
pub const TEST: &[Needed] = &[
    needed("x11perf", "x11-apps"),
    needed("xdpyinfo", "x11-utils"),
    needed("/usr/share/xcb/xproto.xml", "xcb-proto"),
    needed("xset", "x11-xserver-utils"),
    needed("tmux", "tmux"),
    needed("xdotool", "xdotool"),
    needed("openbox", "openbox"),
    needed("picom", "picom"),
    needed("xsel", "xsel"),
    needed("mousepad", "mousepad"),
    needed("xauth", "xauth"),
    needed("Xvnc", "tigervnc-standalone-server"),
    needed("Xephyr", "xserver-xephyr"),
    needed("Xorg", "xserver-xorg-core"),
    needed(
        "/usr/lib/xorg/modules/drivers/dummy_drv.so",
        "xserver-xorg-video-dummy",
    ),
    needed("Xwayland", "xwayland"),
    needed("weston", "weston"),
    needed("gtk3-widget-factory", "gtk-3-examples"),
    needed("mupdf", "mupdf"),
    needed("featherpad", "featherpad"),
    needed("wish", "tk"),
    needed("nabi", "nabi"),
    needed("chromium", "chromium"),
    needed("chromedriver", "chromium-driver"),
    needed("javac", "default-jdk-headless"),
    needed("/usr/share/doc/default-jre/copyright", "default-jre"),
    needed("/usr/share/doc/python3-gi/copyright", "python3-gi"),
    needed("/usr/share/doc/python3-tk/copyright", "python3-tk"),
    needed(
        "/usr/share/doc/python3-gi-cairo/copyright",
        "python3-gi-cairo",
    ),
    needed("/usr/share/doc/gir1.2-gtk-3.0/copyright", "gir1.2-gtk-3.0"),
    needed("protoc", "protobuf-compiler"),
    needed(
        "/usr/share/gocode/src/github.com/google/pprof/proto/profile.proto",
        "golang-github-google-pprof-dev",
    ),
];

/// Further programs of the decoding tests: tshark for comparison, and clients of many kinds.
pub const COVERAGE: &[Needed] = &[
    needed("tshark", "tshark"),
    needed("gtk3-widget-factory", "gtk-3-examples"),
];

/// Further programs of the validation of decoding.
pub const MORE_PROGRAMS: &[Needed] = &[
    needed("mousepad", "mousepad"),
    needed("mupdf", "mupdf"),
    needed("featherpad", "featherpad"),
    needed("glxgears", "mesa-utils"),
    needed("gtk4-widget-factory", "gtk-4-examples"),
    needed("emacs", "emacs-gtk"),
    needed("xcalc", "x11-apps"),
];

/// Programs whose start-ups are forecast.
pub const FORECAST: &[Needed] = &[
    needed("feh", "feh"),
    needed("gtkwave", "gtkwave"),
    needed("pcmanfm", "pcmanfm"),
    needed("xfig", "xfig"),
];

/// Programs of more toolkits, for the validation of episodes.
pub const TOOLKITS: &[Needed] = &[
    needed("nedit", "nedit"),
    needed("xpdf", "xpdf"),
    needed("xfig", "xfig"),
    needed("fluid", "fluid"),
    needed("dillo", "dillo"),
    needed("geany", "geany"),
    needed("chromium", "chromium"),
    needed("firefox-esr", "firefox-esr"),
    needed(
        "/usr/libexec/installed-tests/SDL2/testspriteminimal",
        "libsdl2-tests",
    ),
    needed(
        "/usr/share/doc/python3-wxgtk4.0/copyright",
        "python3-wxgtk4.0",
    ),
    needed("/usr/share/doc/python3-pyqt6/copyright", "python3-pyqt6"),
];

/// More programs of toolkits, for the validation of `diverge`.
pub const DIVERGING: &[Needed] = &[
    needed("nedit", "nedit"),
    needed("xpdf", "xpdf"),
    needed("tkcon", "tkcon"),
    needed("xzgv", "xzgv"),
    needed("gnome-text-editor", "gnome-text-editor"),
    needed("qterminal", "qterminal"),
    needed("/usr/lib/qt6/bin/designer", "designer-qt6"),
    needed("fluid", "fluid"),
    needed("dillo", "dillo"),
    needed("terminology", "terminology"),
    needed(
        "/usr/libexec/installed-tests/SDL2/testspriteminimal",
        "libsdl2-tests",
    ),
];

/// More programs that draw what is typed, and the programs that run with them, for the validation of driven sessions.
pub const EDITORS: &[Needed] = &[
    needed("openbox", "openbox"),
    needed("parcellite", "parcellite"),
    needed("ibus-daemon", "ibus"),
    needed("urxvt", "rxvt-unicode"),
    needed("st", "stterm"),
    needed("gvim", "vim-gtk3"),
    needed("abiword", "abiword"),
    needed("gnome-text-editor", "gnome-text-editor"),
    needed("qterminal", "qterminal"),
    needed("terminology", "terminology"),
];

/// Readers of exports, for their validation.
pub const EXPORTS: &[Needed] = &[
    needed("go", "golang-go"),
    needed("npm", "npm"),
    needed("/usr/share/doc/python3-venv/copyright", "python3-venv"),
];

/// Installs the missing programs of `all` with apt and prints a message. Without apt, prints the names to install.
pub fn ensure(all: &[&[Needed]]) -> Result<(), String> {
    let missing: Vec<&Needed> = all
        .iter()
        .copied()
        .flatten()
        .filter(|n| !present(n))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let mut packages: Vec<&str> = missing.iter().map(|needed| needed.package).collect();
    packages.dedup();
    let programs: Vec<&str> = missing.iter().map(|needed| needed.program).collect();
    eprintln!(
        "missing: {} (Debian packages: {})",
        programs.join(", "),
        packages.join(", ")
    );
    if !on_path("apt-get") {
        return Err(format!(
            "this machine has no apt-get; install {} with its own package manager (Fedora: \
             xorg-x11-server-Xvfb xterm xorg-x11-fonts-misc xorg-x11-apps xdpyinfo xset xauth; \
             Arch: xorg-server-xvfb xterm xorg-fonts-misc xorg-apps), then try again",
            programs.join(", ")
        ));
    }
    eprintln!("installing {} with apt-get", packages.join(" "));
    run(apt().arg("update").arg("-qq"))?;
    run(apt()
        .args(["install", "-y", "-qq", "--no-install-recommends"])
        .args(&packages))?;
    match missing.iter().find(|needed| !present(needed)) {
        None => Ok(()),
        Some(still) => Err(format!(
            "{} is still missing after installing {}",
            still.program, still.package
        )),
    }
}

/// apt-get as root, with sudo if necessary.
fn apt() -> Command {
    let root = Command::new("id")
        .arg("-u")
        .output()
        .is_ok_and(|output| output.stdout.trim_ascii() == b"0");
    let mut command = if root {
        Command::new("env")
    } else {
        Command::new("sudo")
    };
    command
        .args(["DEBIAN_FRONTEND=noninteractive", "apt-get"])
        .stdout(Stdio::null());
    command
}

fn present(needed: &Needed) -> bool {
    if needed.program.starts_with('/') {
        Path::new(needed.program).exists()
    } else {
        on_path(needed.program)
    }
}

/// True if `program` is on the PATH.
pub fn on_path(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join(program).is_file()))
}

/// Further programs of `cargo xtask validate nesting`, which interact with other clients.
pub const NESTING: &[Needed] = &[
    needed("ibus-daemon", "ibus"),
    needed("dbus-run-session", "dbus-daemon"),
];

/// Programs of `pictures`.
pub const PICTURES: &[Needed] = &[needed("chromium", "chromium"), needed("tmux", "tmux")];

/// The C compiler of the static program.
pub const MUSL: &[Needed] = &[needed("musl-gcc", "musl-tools")];

/// Debian's tools that `package` uses.
pub const PACKAGE: &[Needed] = &[
    needed("dpkg-deb", "dpkg"),
    needed("lintian", "lintian"),
    needed("/usr/sbin/debootstrap", "debootstrap"),
];

/// Programs of `package aarch64`: zstd's C sources are compiled for the other processor.
pub const AARCH64: &[Needed] = &[needed("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu")];

/// Programs of `pictures gallery`.
pub const GALLERY: &[Needed] = &[
    needed("xdotool", "xdotool"),
    needed("mousepad", "mousepad"),
    needed("featherpad", "featherpad"),
    needed("nedit", "nedit"),
    needed("mupdf", "mupdf"),
    needed(
        "/usr/share/doc/shared-mime-info/shared-mime-info-spec.pdf",
        "shared-mime-info",
    ),
];
