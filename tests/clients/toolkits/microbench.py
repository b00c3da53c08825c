"""Micro-benchmarks of LiLa (Jovic & Hauswirth 2008, Table 1) in GTK 3: handlers that take a known time, and
write down how long each handling took, until its repaint at a frame's tick is done.

    python3 microbench.py BENCHMARK WORK TRUTH MS…
"""

import json
import sys
import time

import gi

gi.require_version("Gdk", "3.0")
gi.require_version("GdkX11", "3.0")
gi.require_version("Gtk", "3.0")
from gi.repository import Gdk, GdkX11, GLib, Gtk  # noqa: E402, F401

benchmark, work, truth = sys.argv[1:4]
times = [int(ms) for ms in sys.argv[4:]]
lines = []
open_handling = None
drawn = 0
frames = []
painted_height = 0


def spend(ms, handling):
    """Spends so many milliseconds, and notes on what."""
    display = Gdk.Display.get_default()
    begin, computed = time.monotonic_ns(), time.thread_time_ns()
    if work == "sleep":
        time.sleep(ms / 1000)
        handling["slept_ns"] += time.monotonic_ns() - begin
    elif work == "compute":
        while time.thread_time_ns() - computed < ms * 1000000:
            pass
    else:
        surface = frames[0].get_window().create_similar_surface(0x1000, 400, 300)
        context = __import__("cairo").Context(surface)
        while time.monotonic_ns() - begin < ms * 1000000:
            if work == "read-back":
                for n in range(100):
                    context.set_source_rgba(0.2, 0.4, 0.1 + n % 2 / 2, 0.5)
                    context.rectangle(0, 0, 400, 300)
                    context.fill()
                surface.flush()
            # Answered when all before it has been drawn.
            display.sync()
            handling["round_trips"] += 1
        took = time.monotonic_ns() - begin
        handling["waited_ns"] += max(0, took - (time.thread_time_ns() - computed))


def works(action, closes=None, time_of_event=None):
    """A handler: it spends the next time and then has shown that it did."""
    global open_handling, drawn
    begin, computed = time.monotonic_ns(), time.thread_time_ns()
    if not times:
        return
    ms = times.pop(0)
    handling = dict(benchmark=benchmark, action=action, asked_ms=ms, begin_ns=begin, end_ns=0,
                    computed_ns=computed, slept_ns=0, waited_ns=0, round_trips=0, switches=0, queued_ns=0)
    spend(ms, handling)
    if closes:
        closes.destroy()
    drawn += 1
    open_handling = handling
    time_of_event = time_of_event or Gtk.get_current_event_time()
    if time_of_event:
        handling["event_ms"] = time_of_event
    if action != "paint":
        for frame in frames:
            frame.queue_draw()
    if benchmark == "timer":
        GLib.timeout_add(150 + ms, lambda: works("timer"))


def painted(_clock):
    """A frame is done."""
    global open_handling
    if open_handling is None:
        return
    Gdk.Display.get_default().flush()
    open_handling["end_ns"] = time.monotonic_ns()
    open_handling["computed_ns"] = time.thread_time_ns() - open_handling["computed_ns"]
    # Told when the rest of what GTK has to do is done.
    GLib.idle_add(told, open_handling, priority=GLib.PRIORITY_LOW)
    open_handling = None
    if not times:
        GLib.timeout_add(200, finish)


def told(handling):
    if "event_ms" in handling:
        handling["toolkit_to_ns"] = time.monotonic_ns()
    lines.append(json.dumps(handling))


def finish():
    with open(truth, "w") as file:
        file.writelines(line + "\n" for line in lines)
    Gtk.main_quit()


def draw(area, context):
    global painted_height
    height = area.get_allocated_height()
    # Once for each size.
    if benchmark == "painting" and painted_height and height != painted_height:
        painted_height = height
        works("paint")
    context.set_source_rgb(0.2, 0.4, 0.6)
    context.paint()
    context.set_source_rgb(0.9, 0.75, 0.25)
    context.rectangle(10, 10, 50 + drawn % 100, 40)
    context.fill()


def pressed(event, does):
    # The second press of two is also told as a double click.
    if event.type == Gdk.EventType.BUTTON_PRESS:
        does()


def frame_at(x, y, width, height, on_press, menu=None, modal=False):
    window = Gtk.Window(type=Gtk.WindowType.TOPLEVEL)
    window.set_default_size(width, height)
    window.move(x, y)
    window.set_modal(modal)
    box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
    if menu:
        box.pack_start(menu, False, False, 0)
    area = Gtk.DrawingArea()
    area.add_events(Gdk.EventMask.BUTTON_PRESS_MASK | Gdk.EventMask.POINTER_MOTION_MASK)
    area.connect("draw", draw)
    if on_press:
        area.connect("button-press-event", lambda _, event: pressed(event, on_press))
    box.pack_start(area, True, True, 0)
    window.add(box)
    window.show_all()
    return window, area


def opens():
    dialog, _ = frame_at(450, 0, 300, 200, None, modal=benchmark == "modal-dialog")
    area = dialog.get_child().get_children()[0]
    area.connect("button-press-event", lambda _, event: pressed(event, lambda: closed(dialog)))
    if benchmark == "modal-dialog":
        # An event loop of the handler's own, until the dialog is closed.
        Gtk.main()


def closed(dialog):
    works("close", dialog)
    if benchmark == "modal-dialog":
        Gtk.main_quit()


def asks():
    """GTK's own dialog, in which keys go from button to button; who asked works on the answer."""
    dialog = Gtk.MessageDialog(transient_for=main, modal=True, buttons=Gtk.ButtonsType.OK_CANCEL, text="Well?")
    dialog.set_size_request(300, 200)
    dialog.move(450, 0)
    answered = []
    dialog.connect("response", lambda *_: answered.append(Gtk.get_current_event_time()))
    dialog.run()
    dialog.destroy()
    works("close", time_of_event=answered[0])


def selected(box):
    if box.get_active() >= 0:
        works("select")
        box.set_active(-1)


presses = {
    "button": lambda: works("button"),
    "two-frames": lambda: works("button"),
    "non-modal-dialog": opens,
    "modal-dialog": opens,
    "built-in-dialog": asks,
}
bar = None
if benchmark == "menu":
    bar, item, menu = Gtk.MenuBar(), Gtk.MenuItem(label="Menu"), Gtk.Menu()
    for name in ["one", "two", "three", "four", "five"]:
        entry = Gtk.MenuItem(label=name)
        entry.connect("activate", lambda _: works("item"))
        menu.append(entry)
    item.set_submenu(menu)
    bar.append(item)
main, area = frame_at(0, 0, 400, 300, presses.get(benchmark), bar)
frames.append(area)
if benchmark == "combo-box":
    style = Gtk.CssProvider()
    style.load_from_data(b"* { -GtkComboBox-appears-as-list: 1; }")
    Gtk.StyleContext.add_provider_for_screen(Gdk.Screen.get_default(), style, 600)
    box, over, fixed = Gtk.ComboBoxText(), Gtk.Overlay(), Gtk.Fixed()
    for name in ["one", "two", "three", "four"]:
        box.append_text(name)
    box.connect("changed", selected)
    fixed.put(box, 150, 95)
    main.get_child().remove(area)
    over.add(area)
    over.add_overlay(fixed)
    main.get_child().pack_start(over, True, True, 0)
    main.show_all()
if benchmark == "two-frames":
    frames.append(frame_at(450, 0, 300, 200, presses["two-frames"])[1])
if benchmark == "keyboard":
    main.connect("key-press-event", lambda *_: works("key"))
if benchmark == "motion":
    area.connect("motion-notify-event", lambda *_: works("motion"))


def ready():
    global painted_height
    painted_height = area.get_allocated_height()
    area.get_window().get_frame_clock().connect_after("after-paint", painted)
    print("ready", hex(main.get_window().get_xid()), flush=True)
    if benchmark == "timer":
        GLib.timeout_add(150, lambda: works("timer"))


GLib.timeout_add(400, ready)
Gtk.main()
