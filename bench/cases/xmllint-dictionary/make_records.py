"""Two documents of 350,000 empty elements: of 4,000 names, or each of a name of its own."""

import sys
from pathlib import Path

ELEMENTS = 350_000


def document(names: int) -> str:
    elements = (f"<key{number % names * 7919:010d}/>\n" for number in range(ELEMENTS))
    return "<keys>\n" + "".join(elements) + "</keys>\n"


folder = Path(sys.argv[1])
(folder / "shared.xml").write_text(document(4_000))
(folder / "own.xml").write_text(document(ELEMENTS))
