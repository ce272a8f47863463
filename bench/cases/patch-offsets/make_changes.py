"""A long table, some of whose lines change, and the same table with much written in front of it."""

import sys
from pathlib import Path

LINES, EVERY, IN_FRONT = 1_500_000, 800, 20_000


def row(number: int, price: int) -> str:
    return f"{number:06d} part-{number * 7919 % 100_003} {price}\n"


def main() -> None:
    folder = Path(sys.argv[1])
    old = [row(i, i * 31 % 977) for i in range(LINES)]
    (folder / "table.txt").write_text("".join(f"# remark {i * 13 % 10_007}\n" for i in range(IN_FRONT)) + "".join(old))
    parts = ["--- table.txt\n+++ table.txt\n"]
    for at in range(EVERY, LINES - 10, EVERY):
        parts.append(f"@@ -{at - 2},7 +{at - 2},7 @@\n")
        parts += [" " + line for line in old[at - 3 : at]]
        parts += ["-" + old[at], "+" + row(at, at * 37 % 991)]
        parts += [" " + line for line in old[at + 1 : at + 4]]
    (folder / "prices.diff").write_text("".join(parts))


if __name__ == "__main__":
    main()
