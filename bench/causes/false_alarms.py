"""The same behaviour twice: any culprit is a false alarm.

python -m bench.causes.false_alarms [--runs N] [--folder FOLDER] [CASE...]

Pairs of neighbouring runs that share no recording are independent; all other ordered pairs are counted apart.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from itertools import permutations
from pathlib import Path

from bench.causes.cases import CASES, FROZEN, QUEUES, named, record, working_folder
from whyperf.engines.causes.diagnosis import find_causes
from whyperf.engines.causes.path_sentences import why
from whyperf.recording.sealed.reader import Recording


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    args = parser.parse_args()
    folder = working_folder(args.folder)
    pairs: Counter[bool] = Counter()
    alarms: Counter[bool] = Counter()
    for case in named(args.cases) if args.cases else (*CASES, *QUEUES, *FROZEN):
        if case.why_not():
            continue
        runs = [Recording(record(case, "normal", folder, number=number)) for number in range(args.runs)]
        for (first, one), (second, other) in permutations(enumerate(runs), 2):
            independent = first % 2 == 0 and second == first + 1
            causes = find_causes(other, [one])
            pairs[independent] += 1
            if causes.stalls:
                alarms[independent] += 1
                said = why(causes.graph, causes.stalls[0], compared=True)
                print(f"{case.name} {first} {second}: {said}", flush=True)
        print(
            f"{case.name}: so far {alarms[True]} false alarms in {pairs[True]} independent pairs, {alarms[False]} in "
            f"{pairs[False]} others; load {os.getloadavg()[0]:.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
