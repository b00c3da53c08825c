"""Draws, creates and asks in functions of known names, by tkinter."""
import os
import tkinter


def ask_for_atoms(count):
    for number in range(count):
        root.winfo_atom(f"AN_ATOM_OF_PICTURES_{number}")


def leak_windows(count):
    for _ in range(count):
        tkinter.Frame(root).winfo_id()


class Picture:
    def draw(self, count):
        oval = canvas.create_oval(0, 0, 50, 50, fill="red", outline="")
        for step in range(count):
            canvas.coords(oval, step, step, step + 50, step + 50)
            canvas.update_idletasks()
        canvas.delete(oval)


# Calls itself, so that the same requests are made at several depths.
def draw_again(depth):
    Picture().draw(100)
    if depth > 1:
        draw_again(depth - 1)


def poll_pointer(count):
    for _ in range(count):
        root.winfo_pointerxy()


root = tkinter.Tk()
canvas = tkinter.Canvas(root, width=300, height=300)
canvas.pack()
root.update()
draw_again(3)
leak_windows(7)
ask_for_atoms(5)
poll_pointer(100)
# Without an end of the windows.
os._exit(0)
