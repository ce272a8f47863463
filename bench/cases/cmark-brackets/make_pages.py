"""Pages of the same length: a catalogue with a paragraph of pictures whose brackets nest well or wrongly."""

import sys
from pathlib import Path

ENTRIES = 160_000
PICTURES = 24_000


def entry(number: int) -> str:
    return (
        f"## Article {number}\n\nOne of the *best* of its kind, see [its page](article-{number}.html);\n"
        f"![picture {number}](picture-{number}.png) shows it in **use**. Say `order {number}`.\n\n"
        f"- weight: {number % 97} kg\n- in stock: {number % 7}\n"
    )


def main(folder: Path) -> None:
    catalogue = "\n".join(map(entry, range(ENTRIES)))
    (folder / "well.md").write_text(f"{catalogue}\n{'![a]() ' * PICTURES}\n")
    (folder / "wrong.md").write_text(f"{catalogue}\n{'![[]() ' * PICTURES}\n")


main(Path(sys.argv[1]))
