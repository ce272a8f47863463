"""A window that answers keys; a key in between asks a worker for a word, and the worker asks a subprocess.

Stalled: the subprocess is slow, and the main thread waits for the worker. Needs DISPLAY.
"""

import itertools
import queue
import subprocess
import sys
import threading
import tkinter

stalled = sys.argv[1] == "stalled"
asked: "queue.Queue[int]" = queue.Queue()
answered: "queue.Queue[str]" = queue.Queue()


def speller() -> None:
    while True:
        number = asked.get()
        slow = stalled and number == 6
        subprocess.run(["sleep", "1.5" if slow else "0.001"], check=False)
        answered.put("word")


threading.Thread(target=speller, daemon=True, name="speller").start()
window = tkinter.Tk()
box = tkinter.Entry(window)
box.pack()
box.focus_force()
keys = itertools.count(1)


def pressed(_: object) -> None:
    key = next(keys)
    if key % 4 == 0:
        asked.put(key // 4)
        answered.get()
    if key == 40:
        window.after(50, window.destroy)


box.bind("<Key>", pressed)
window.after(20000, window.destroy)
window.mainloop()
