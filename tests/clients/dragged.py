"""A window with a text that is dragged, or one that shows what is dropped on it: dragged.py from|to."""
import sys

import gi

gi.require_version("Gtk", "3.0")
from gi.repository import Gdk, Gtk  # noqa: E402

TEXT = [Gtk.TargetEntry.new("UTF8_STRING", 0, 0)]
is_from = sys.argv[1] == "from"
window = Gtk.Window(title="Drag " + sys.argv[1])
window.set_default_size(200, 100)
window.move(20 if is_from else 400, 40)
label = Gtk.Label(label="drag me" if is_from else "drop here")
box = Gtk.EventBox()
box.add(label)
window.add(box)
if is_from:
    box.drag_source_set(Gdk.ModifierType.BUTTON1_MASK, TEXT, Gdk.DragAction.COPY)
    box.connect("drag-data-get", lambda _w, _c, data, _i, _t: data.set_text("dropped text", -1))
else:
    box.drag_dest_set(Gtk.DestDefaults.ALL, TEXT, Gdk.DragAction.COPY)
    box.connect("drag-data-received", lambda _w, _c, _x, _y, data, _i, _t: label.set_text(data.get_text()))
window.connect("destroy", Gtk.main_quit)
window.show_all()
Gtk.main()
