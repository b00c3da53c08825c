"""A painter in two versions, for sessions of many users: a click sets a spot. In version 2 it redraws everything.

    python3 session_painter.py VERSION LAYERS
"""

import sys

import gi

gi.require_version("Gdk", "3.0")
gi.require_version("Gtk", "3.0")
from gi.repository import Gdk, GLib, Gtk  # noqa: E402

version, layers = int(sys.argv[1]), int(sys.argv[2])
# So large that to redraw it takes a processor more than twice as long as people tolerate.
WIDTH, HEIGHT = 700, 500
GLib.set_prgname("painter")
Gdk.set_program_class("Painter")
spots = []


def draw(_area, context):
    """Paints what is to be painted: the clip says what that is."""
    # At first there is nothing to paint.
    for layer in range(layers if spots else 1):
        context.set_source_rgba(0.2, 0.4, layer % 7 / 7, 0.3)
        context.rectangle(0, 0, WIDTH, HEIGHT)
        context.fill()
    for x, y in spots:
        context.set_source_rgb(0.9, 0.8, 0.2)
        context.rectangle(x - 5, y - 5, 10, 10)
        context.fill()


def clicked(area, event):
    spots.append((event.x, event.y))
    if version == 2:
        area.queue_draw()
    else:
        area.queue_draw_area(int(event.x) - 5, int(event.y) - 5, 10, 10)
    return True


def key(_window, event):
    if event.keyval == Gdk.KEY_F12:
        Gtk.main_quit()


window = Gtk.Window(title="Painter")
window.set_default_size(WIDTH, HEIGHT)
window.move(0, 0)
area = Gtk.DrawingArea()
area.add_events(Gdk.EventMask.BUTTON_PRESS_MASK)
area.connect("draw", draw)
area.connect("button-press-event", clicked)
window.connect("key-press-event", key)
window.add(area)
window.show_all()
GLib.timeout_add(500, lambda: print("ready", flush=True))
Gtk.main()
