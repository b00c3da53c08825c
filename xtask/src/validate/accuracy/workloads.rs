//! Programs that can be repeated, each with enough work for a server to be measured by.

use x11prof_proxy::ServerKind;

use crate::packages::Needed;

/// A workload: a shell command that runs by itself, at the display in its environment, and ends.
pub(crate) struct Workload {
    /// What it is called in the table.
    pub(crate) name: &'static str,
    /// The command.
    pub(crate) shell: &'static str,
    /// Whether it needs more than eight bits a pixel.
    deep: bool,
    /// Whether it mostly waits: the server sleeps for milliseconds before most of what it does.
    pub(crate) waits: bool,
}

impl Workload {
    /// Whether it can run on a server of `kind`.
    pub(crate) fn runs_on(&self, kind: ServerKind) -> bool {
        !(self.deep && kind == ServerKind::Xvfb8)
    }

    const fn deep(self) -> Workload {
        Workload { deep: true, ..self }
    }

    const fn waits(self) -> Workload {
        Workload {
            waits: true,
            ..self
        }
    }
}

const fn workload(name: &'static str, shell: &'static str) -> Workload {
    Workload {
        name,
        shell,
        deep: false,
        waits: false,
    }
}

/// What they run beside what the tests need.
pub(crate) const PACKAGES: &[Needed] = &[
    Needed {
        program: "xdotool",
        package: "xdotool",
    },
    Needed {
        program: "gtk3-widget-factory",
        package: "gtk-3-examples",
    },
    Needed {
        program: "mousepad",
        package: "mousepad",
    },
    Needed {
        program: "mupdf",
        package: "mupdf",
    },
    Needed {
        program: "featherpad",
        package: "featherpad",
    },
];

/// Of the half, drawn by lot, that nothing in the model is taken from, those of which that is still true: how many
/// forms of trapezoids a calibration mixes was chosen with xclock's frames in view.
pub(crate) const HELD_OUT: [&str; 7] = [
    "x11perf text",
    "painter, shared memory",
    "x11perf copies",
    "xterm jump scroll off",
    "gtk3-widget-factory",
    "mousepad",
    "small programs",
];

/// An editor that shows a long text: at a screen's size paged through with a key held down, typed
/// into, paged back.
macro_rules! editor {
    ($program:literal, $pages:literal, $apart:literal) => {
        concat!(
            "seq -f 'Line %g: the quick brown fox jumps over the lazy dog' 90000 >text
             ",
            $program,
            " text & p=$!; sleep 1.5
             w=$(xdotool search --sync --onlyvisible --class ",
            $program,
            " | tail -n 1)
             xdotool windowsize --sync $w 1200 960 mousemove 300 300 click 1
             xdotool key --delay 2 --repeat ",
            $pages,
            " --repeat-delay ",
            $apart,
            " Next
             xdotool type --delay 40 'The quick brown fox jumps over the lazy dog. '
             xdotool key --repeat 20 --repeat-delay 33 Prior
             kill $p; wait"
        )
    };
}

/// All workloads. What a person would do is done by xdotool, with pauses. Each has about half a second of an
/// Xvfb's time within a quarter of a minute: for that mupdf and featherpad page faster than a keyboard
/// repeats.
///
/// There are few of x11perf's triangles: Xephyr copies each to its host by itself, and waits for it.
/// Qt does not draw at depth 8, where featherpad ends by a segmentation fault.
pub(crate) const WORKLOADS: &[Workload] = &[
    workload(
        "x11perf drawing",
        "x11perf -repeat 1 -reps 2000 -rect10 -srect10 -seg10 -fcircle10
         x11perf -repeat 1 -reps 30 -triangle10
         x11perf -repeat 1 -reps 500 -rect100 -line100 -dline100 -circle10",
    ),
    workload(
        "x11perf text",
        "x11perf -repeat 1 -reps 45000 -ftext -f9text -fitext -f9itext -tr10text",
    ),
    workload(
        "x11perf images",
        "x11perf -repeat 1 -reps 10000 -putimage10 -putimage100 -getimage100
         x11perf -repeat 1 -reps 150 -putimage500",
    ),
    workload(
        "x11perf shared memory",
        "x11perf -repeat 1 -reps 20000 -shmput10 -shmput100 -shmget100
         x11perf -repeat 1 -reps 1000 -shmput500",
    ),
    workload("painter, shared memory", "$EXAMPLES/shm_painter 24000"),
    workload(
        "x11perf copies",
        "x11perf -repeat 1 -reps 65000 -scroll100 -copywinwin10 -copywinwin100 -copypixwin100",
    ),
    workload(
        "x11perf windows",
        "x11perf -repeat 1 -reps 15000 -subs 25 -create -map -unmap -destroy -resize -umove",
    ),
    workload(
        "x11perf round trips",
        "x11perf -repeat 1 -reps 16000 -prop -getimage10",
    ),
    workload(
        "xterm long text",
        "xterm -e 'for i in 1 2 3 4; do seq 1 66000; done'",
    ),
    workload(
        "xterm jump scroll off",
        "xterm +j -e 'for i in 1 2 3; do ls -laR /usr/share/doc | head -12000; done'",
    ),
    workload(
        "xclock",
        "for i in 1 2 3 4 5 6 7 8 9 10; do timeout 6 xclock -update 0.01 & done; wait",
    ),
    workload(
        "mupdf",
        "python3 -c '
import sys
page = b\"BT /F1 12 Tf 40 800 Td 14 TL \" + b\"\".join(
    b\"(The quick brown fox jumps over the lazy dog, line %d) Tj T* \" % i for i in range(50)) + b\"ET\"
pages = 1140
out = [b\"%PDF-1.4\\n\"]; at = []
def put(body):
    at.append(sum(map(len, out))); out.append(b\"%d 0 obj %s endobj\\n\" % (len(at), body))
put(b\"<</Type/Catalog/Pages 2 0 R>>\")
put(b\"<</Type/Pages/Count %d/Kids[%s]>>\" % (pages, b\" \".join(b\"%d 0 R\" % (5 + i) for i in range(pages))))
put(b\"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>\")
put(b\"<</Length %d>>stream\\n%s\\nendstream\" % (len(page), page))
for i in range(pages):
    put(b\"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R/Resources<</Font<</F1 3 0 R>>>>>>\")
start = sum(map(len, out))
out.append(b\"xref\\n0 %d\\n0000000000 65535 f \\n\" % (len(at) + 1) + b\"\".join(b\"%010d 00000 n \\n\" % a for a in at))
out.append(b\"trailer<</Size %d/Root 1 0 R>>\\nstartxref\\n%d\\n%%%%EOF\" % (len(at) + 1, start))
open(\"pages.pdf\", \"wb\").write(b\"\".join(out))'
         mupdf -r 110 pages.pdf & p=$!
         xdotool search --sync --onlyvisible --class mupdf >/dev/null
         xdotool mousemove 300 300 sleep 1 key --delay 2 --repeat 1130 --repeat-delay 14 Next
         kill $p; wait",
    )
    .waits(),
    workload(
        "gtk3-widget-factory",
        "gtk3-widget-factory & p=$!; sleep 1.5
         for i in 1 2 3 4 5 6 7 8 9 10 2 4 6; do for x in 100 250 400 550 700; do
           xdotool mousemove $x $((56 * i)) sleep 0.05 click 1 sleep 0.05 click 5 key Tab sleep 0.05
         done; done
         kill $p; wait",
    )
    .waits(),
    workload("mousepad", editor!("mousepad", 200, 40)).waits(),
    workload("featherpad (Qt)", editor!("featherpad", 1300, 10))
        .deep()
        .waits(),
    workload(
        "small programs",
        "for i in $(seq 1 850); do xlsfonts >/dev/null; xdpyinfo >/dev/null; xset q >/dev/null; done",
    ),
];

#[cfg(test)]
mod tests {
    use super::{HELD_OUT, WORKLOADS};

    #[test]
    fn all_that_is_held_out_is_run() {
        let held = WORKLOADS.iter().filter(|it| HELD_OUT.contains(&it.name));
        assert_eq!(held.count(), HELD_OUT.len());
    }
}
