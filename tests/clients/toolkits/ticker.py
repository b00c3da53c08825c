"""A program that looks for something to do every 15 ms, ignores keys, and draws once in two seconds."""

import gi

gi.require_version("Gtk", "3.0")
from gi.repository import GLib, Gtk  # noqa: E402

ticks = 0


def draw(_area, context):
    context.set_source_rgb(0.9, 0.75, 0.25)
    context.rectangle(10, 10, 50 + ticks % 50, 40)
    context.fill()


def tick():
    global ticks
    ticks += 1
    if ticks % 133 == 0:
        area.queue_draw()
    return True


window, area = Gtk.Window(), Gtk.DrawingArea()
window.set_default_size(400, 300)
area.connect("draw", draw)
window.add(area)
window.show_all()
GLib.timeout_add(15, tick)
GLib.timeout_add(400, lambda: print("ready 0x0", flush=True))
Gtk.main()
