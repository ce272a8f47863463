"""One case, from the commands to its outcome."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.cache import cache_folder
from bench.cases.case import Commands, commands
from bench.relations.case import Lines, RelationsCase, described, lines_of, same_behaviour
from bench.relations.cost import Phase, Plain, both, cpu_of_children, phases
from bench.relations.outcome import Answer, Candidate, Named, Score, answer_of, is_right, score
from bench.tool import whyperf
from whyperf.diagnose.relations import examine_deep
from whyperf.engines.relations.settings import RelationsSettings
from whyperf.report.json import as_plain
from whyperf.seal.opening import open_recording

SAMPLED = 10  # one symptom of so many is followed


@dataclass(frozen=True)
class Comparison:
    answer: Answer
    score: Score
    right: bool
    seconds: float  # wall
    cpu_s: float  # of whyperf and all that it ran
    phases: tuple[Phase, ...]


@dataclass(frozen=True)
class Result:
    case: str
    symptom: str
    truth: str
    told: Comparison  # with the symptom that the case names
    untold: Comparison | None  # without, where it names one
    same: Comparison | None  # the same behaviour twice
    sampled: Comparison | None  # as `told`, from a part of the symptoms
    plain: tuple[Plain, Plain] | None  # good, bad


def run(case: RelationsCase, folder: Path, quick: bool = False) -> Result:
    """`quick`: only the comparison itself, without its twins and the plain runs beside it."""
    truth = lines_of(case)
    wanted = commands(case)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    told = _compare(case, wanted, truth, case.symptom, folder / "told")
    if quick:
        return Result(case.id, case.symptom, described(truth), told, None, None, None, None)
    sampled = untold = None
    if told.answer.candidates:
        sampled = _attempted(lambda: _sampled(case, truth, folder / "told"))
    if case.symptom and case.symptom != "memory":  # which instructions say nothing of
        untold = _attempted(lambda: _compare(case, wanted, truth, "", folder / "untold"))
    twin = same_behaviour(case)
    same = _attempted(lambda: _compare(twin, commands(twin), (), case.symptom, folder / "same"))
    return Result(case.id, case.symptom, described(truth), told, untold, same, sampled, both(wanted))


def _attempted(comparison: Callable[[], Comparison]) -> Comparison | None:
    """A twin that fails is said and left out; what was found before stays."""
    try:
        return comparison()
    except ValueError as error:
        print(f"  left out: {error}", file=sys.stderr)
        return None


def _compare(case: RelationsCase, wanted: Commands, truth: tuple[Lines, ...], symptom: str, folder: Path) -> Comparison:
    arguments = [*wanted.words(), *(["--symptom", symptom] if symptom else [])]
    return _asked(case, truth, lambda: whyperf("compare", "--deep", *arguments, "-o", str(folder)), recorded=folder)


def _sampled(case: RelationsCase, truth: tuple[Lines, ...], folder: Path) -> Comparison:
    """The verdict on the zooms that are there, from one symptom in ten: a setting of the engine, not of the command."""

    def examined() -> dict[str, Any]:
        good, bad = (open_recording(folder / f"{side}-zoom") for side in ("good", "bad"))
        settings = RelationsSettings(one_symptom_in=SAMPLED)
        return as_plain(examine_deep([good], [bad], relations_settings=settings))

    return _asked(case, truth, examined)


def _asked(
    case: RelationsCase, truth: tuple[Lines, ...], ask: Callable[[], dict[str, Any]], recorded: Path | None = None
) -> Comparison:
    began, used = time.monotonic(), cpu_of_children()
    answer = answer_of(ask())
    seconds, cpu_s = time.monotonic() - began, cpu_of_children() - used
    scored = score(answer, truth, case.also)
    return Comparison(
        answer,
        scored,
        is_right(answer, scored, truth),
        round(seconds, 1),
        round(cpu_s, 1),
        phases(recorded) if recorded else (),
    )


def stored(case: str) -> Path:
    return cache_folder() / "results" / f"relations-{case}.json"


def write(result: Result) -> None:
    path = stored(result.case)
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(asdict(result), indent=1) + "\n")


def read(path: Path) -> Result:
    """One stored result; raises KeyError or TypeError where another version stored it."""
    told = json.loads(path.read_text())
    compared = {name: _read_comparison(told[name]) for name in ("told", "untold", "same", "sampled")}
    good_and_bad = tuple(Plain(**side) for side in told["plain"]) if told["plain"] else None
    return Result(**{**told, **compared, "plain": good_and_bad})


def _read_comparison(told: Mapping[str, Any] | None) -> Comparison | None:
    if told is None:
        return None
    candidates = tuple(
        Candidate(Named(**one["decision"]), Named(**one["cause"]) if one["cause"] else None, one["share"], one["why"])
        for one in told["answer"]["candidates"]
    )
    return Comparison(
        Answer(told["answer"]["verdict"], candidates, told["answer"]["change"]),
        Score(**told["score"]),
        told["right"],
        told["seconds"],
        told["cpu_s"],
        tuple(Phase(**phase) for phase in told["phases"]),
    )
