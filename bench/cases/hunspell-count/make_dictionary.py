"""A dictionary of names twice: its first line tells how many there are, or how many there were when it was begun."""

import sys
from pathlib import Path

WORDS, AT_FIRST = 120_000, 2_000
SYLLABLES = ["ka", "ro", "mi", "ten", "sul", "ba", "nor", "li", "vek", "da", "shu", "per"]


def word(number: int) -> str:
    parts = []
    while number or not parts:
        number, part = divmod(number, len(SYLLABLES))
        parts.append(SYLLABLES[part])
    return "".join(parts)


folder = Path(sys.argv[1])
words = [word(number * 7919 + 5000) for number in range(WORDS)]
rules = "SET UTF-8\nTRY esianrtolcdugmphbyfvkwz\nSFX S Y 1\nSFX S 0 s .\n"
for name, count in {"kept-up": WORDS, "as-begun": AT_FIRST}.items():
    (folder / f"{name}.aff").write_text(rules)
    (folder / f"{name}.dic").write_text(f"{count}\n" + "".join(f"{word}/S\n" for word in words))
