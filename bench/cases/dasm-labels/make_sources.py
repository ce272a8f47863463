"""A program of 512 routines that call one another, twice: their labels are of one length, and differ in few letters."""

import itertools
import sys
from pathlib import Path

BLOCKS, LINES, NAMES = 9, 56, 8


def source(one: str, other: str) -> str:
    labels = ["".join(parts) for parts in itertools.product((one, other), repeat=BLOCKS)]
    lines = ["        processor 6502", "        org $1000"]
    for number, label in enumerate(labels):
        lines.append(label)
        for line in range(LINES):
            places = (number * (line * NAMES + name + 2) * 7919 % len(labels) for name in range(NAMES))
            lines.append(f"        lda #<({'+'.join(labels[place] for place in places)})")
        lines.append("        rts")
    return "\n".join(lines) + "\n"


def main(folder: Path) -> None:
    # Of the second pair both sums are the same: one more, two less, one more.
    (folder / "spread.asm").write_text(source("ccc", "dag"))
    (folder / "same-sums.asm").write_text(source("ccc", "dad"))


main(Path(sys.argv[1]))
