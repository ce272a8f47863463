"""What `whyperf bisect` found, in words and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from whyperf.cli.quantities import seconds_in_words

if TYPE_CHECKING:
    from whyperf.diagnose.verdict import Verdict
    from whyperf.revisions.bisect import JudgedPair, Searched
    from whyperf.revisions.commits import CandidateCommit

FORMAT = 1


def sentences(found: Searched, judged: JudgedPair | None) -> Iterator[str]:
    """The commit as `git log` prints it, how sure that is, and what casts doubt on it."""
    from whyperf.report.printable import printable
    from whyperf.revisions.search import SearchEnding

    comparisons = found.comparisons
    cost = (
        f"{comparisons} comparison{'s' * (comparisons != 1)}, {found.runs} runs of which the "
        f"{'elapsed' if found.measure == 'elapsed' else 'CPU'} time was measured, {seconds_in_words(found.seconds)}"
    )
    sure = f"{_percent(found.probability)} sure"
    if found.ending is not SearchEnding.FOUND:
        why = "interrupted" if found.ending is None else found.ending.value
        yield f"The first slow commit was not found ({why}; {cost}). The likeliest, {sure}:"
    elif len(found.suspected) == 1:
        yield f"{found.suspected[0].short} is the first slow commit ({sure}; {cost})."
    else:
        yield (
            f"The first slow commit is one of these {len(found.suspected)} ({sure}; {cost}). All but the last were "
            "skipped, so they cannot be told apart."
        )
    for commit in found.suspected:
        yield ""
        yield f"commit {commit.commit}"
        yield f"Author: {printable(commit.author)}"
        yield f"Date:   {printable(commit.date)}"
        yield f"    {printable(commit.subject)}"
    yield ""
    if len(found.suspected[-1].parents) > 1 and found.ending is SearchEnding.FOUND:
        yield "It is a merge, and none of the commits that it brought in is slow by itself."
    if found.state.skipped:
        skipped = [found.commits[number].short for number in sorted(found.state.skipped)]
        yield f"Skipped because they could not be built or run: {', '.join(skipped)}."
    if judged is not None and not judged.is_slower:
        yield "Recorded once more, it does not differ from its parent beyond doubt: more --runs may tell."


def one_line(found: Searched) -> str:
    from whyperf.report.printable import printable

    likely, comparisons = found.suspected[-1], found.comparisons
    return (
        f"after {comparisons} comparison{'s' * (comparisons != 1)} the likeliest commit is {likely.short} "
        f"{printable(likely.subject)} ({_percent(found.probability)})"
    )


def to_json(found: Searched, ends: Verdict, verdict: Verdict | None) -> str:
    """`posterior` has every commit's probability of being the first slow one."""
    from whyperf.report.json import as_plain, finite

    state = found.state
    plain: dict[str, Any] = {
        "format": FORMAT,
        "found": found.ending is not None and found.ending.value == "found",
        "ending": "interrupted" if found.ending is None else found.ending.value,
        "first_slow": [_commit(one) for one in found.suspected],
        "probability": found.probability,
        "measure": found.measure,
        "runs": found.runs,
        "seconds": found.seconds,
        "comparisons": _comparisons(found),
        "skipped": [
            {"commit": found.commits[number].commit, "why": why} for number, why in sorted(state.skipped.items())
        ],
        "posterior": [
            {"commit": one.commit, "subject": one.subject, "prior": before, "probability": now}
            for one, before, now in zip(found.commits, state.prior, state.posterior, strict=True)
        ],
        "ends": as_plain(ends),
        "verdict": None if verdict is None else as_plain(verdict),
    }
    return json.dumps(finite(plain), indent=1, allow_nan=False) + "\n"


def _comparisons(found: Searched) -> list[dict[str, Any]]:
    """All of them, those that led to a merge first."""
    state = found.state
    return (_comparisons(found.outer) if found.outer else []) + [
        {
            "commit": found.commits[one.commit].commit,
            "rounds": len(one.batch.candidate),
            "log_likelihood_ratio": ratio,
        }
        for one, ratio in zip(state.comparisons, state.log_ratios, strict=True)
    ]


def _commit(one: CandidateCommit) -> dict[str, Any]:
    return {
        "commit": one.commit,
        "parents": list(one.parents),
        "author": one.author,
        "date": one.date,
        "subject": one.subject,
    }


def _percent(share: float) -> str:
    return f"{share:.1%}" if share < 0.9995 else "more than 99.9%"
