"""What a compiler writes about the dependencies of a large project: rules for objects, each with its headers."""

import sys
from pathlib import Path

OBJECTS = 6500
HEADERS = 60

rules = [
    f"objects/part{number}.o: sources/part{number}.c "
    + " ".join(f"include/header{(number * 7 + header * 13) % 900}.h" for header in range(HEADERS))
    for number in range(OBJECTS)
]
(Path(sys.argv[1]) / "rules.mk").write_text("\n".join(["nothing: ;", *rules]) + "\n")
