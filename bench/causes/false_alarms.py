"""The same behaviour twice: any culprit is a false alarm.

python -m bench.causes.false_alarms [--runs N] [--folder FOLDER] [CASE...]
"""

from __future__ import annotations

import argparse
import tempfile
from itertools import permutations
from pathlib import Path

from bench.causes.cases import named, record
from whyperf.engines.causes.diagnosis import find_causes
from whyperf.engines.causes.words import why
from whyperf.recording.reader import Recording


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    args = parser.parse_args()
    folder = args.folder or Path(tempfile.mkdtemp(prefix="whyperf-causes-"))
    folder.mkdir(exist_ok=True, parents=True)
    pairs = alarms = 0
    for case in named(args.cases):
        if case.why_not():
            continue
        runs = [Recording(record(case, "normal", folder, number=number)) for number in range(args.runs)]
        for one, other in permutations(runs, 2):
            causes = find_causes(other, [one])
            pairs += 1
            if causes.stalls:
                alarms += 1
                print(f"{case.name}: {why(causes.graph, causes.stalls[0], compared=True)}", flush=True)
        print(f"{case.name}: {pairs} pairs so far, {alarms} false alarms", flush=True)


if __name__ == "__main__":
    main()
