"""How well two builds' code is told apart: on every case that compares two, which functions are said to differ.

python -m bench.code_changes              all such cases
python -m bench.code_changes --only ID    this one; may be repeated

Beside it, what comparing the bytes of every function gives, and comparing their sizes: two builds put everything at
other addresses, so that most functions with a call or a global variable have other bytes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.cache import SubjectError
from bench.cases.case import Case, all_cases, commands
from bench.cases.ranks import rank
from whyperf.debuginfo.binary import Binary
from whyperf.debuginfo.describe import describe
from whyperf.debuginfo.fingerprints import fingerprints

Codes = dict[str, set[int]]


@dataclass(frozen=True)
class Compared:
    functions: int
    by_fingerprint: list[str]
    by_bytes: list[str]
    by_size: list[str]
    seconds: float  # for the fingerprints of both


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], metavar="ID", help="this case; may be repeated")
    options = parser.parse_args()
    print(
        "| case | functions | other fingerprint | other bytes | other size | the cause among them | CPU, both builds |"
    )
    print("|---|---|---|---|---|---|---|")
    for case in all_cases():
        if options.only and case.id not in options.only:
            continue
        try:
            compared = _compared(case)
        except SubjectError as error:
            print(f"{case.id}: {error}", file=sys.stderr)
            continue
        if compared is not None:
            counts = " | ".join(str(len(n)) for n in (compared.by_fingerprint, compared.by_bytes, compared.by_size))
            found = "yes" if rank(compared.by_fingerprint, case.truth.cause) else "no"
            print(f"| {case.id} | {compared.functions} | {counts} | {found} | {compared.seconds:.2f} s |", flush=True)
    return 0


def _compared(case: Case) -> Compared | None:
    """None where both sides run the same file."""
    wanted = commands(case)
    files = [side.command[0] for side in (wanted.good, wanted.bad)]
    if files[0] == files[1]:
        return None
    good, bad = map(describe, files)
    started = time.process_time()
    good_codes, bad_codes = _fingerprints(good), _fingerprints(bad)
    seconds = time.process_time() - started
    return Compared(
        len(bad_codes),
        _differing(good_codes, bad_codes),
        _differing(_of_bodies(good, hash), _of_bodies(bad, hash)),
        _differing(_of_bodies(good, len), _of_bodies(bad, len)),
        seconds,
    )


def _differing(good: Codes, bad: Codes) -> list[str]:
    return sorted(name for name, codes in bad.items() if codes - good.get(name, set()))


def _fingerprints(binary: Binary) -> Codes:
    with tempfile.TemporaryDirectory() as empty:
        told = fingerprints(binary, np.zeros(0, np.int32), Path(empty))
    return _by_name(binary, zip(told.function.tolist(), told.code.tolist(), strict=True))


def _of_bodies(binary: Binary, code_of: Callable[[bytes], int]) -> Codes:
    code, elf = binary.code, binary.elf
    assert elf is not None
    rows = zip(code.scope_function[code.body_scope], code.body_low, code.body_high, strict=True)
    return _by_name(binary, ((int(f), code_of(elf.code(int(low), int(high)))) for f, low, high in rows))


def _by_name(binary: Binary, codes: Iterator[tuple[int, int]]) -> Codes:
    found: defaultdict[str, set[int]] = defaultdict(set)
    for function, code in codes:
        found[binary.functions.names[function]].add(code)
    return dict(found)


if __name__ == "__main__":
    sys.exit(main())
