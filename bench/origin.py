"""Chains of known cases: from the deciding variable, given here by hand, to who made it.

    python -m bench.origin [CASE...] [--deep] [--alone]

Prints a line a hop and a line a case: whether the true function is where good is said to turn into bad, whether it is
on the way at all, hops, runs and seconds. With --alone only the bad command is run, and there is no such turn.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path

from bench.cache import SubjectError
from bench.cases.case import CASES, commands, load, told
from whyperf.collect.target.program import Program, find_program
from whyperf.errors import WhyperfError
from whyperf.origin.search import FoundOrigin, search
from whyperf.origin.starts import Start, start_at_line, start_at_variable

_BUDGET_S = 600.0


@dataclass(frozen=True)
class _Begin:
    function: str
    variable: str
    last: str = ""  # word of the commands instead of the case's own: shorter runs
    words: int | None = None  # of the commands that are used


_BEGINS = {
    "hunspell-count": _Begin("HashMgr::lookup", "dp", "30000"),
    "pool-scan": _Begin("BufferPool::find_victim", "frame->dirty"),
    "kv-cluster-nodes": _Begin("describe_nodes", "server->node_count"),
    "kv-blocked-pop": _Begin("serve_blocked", "waiting->count"),
    "gateway-discard": _Begin("core_input", "size"),
    "mawk-long-lines": _Begin("enlarge_fin_buffer", "oldsize", words=5),
    "lua-long-keys": _Begin("getgeneric", "nx", "1"),
    "json-c-keys": _Begin("lh_table_lookup_entry_w_hash", "n", "1"),
    "rsync-hash-table": _Begin("hash_search", "i"),
    "sqlite-statistics": _Begin("sqlite3WhereBegin", "pIx->tnum"),
    "planner-range": _Begin("", "index.cc:51"),
}


def _start(program: Program, begin: _Begin) -> Start:
    if begin.function:
        return start_at_variable(program.path, begin.function, begin.variable)
    file, _, line = begin.variable.rpartition(":")
    return start_at_line(program.path, file, int(line))


def _words(command: list[str], begin: _Begin) -> list[str]:
    return [*command[:-1], begin.last] if begin.last else command[: begin.words]


def _searched(name: str, begin: _Begin, *, deep: bool, alone: bool) -> FoundOrigin:
    sides = commands(load(CASES / name))
    good, bad = (find_program(_words(side.command, begin), os.environ) for side in (sides.good, sides.bad))
    if name == "gateway-discard":  # two of a hundred values are seen only where all are
        words = told(Path(CASES / name))["relations"]
        good, bad = (
            Program(one.path, (one.path, *words[side].split()[1:])) for one, side in ((good, "good"), (bad, "bad"))
        )
    start, environment = _start(bad, begin), dict(os.environ)
    return search(start, good, bad, environment=environment, budget_s=_BUDGET_S, deep=deep, alone=alone)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--deep", action="store_true", help="ask runs under Valgrind where others do not tell")
    parser.add_argument("--alone", action="store_true", help="run the bad command only, and compare nothing")
    args = parser.parse_args()
    for name in args.cases or _BEGINS:
        try:
            found = _searched(name, _BEGINS[name], deep=args.deep, alone=args.alone)
        except (SubjectError, WhyperfError) as error:
            print(f"{name}: {error}")
            continue
        origin, cause = found.origin, set(load(CASES / name).truth.cause)
        for number, hop in enumerate(origin.hops):
            print(f"  {'>' if number == origin.turn else ' '} {hop.sentence}")
        print(f"    {origin.sentence}")
        functions = [hop.function.rpartition("pool::")[2] for hop in origin.hops]
        turned = origin.turn is not None and functions[origin.turn] in cause
        print(
            f"{name}: {'turn' if turned else 'on the way' if cause & set(functions) else 'not found'}, "
            f"{origin.end.value}, {len(origin.hops)} hops, {origin.runs} runs, {origin.seconds:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
