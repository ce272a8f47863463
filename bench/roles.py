"""How well machine code alone tells what variables are for, with libclang's reading of the source as the truth.

    python -m bench.roles                our programs and redis, at -O2
    python -m bench.roles --only kv      one of them

Parameters and local variables, with their fields, of functions that libclang could read. Precision: how many of the
roles that machine code gave are in the source; recall: how many of the source's it gave. At -O2 a variable may be gone
where the source uses it, so recall has a bound that no reader of machine code can pass.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from bench.cache import SubjectError
from bench.subjects import PROGRAMS, own, redis
from whyperf.debuginfo.describe import describe
from whyperf.debuginfo.variable_tables.code_uses import uses_at
from whyperf.debuginfo.variable_tables.making import write_table
from whyperf.debuginfo.variable_tables.table import SCOPES
from whyperf.source.compile_flags import language_of, producers_in
from whyperf.source.roles import FunctionInSource, roles_of

_ROLES = ("loop", "condition", "argument")
_NOT_CASES = ("groundwork", "cpu_of")
_UNLIMITED_S = 600.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="PROGRAM", action="append", help="one of ours, or redis")
    chosen = parser.parse_args().only
    ours = [path.name for path in sorted(PROGRAMS.iterdir()) if path.name not in _NOT_CASES]
    total: Counter[tuple[str, str]] = Counter()
    print(f"{'program':12} {'variables':>9} {'ms':>6}  " + "  ".join(f"{role:>17}" for role in _ROLES))
    try:
        for name in ours if chosen is None else [name for name in ours if name in chosen]:
            counts = compared(own(name))
            total += counts
            print(line(name, counts))
        print(line("all of ours", total))
        if chosen is None or "redis" in chosen:
            print(line("redis", compared(redis() / "src" / "redis-server")))
    except SubjectError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def compared(program: Path) -> Counter[tuple[str, str]]:
    """How often machine code and source agree, by role; and how many variables there are."""
    with tempfile.TemporaryDirectory() as folder:
        binary = describe(str(program), cache=Path(folder))
        table = write_table(str(program), binary.build_id, Path(folder), cache=Path(folder))
        if table is None:
            raise SubjectError(f"{program} has no debug information.")
        functions, variables = binary.functions, table.variables
        files = list(functions.files)
        places = {
            row: FunctionInSource(files[row], int(functions.lines[row]), functions.names[row])
            for row in set(variables.function.tolist())
            if row >= 0
        }
        started = time.process_time()
        found = uses_at(binary, table, binary.code.scope_entry[binary.code.scope_parent < 0], _UNLIMITED_S)
        counts = Counter({("ms", ""): round((time.process_time() - started) * 1e3)})
        said = producers_in(str(program))
        languages = {file: language_of(file) for file in set(files)}
        roles = roles_of(
            list(places.values()),
            producers={file: said[one] for file, one in languages.items() if one is not None and one in said},
            folders=sorted({str(Path(file).parent) for file in files if file.startswith("/")}),
            budget_s=_UNLIMITED_S,
        )
        for number, row in enumerate(variables.function.tolist()):
            place = places.get(row)
            if place is None or SCOPES[variables.scope[number]] == "global" or not roles.knows(place.file, place.line):
                continue
            truth = roles.of(place.file, place.line, variables.name[number], int(variables.line[number]))
            told = found.uses.get(number, set())
            counts["variables", ""] += 1
            for role in _ROLES:
                counts[role, f"{role in told}{role in truth}"] += 1
        return counts


def line(name: str, counts: Counter[tuple[str, str]]) -> str:
    cells = []
    for role in _ROLES:
        right, wrong, missed = (counts[role, which] for which in ("TrueTrue", "TrueFalse", "FalseTrue"))
        precision, recall = right / max(1, right + wrong), right / max(1, right + missed)
        cells.append(f"{precision:4.0%} {recall:4.0%} of {right + missed:4}")
    return f"{name:12} {counts['variables', '']:9} {counts['ms', '']:6}  " + "  ".join(cells)


if __name__ == "__main__":
    sys.exit(main())
