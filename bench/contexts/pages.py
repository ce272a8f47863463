"""`python pages.py COUNT`: renders tables of texts, escaped by markupsafe's C extension. A subject, not a benchmark."""

from __future__ import annotations

import json
import sys

from markupsafe import escape  # type: ignore[import-not-found]


def row(number: int) -> str:
    cells = (f"<item {number}>", f"{number * 7919 % 1000} & more", json.dumps({"id": number, "tags": [number] * 5}))
    return "".join(f"<td>{escape(cell)}</td>" for cell in cells)


def page(number: int) -> int:
    rows = sorted((row(number * 40 + line) for line in range(40)), key=len)
    return len("\n".join(f"<tr>{text}</tr>" for text in rows))


print(sum(page(number) for number in range(int(sys.argv[1]))))
