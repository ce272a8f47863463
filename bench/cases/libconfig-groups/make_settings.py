"""The same settings of network interfaces twice: in groups of 150 settings, or of 1,500."""

import sys
from pathlib import Path

SETTINGS = 30_000


def write(path: Path, of_one: int) -> None:
    lines = []
    for first in range(0, SETTINGS, of_one):
        lines.append(f"site{first} : {{")
        lines += [f"  eth{number:05d} = {number * 31 % 997};" for number in range(first, first + of_one)]
        lines.append("};")
    path.write_text("\n".join(lines) + "\n")


write(Path(sys.argv[1]) / "small-groups.cfg", 150)
write(Path(sys.argv[1]) / "large-groups.cfg", 1500)
