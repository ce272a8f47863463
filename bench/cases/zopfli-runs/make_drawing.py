"""A drawing with much white in it, as pixels: a few strokes, and notes beside it."""

import sys
from pathlib import Path

WIDTH, HEIGHT, NOTES = 1600, 200, 20_000


def main() -> None:
    pixels = bytearray(b"\xff" * (WIDTH * HEIGHT))
    for stroke in range(12):
        for step in range(14):
            at = (stroke * 9 + step * 3 % 5) * WIDTH + (stroke * 331 + step * 3) % WIDTH
            pixels[at : at + 3] = bytes((stroke * 17 % 200, 40, 90))
    notes = "".join(f"stroke {i * 37 % 101} from {i * 7919 % 1601} to {i * 104729 % 977}\n" for i in range(NOTES // 25))
    Path(sys.argv[1], "drawing.raw").write_bytes(notes.encode() + pixels)


if __name__ == "__main__":
    main()
