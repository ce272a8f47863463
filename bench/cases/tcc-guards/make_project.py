"""A project in one file: its units include the same guarded headers, each as if it were alone."""

import sys
from pathlib import Path

HEADERS, UNITS, RECORDS, FUNCTIONS = 100, 500, 50, 60


def header(number: int) -> str:
    records = "".join(
        f"struct record_{number}_{i} {{ unsigned long id; char name[{i % 64 + 1}]; double weights[{i % 9 + 1}]; }};\n"
        f"#define LIMIT_{number}_{i} ({i} * {number} + 7)\n"
        f"unsigned long total_{number}_{i}(const struct record_{number}_{i} *first, unsigned long count);\n"
        for i in range(RECORDS)
    )
    return f"#ifndef PART_{number}_H\n#define PART_{number}_H\n\n{records}\n#endif\n"


def unit(number: int) -> str:
    included = "".join(f'#include "part{i}.h"\n' for i in range(HEADERS))
    functions = "".join(
        f"unsigned long sum_{number}_{i}(const struct record_{i}_3 *first, unsigned long count)\n"
        "{\n    unsigned long sum = 0;\n    for (unsigned long at = 0; at < count; at++)\n"
        f"        sum += first[at].id % LIMIT_{i}_5 + total_{i}_3(first, at) * LIMIT_{i}_7;\n    return sum;\n}}\n"
        for i in range(FUNCTIONS)
    )
    return included + functions


def main() -> None:
    folder = Path(sys.argv[1])
    for number in range(HEADERS):
        (folder / f"part{number}.h").write_text(header(number))
    for number in range(UNITS):
        (folder / f"unit{number}.c").write_text(unit(number))
    (folder / "project.c").write_text("".join(f'#include "unit{i}.c"\n' for i in range(UNITS)))


if __name__ == "__main__":
    main()
