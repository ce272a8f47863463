"""A long text with many signs that have a meaning in a page."""

import sys
from pathlib import Path

WORDS = 200_000
BETWEEN = (" ", " & ", " < ", " and ", " so ", " on ")


def main() -> None:
    text = "".join(f"{i * 7919 % 9973}{BETWEEN[i % len(BETWEEN)]}" for i in range(WORDS))
    Path(sys.argv[1], "text.txt").write_text(text)


if __name__ == "__main__":
    main()
