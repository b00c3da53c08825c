//! Public bug reports about round trips, each reproduced as a small client:
//!
//!     bug_reports keymap [together]    78 serial round trips, or 3 (xkbcommon/libxkbcommon#216)
//!     bug_reports windows N            8 serial round trips for each of N windows (davatorium/rofi#2299)
//!     bug_reports probe PID            GetScreenResources of a server that is stopped meanwhile, like a server that
//!                                      probes its outputs (bencevans/screenshot-desktop#303)
//!     bug_reports capture N            N pictures of the whole screen without MIT-SHM (BoboTiG/python-mss#431)
//!     bug_reports motion N             4 round trips for each of N motion events (brndnmtthws/conky#1886)
//!     bug_reports window N             N round trips, a window with a frame, then others
//!     bug_reports colours N            QueryColors of one pixel before each of N texts (XQuartz#397)
//!     bug_reports selections N [sync]  N ConvertSelections, each with a wait for SelectionNotify, or with GetInputFocus
//!                                      until it is there (vim/vim#7259)

use std::error::Error;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use x11rb::connection::{Connection, RequestConnection};
use x11rb::protocol::Event;
use x11rb::protocol::randr::ConnectionExt as _;
use x11rb::protocol::xkb::{ConnectionExt as _, NameDetail};
use x11rb::protocol::xproto::{
    Atom, AtomEnum, ConnectionExt as _, CreateGCAux, CreateWindowAux, EventMask, ImageFormat,
    PropMode, Rectangle, Window, WindowClass,
};
use x11rb::rust_connection::RustConnection;
use x11rb::wrapper::ConnectionExt as _;

type Done = Result<(), Box<dyn Error>>;

/// Number of atoms of the keymap's names.
const NAMES: usize = 75;

fn main() -> Done {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (x, number) = x11rb::connect(None)?;
    let root = x.setup().roots.get(number).ok_or("no such screen")?.root;
    match words.as_slice() {
        ["keymap"] => keymap(&x, false),
        ["keymap", "together"] => keymap(&x, true),
        ["windows", n] => windows(&x, root, n.parse()?),
        ["probe", pid] => probe(&x, root, pid.parse()?),
        ["capture", n] => capture(&x, root, n.parse()?),
        ["motion", n] => motion(&x, root, n.parse()?),
        ["window", n] => window_with_frame(&x, root, n.parse()?),
        ["colours", n] => colours(&x, root, n.parse()?),
        ["selections", n] => selections(&x, root, n.parse()?, false),
        ["selections", n, "sync"] => selections(&x, root, n.parse()?, true),
        _ => Err("unknown words".into()),
    }
}

/// Requests the names of the keyboard's types and levels, with serial or pipelined atom requests.
fn keymap(x: &RustConnection, together: bool) -> Done {
    const CORE_KEYBOARD: u16 = 0x100;
    x.extension_information("XKEYBOARD")?
        .ok_or("no XKEYBOARD")?;
    let use_it = x.xkb_use_extension(1, 0)?;
    if !together {
        use_it.reply()?;
    }
    let names = NameDetail::KEY_TYPE_NAMES
        | NameDetail::KT_LEVEL_NAMES
        | NameDetail::INDICATOR_NAMES
        | NameDetail::VIRTUAL_MOD_NAMES
        | NameDetail::GROUP_NAMES;
    let names = x.xkb_get_names(CORE_KEYBOARD, names)?.reply()?.value_list;
    let mut atoms: Vec<Atom> = names.type_names.unwrap_or_default();
    atoms.extend(
        names
            .kt_level_names
            .into_iter()
            .flat_map(|levels| levels.kt_level_names),
    );
    atoms.extend(names.indicator_names.into_iter().flatten());
    atoms.extend(names.virtual_mod_names.into_iter().flatten());
    atoms.extend(names.groups.into_iter().flatten());
    atoms.retain(|atom| *atom != 0);
    atoms.sort_unstable();
    atoms.dedup();
    let atoms = atoms
        .get(..NAMES)
        .ok_or(format!("only {} names", atoms.len()))?;
    if !together {
        for atom in atoms {
            x.get_atom_name(*atom)?.reply()?;
        }
        return Ok(());
    }
    let asked: Result<Vec<_>, _> = atoms.iter().map(|atom| x.get_atom_name(*atom)).collect();
    // Wait for the last reply first: the earlier replies have arrived by then.
    for name in asked?.into_iter().rev() {
        name.reply()?;
    }
    Ok(())
}

fn new_window(
    x: &RustConnection,
    root: Window,
    wants: EventMask,
) -> Result<Window, Box<dyn Error>> {
    let window = x.generate_id()?;
    let class = WindowClass::INPUT_OUTPUT;
    let wants = CreateWindowAux::new().event_mask(wants);
    x.create_window(0, window, root, 0, 0, 400, 300, 0, class, 0, &wants)?;
    Ok(window)
}

/// Makes eight round trips for each window of a list.
fn windows(x: &RustConnection, root: Window, n: usize) -> Done {
    let all: Result<Vec<Window>, _> = (0..n)
        .map(|_| new_window(x, root, EventMask::NO_EVENT))
        .collect();
    let list = x.intern_atom(false, b"_NET_CLIENT_LIST")?.reply()?.atom;
    x.change_property32(PropMode::REPLACE, root, list, AtomEnum::WINDOW, &all?)?;
    let listed = x
        .get_property(false, root, list, AtomEnum::WINDOW, 0, 1000)?
        .reply()?;
    let properties = [
        AtomEnum::WM_NAME,
        AtomEnum::WM_CLASS,
        AtomEnum::WM_HINTS,
        AtomEnum::WM_ICON_NAME,
        AtomEnum::WM_NORMAL_HINTS,
        AtomEnum::WM_TRANSIENT_FOR,
    ];
    for window in listed.value32().ok_or("no list")? {
        x.get_window_attributes(window)?.reply()?;
        x.get_geometry(window)?.reply()?;
        for property in properties {
            x.get_property(false, window, property, AtomEnum::ANY, 0, 100)?
                .reply()?;
        }
    }
    Ok(())
}

/// Requests the outputs from a server that is stopped for 400 ms.
fn probe(x: &RustConnection, root: Window, pid: i32) -> Done {
    let server = Pid::from_raw(pid).ok_or("no process")?;
    x.randr_query_version(1, 5)?.reply()?;
    for _ in 0..5 {
        x.randr_get_screen_resources_current(root)?.reply()?;
    }
    kill_process(server, Signal::STOP)?;
    let asked = x.randr_get_screen_resources(root)?;
    x.flush()?;
    std::thread::sleep(Duration::from_millis(400));
    kill_process(server, Signal::CONT)?;
    asked.reply()?;
    Ok(())
}

/// Captures the whole screen `n` times.
fn capture(x: &RustConnection, root: Window, n: usize) -> Done {
    let size = x.get_geometry(root)?.reply()?;
    for _ in 0..n {
        let format = ImageFormat::Z_PIXMAP;
        x.get_image(format, root, 0, 0, size.width, size.height, u32::MAX)?
            .reply()?;
    }
    Ok(())
}

/// Queries the window under the pointer at each motion event.
fn motion(x: &RustConnection, root: Window, n: i16) -> Done {
    let window = new_window(x, root, EventMask::POINTER_MOTION | EventMask::EXPOSURE)?;
    x.map_window(window)?;
    wait_for(x, |event| matches!(event, Event::Expose(_)))?;
    for step in 1..=n {
        x.warp_pointer(x11rb::NONE, window, 0, 0, 0, 0, step, step)?;
        x.flush()?;
        wait_for(x, |event| matches!(event, Event::MotionNotify(_)))?;
        let pointer = x.query_pointer(root)?.reply()?;
        let at = x.translate_coordinates(root, window, pointer.root_x, pointer.root_y)?;
        at.reply()?;
        x.query_tree(root)?.reply()?;
        x.get_window_attributes(window)?.reply()?;
    }
    Ok(())
}

/// Interns atoms, shows a window with contents, and interns more atoms when the window is shown.
fn window_with_frame(x: &RustConnection, root: Window, n: usize) -> Done {
    for number in 0..n {
        x.intern_atom(false, format!("BEFORE_{number}").as_bytes())?
            .reply()?;
    }
    let window = new_window(x, root, EventMask::EXPOSURE)?;
    let gc = x.generate_id()?;
    x.create_gc(gc, window, &CreateGCAux::new())?;
    x.map_window(window)?;
    wait_for(x, |event| matches!(event, Event::Expose(_)))?;
    let item = Rectangle {
        x: 10,
        y: 10,
        width: 50,
        height: 50,
    };
    x.poly_fill_rectangle(window, gc, &[item])?;
    x.flush()?;
    // Longer than the server may be preempted: the idle time ends the start-up.
    std::thread::sleep(Duration::from_millis(200));
    for number in 0..3 {
        x.intern_atom(false, format!("LATER_{number}").as_bytes())?
            .reply()?;
    }
    Ok(())
}

fn colours(x: &RustConnection, root: Window, n: usize) -> Done {
    let screen = x.setup().roots.first().ok_or("no screen")?;
    let window = new_window(x, root, EventMask::EXPOSURE)?;
    let gc = x.generate_id()?;
    x.create_gc(gc, window, &CreateGCAux::new())?;
    x.map_window(window)?;
    wait_for(x, |event| matches!(event, Event::Expose(_)))?;
    for _ in 0..n {
        x.query_colors(screen.default_colormap, &[screen.white_pixel])?
            .reply()?;
        x.image_text8(window, gc, 5, 12, b"label")?;
    }
    x.flush()?;
    Ok(())
}

fn selections(x: &RustConnection, root: Window, n: usize, synchronises: bool) -> Done {
    let window = new_window(x, root, EventMask::NO_EVENT)?;
    let is_answer = |event: &Event| matches!(event, Event::SelectionNotify(_));
    for _ in 0..n {
        x.convert_selection(
            window,
            AtomEnum::PRIMARY.into(),
            AtomEnum::STRING.into(),
            AtomEnum::CUT_BUFFER0,
            0_u32,
        )?;
        if !synchronises {
            wait_for(x, is_answer)?;
            continue;
        }
        loop {
            x.get_input_focus()?.reply()?;
            if x.poll_for_event()?.as_ref().is_some_and(is_answer) {
                break;
            }
        }
    }
    Ok(())
}

fn wait_for(x: &RustConnection, wanted: impl Fn(&Event) -> bool) -> Done {
    x.flush()?;
    while !wanted(&x.wait_for_event()?) {}
    Ok(())
}
