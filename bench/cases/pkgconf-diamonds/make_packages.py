"""Descriptions of libraries: many that need nothing, and layers of two parts each that need the next layer.

In one folder only the first part of a layer needs the next layer, in the other one both do.
"""

import sys
from pathlib import Path

PLAIN = 2000
LAYERS = 15


def describe(folder: Path, name: str, needs: list[str]) -> None:
    text = f"Name: {name}\nDescription: a library\nVersion: 1.{len(name)}\nRequires: {', '.join(needs)}\n"
    (folder / f"{name}.pc").write_text(f"{text}Cflags: -I/opt/{name}/include\nLibs: -L/opt/{name}/lib -l{name}\n")


def make(folder: Path, both: bool) -> None:
    folder.mkdir()
    plain = [f"plain{number}" for number in range(PLAIN)]
    for name in plain:
        describe(folder, name, [])
    for layer in range(LAYERS):
        below = [f"first{layer + 1}", f"second{layer + 1}"] if layer + 1 < LAYERS else []
        describe(folder, f"first{layer}", below)
        describe(folder, f"second{layer}", below if both else [])
    describe(folder, "everything", [*plain, "first0", "second0"])


make(Path(sys.argv[1]) / "chain", both=False)
make(Path(sys.argv[1]) / "diamonds", both=True)
