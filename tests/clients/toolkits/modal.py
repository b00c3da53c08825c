"""A GTK 3 program whose key handler opens a modal dialog (a) or a menu (m), and sleeps before that."""

import time

import gi

gi.require_version("Gdk", "3.0")
gi.require_version("Gtk", "3.0")
from gi.repository import Gdk, Gtk  # noqa: E402

SLEEP = 0.04


def key(window, event):
    name = Gdk.keyval_name(event.keyval)
    if name == "a":
        time.sleep(SLEEP)
        dialog = Gtk.MessageDialog(transient_for=window, modal=True, buttons=Gtk.ButtonsType.OK, text="Well?")
        dialog.set_title("Question")
        dialog.run()
        dialog.destroy()
    elif name == "m":
        time.sleep(SLEEP)
        window.menu.popup_at_widget(window.label, Gdk.Gravity.CENTER, Gdk.Gravity.NORTH_WEST, event)
    return False


window = Gtk.Window(title="Modal")
window.label = Gtk.Label(label="a: dialog, m: menu")
window.add(window.label)
window.set_default_size(300, 200)
window.menu = Gtk.Menu()
for text in ["One", "Two"]:
    window.menu.append(Gtk.MenuItem(label=text))
window.menu.attach_to_widget(window.label)
window.menu.show_all()
window.connect("key-press-event", key)
window.connect("destroy", Gtk.main_quit)
window.show_all()
window.present()
while Gtk.events_pending():
    Gtk.main_iteration()
print("ready", flush=True)
Gtk.main()
