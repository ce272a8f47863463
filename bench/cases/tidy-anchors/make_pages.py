"""A page of headings with anchors, twice: the names are of one length, with or without equal hashes."""

import itertools
import sys
from pathlib import Path

BLOCKS, PARAGRAPHS = 14, 10


def page(one: str, other: str) -> str:
    names = ["".join(parts) for parts in itertools.product((one, other), repeat=BLOCKS)]
    text = "<p>Which of them it was, <em>nobody</em> can tell.</p>\n"
    parts = "".join(f'<h2 id="{name}">x</h2>\n{PARAGRAPHS * text}' for name in names)
    return f"<!DOCTYPE html>\n<html>\n<head><title>t</title></head>\n<body>\n{parts}</body>\n</html>\n"


def main(folder: Path) -> None:
    # A letter counts 31 times as much as the one after it, and "b" and "C" are 31 apart.
    (folder / "spread.html").write_text(page("Ab", "Cz"))
    (folder / "equal.html").write_text(page("Ab", "BC"))


main(Path(sys.argv[1]))
