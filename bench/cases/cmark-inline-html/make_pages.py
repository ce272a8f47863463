"""A manual of ordinary prose with a page of templates: `<?` opens a tag there that nothing ever closes."""

import random
import sys
from pathlib import Path

SECTIONS = 110_000
TAGS = 15_000
WORDS = (
    "the",
    "of",
    "a",
    "to",
    "is",
    "in",
    "that",
    "it",
    "with",
    "as",
    "for",
    "on",
    "which",
    "if",
    "may",
    "not",
    "all",
    "how",
)


def section(chance: random.Random, number: int) -> str:
    words = chance.choices(WORDS, k=90)
    words[10] = f"*{words[10]}*"
    words[30] = f"[{words[30]}](page-{number}.html)"
    words[50] = f"`{words[50]}`"
    words[70] = f"<b>{words[70]}</b>"
    return f"## Section {number}\n\n{' '.join(words)}\n\n- {words[0]}\n- {words[1]} **{words[2]}**\n"


def main(folder: Path) -> None:
    chance = random.Random(1)
    prose = "\n".join(section(chance, number) for number in range(SECTIONS))
    templates = "\n".join(f"{chance.choice(WORDS)} <?{chance.choice(WORDS)}" for _ in range(TAGS))
    (folder / "manual.md").write_text(f"{prose}\n# Templates\n\n{templates}\n")


main(Path(sys.argv[1]))
