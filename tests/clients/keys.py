"""Handles keys: 'a' computes for 400 ms, all others draw at once. Prints a line once it can be typed into."""
import time
import tkinter


def handle(event):
    begun = time.monotonic()
    while event.keysym == "a" and time.monotonic() - begun < 0.4:
        pass
    canvas.create_rectangle(0, 0, 50, len(event.keysym) * 9, fill="red")
    root.update()


root = tkinter.Tk()
canvas = tkinter.Canvas(root, width=300, height=300)
canvas.pack()
root.bind("<Key>", handle)
root.focus_force()
root.update()
print("ready", flush=True)
root.after(60000, root.destroy)
root.mainloop()
