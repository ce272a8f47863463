"""Two logs of the same size: requests of a little less than a thousand letters, or of a little more."""

import sys
from pathlib import Path

LETTERS = 15_000_000


def log(length: int) -> str:
    lines = []
    for number in range(LETTERS // length):
        fields = f"host=web{number % 7} user={number * 7919 % 10007} path=/shop/{number % 97}?"
        while len(fields) < length:
            fields += f"item{len(fields) % 89}={len(fields) * number % 9973}&"
        lines.append(fields[:length] + "\n")
    return "".join(lines)


def main() -> None:
    folder = Path(sys.argv[1])
    (folder / "shorter.log").write_text(log(980))
    (folder / "longer.log").write_text(log(1020))


if __name__ == "__main__":
    main()
