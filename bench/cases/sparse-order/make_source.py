"""C source as a generator of rules writes it: functions that ask for one condition after the other."""

import sys
from pathlib import Path

FUNCTIONS = 50
CONDITIONS = 600


def function(number: int) -> str:
    rules = "\n".join(f"\tif (asked({rule}))\n\t\tapply({rule});" for rule in range(CONDITIONS))
    return f"static int check{number}(int x, int y)\n{{\n\tint a = asked(y + {number});\n{rules}\n\treturn a + x;\n}}\n"


def main(folder: Path) -> None:
    functions = "\n".join(function(number) for number in range(FUNCTIONS))
    calls = "\n".join(f"\tx += check{number}(x, y);" for number in range(FUNCTIONS))
    head = "int asked(int);\nvoid apply(int);\nint check(int x, int y);\n"
    (folder / "rules.c").write_text(f"{head}\n{functions}\nint check(int x, int y)\n{{\n{calls}\n\treturn x;\n}}\n")


main(Path(sys.argv[1]))
