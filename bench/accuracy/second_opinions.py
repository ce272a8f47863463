"""`python -m bench.accuracy.second_opinions`: how far readings agree which pattern a case is.

The cases were labelled twice more, by the definitions of vProf, without sight of our labels, verdicts and results:
which pattern describes the mistake best, and which others are acceptable. What these readings agree on with each
other, with the labels and with the patterns of first suspects, as stored, tells what a score of patterns can mean.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.accuracy import store
from bench.cases.case import all_cases

_OPINIONS = Path(__file__).with_suffix(".json")  # by case, of each reading: the best pattern, then those accepted

Labels = Mapping[str, Sequence[str]]


def main() -> None:
    opinions: dict[str, list[list[str]]] = json.loads(_OPINIONS.read_text())
    one, other = ({case: both[which] for case, both in opinions.items()} for which in (0, 1))
    ours = {case.id: (case.truth.pattern, *case.truth.also) for case in all_cases() if case.id in opinions}
    said = {
        case: (outcome.pattern,)
        for case in opinions
        if (path := store.stored(case)).exists()
        for outcome in store.read(path)
    }
    print(f"{len(opinions)} cases, {len(said)} with a stored outcome.\n")
    print("| | said | the same | accepted |\n|---|---|---|---|")
    _row("one reading by the other", one, other)
    _row("the cases' labels by one reading", ours, one)
    _row("the cases' labels by the other", ours, other)
    _row("whyperf's by the cases' labels", said, ours)
    _row("whyperf's by one reading", said, one)
    _row("whyperf's by the other", said, other)


def _row(title: str, said: Labels, judge: Labels) -> None:
    same = sum(patterns[0] == judge[case][0] for case, patterns in said.items())
    accepted = sum(patterns[0] in judge[case] for case, patterns in said.items())
    print(f"| {title} | {len(said)} | {same} ({same / len(said):.0%}) | {accepted} ({accepted / len(said):.0%}) |")


if __name__ == "__main__":
    main()
