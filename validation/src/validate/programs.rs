//! Programs for validation, with user actions sent by xdotool, and pauses. Half of them were not used during the
//! development of the model: no cost, factor or rule was checked with them.

use xtask::packages::Needed;

/// A program that ends by itself and uses the display in its environment.
pub(crate) struct Program {
    /// The name in tables.
    pub(crate) name: &'static str,
    /// The command for sh, run in a separate folder.
    pub(crate) shell: &'static str,
    /// True if the program was not used to develop the model.
    pub(crate) new: bool,
    needed: Needed,
}

const fn program(
    name: &'static str,
    program: &'static str,
    package: &'static str,
    shell: &'static str,
) -> Program {
    Program {
        name,
        shell,
        new: true,
        needed: Needed { program, package },
    }
}

impl Program {
    const fn known(self) -> Program {
        Program { new: false, ..self }
    }
}

/// The packages of all programs.
pub(crate) fn packages() -> Vec<Needed> {
    packages_of(PROGRAMS)
}

/// The packages of `programs` and of their drivers.
pub(crate) fn packages_of(programs: &[Program]) -> Vec<Needed> {
    let own = programs.iter().map(|program| Needed { ..program.needed });
    let xdotool = Needed {
        program: "xdotool",
        package: "xdotool",
    };
    own.chain([xdotool]).collect()
}

/// A text to edit, of some pages.
macro_rules! text {
    () => {
        "seq -f 'Line %g: the quick brown fox jumps over the lazy dog' 5000 >text\n"
    };
}

/// Opens a text, pages through it, types, and exits.
macro_rules! edited {
    ($command:literal, $class:literal) => {
        concat!(
            text!(),
            "timeout -k 1 12 ",
            $command,
            " text & sleep 1.5
             w=$(timeout 5 xdotool search --sync --onlyvisible --class ",
            $class,
            " | tail -n 1)
             xdotool windowsize $w 900 700 mousemove 300 300 click 1 sleep 0.3
             xdotool key --delay 30 --repeat 60 Next
             xdotool type --delay 40 'The quick brown fox jumps over the lazy dog. '
             sleep 0.5; kill $!; wait"
        )
    };
}

/// Moves the pointer and turns the wheel over a program's window.
macro_rules! pointed {
    ($before:literal, $command:literal) => {
        concat!(
            $before,
            "\n timeout -k 1 12 ",
            $command,
            " & sleep 2
             for x in 80 160 240 320 400 480; do
               xdotool mousemove $x 150 sleep 0.1 click 1 sleep 0.1 click 5 key Tab sleep 0.1 click 4
               xdotool mousemove $x 300 sleep 0.1 key space sleep 0.1
             done
             sleep 0.5; kill $!; wait"
        )
    };
}

/// A picture of 640x480 pixels.
macro_rules! picture {
    () => {
        "python3 -c 'import sys; sys.stdout.buffer.write(b\"P6 640 480 255\\n\" + bytes((x * y >> s) & 255 for y in range(480) for x in range(640) for s in (0, 4, 8)))' >picture.ppm"
    };
}

/// The programs.
pub(crate) const PROGRAMS: &[Program] = &[
    program("xterm", "xterm", "xterm", "timeout -k 1 8 xterm -e 'ls -laR /usr/share/doc | head -20000'").known(),
    program("gtk3-widget-factory (GTK 3)", "gtk3-widget-factory", "gtk-3-examples",
        pointed!("", "gtk3-widget-factory")).known(),
    program("mousepad (GTK 3)", "mousepad", "mousepad", edited!("mousepad", "mousepad")).known(),
    program("featherpad (Qt 5)", "featherpad", "featherpad", edited!("featherpad", "featherpad")).known(),
    program("emacs", "emacs", "emacs-gtk", edited!("emacs -Q", "emacs")).known(),
    program("scite (GTK 3)", "scite", "scite", edited!("scite", "scite")).known(),
    program("xclock (Xaw)", "xclock", "x11-apps",
        "for i in 1 2 3; do timeout -k 1 4 xclock -update 0.02 & done; wait").known(),
    program("wish (Tk)", "wish", "tk", "cat >t.tcl <<'END'
text .t; button .b -text Go -command {.t insert 1.0 \"line\\n\"}; canvas .c -width 300 -height 200
pack .b .t .c; focus .t
proc tick {n} { .c delete all; for {set i 0} {$i<40} {incr i} {.c create line [expr $i*7] 0 [expr $n%300] 200 -fill blue}
  if {$n<120} {after 25 tick [expr $n+1]} else {exit} }
after 1500 tick 0
END
timeout -k 1 12 wish t.tcl & sleep 1; xdotool mousemove 200 200 click 1
xdotool type --delay 40 'The quick brown fox jumps over the lazy dog.'; wait").known(),
    program("urxvt", "urxvt", "rxvt-unicode", "timeout -k 1 8 urxvt -e sh -c 'ls -laR /usr/share/doc | head -20000'"),
    program("geany (GTK 3)", "geany", "geany", edited!("geany -c cfg", "geany")),
    program("xfig (Xaw)", "xfig", "xfig", pointed!("", "xfig")),
    program("feh (imlib2)", "feh", "feh", concat!(picture!(), "\n timeout -k 1 8 feh -. picture.ppm & sleep 1
for k in Up Up Up Down Down Left Right Up Down Up; do xdotool key $k sleep 0.15; done; sleep 0.5; kill $!; wait")),
    program("gnuplot (Qt or x11)", "gnuplot", "gnuplot-x11", "cat >p.gp <<'END'
set term x11
do for [i=1:25] { plot sin(x*i/5.0) with lines, cos(x*i/7.0) with points; pause 0.05 }
END
timeout -k 1 12 gnuplot p.gp"),
    program("zathura (GTK 3)", "zathura", "zathura", pointed!("printf '%%!PS\\n' >f.ps", "zathura")),
    program("xcalc (Xaw)", "xcalc", "x11-apps", "timeout -k 1 8 xcalc & sleep 1; xdotool mousemove 60 200
for i in 1 2 3; do xdotool type --delay 30 '123+456='; done; sleep 0.5; kill $!; wait"),
    program("xzgv (GTK 2)", "xzgv", "xzgv", concat!(picture!(), "\n timeout -k 1 8 xzgv picture.ppm & sleep 1.5
for k in z z d d s s; do xdotool key $k sleep 0.2; done; sleep 0.5; kill $!; wait")),
];

/// A program that a rule selected; the user's actions are the same in each.
macro_rules! drawn {
    ($name:literal, $path:literal, $package:literal) => {
        program($name, $path, $package, pointed!("", $path))
    };
}

/// Programs selected by a rule from Debian 12's packages, so that no person chose them: packages that depend on
/// libx11-6, are not libraries, bindings or drivers, and have at most 20 MB; in the order of the SHA-256 of their
/// names, the first twelve with a program of the package's name that shows a window within 5 s and runs for another 4
/// s without arguments or settings.
pub(crate) const DRAWN: &[Program] = &[
    drawn!("bubblefishymon (Xlib)", "bubblefishymon", "bubblefishymon"),
    drawn!("nemo (GTK 3)", "nemo", "nemo"),
    drawn!("surf (WebKit)", "surf", "surf"),
    drawn!("gtklp (GTK 2)", "gtklp", "gtklp"),
    drawn!("wmusic (Xlib)", "wmusic", "wmusic"),
    drawn!("eureka (FLTK)", "eureka", "eureka"),
    drawn!("xkeycaps (Xaw)", "xkeycaps", "xkeycaps"),
    drawn!("tgif (Xlib)", "tgif", "tgif"),
    drawn!("smplayer (Qt 5)", "smplayer", "smplayer"),
    drawn!("gtimer (GTK 2)", "gtimer", "gtimer"),
    drawn!("minetest (GL)", "/usr/games/minetest", "minetest"),
    drawn!("gromit-mpx (GTK 3)", "gromit-mpx", "gromit-mpx"),
];

#[cfg(test)]
mod tests {
    use super::PROGRAMS;

    #[test]
    fn half_of_the_programs_are_new() {
        let new = PROGRAMS.iter().filter(|program| program.new).count();
        assert_eq!(new * 2, PROGRAMS.len());
    }
}
