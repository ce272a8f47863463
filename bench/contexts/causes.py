"""One case of a known cause: recorded, diagnosed, and where whyperf and others rank the guilty module and function."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bench.cases.ranks import same
from bench.contexts.case import ContextCase, Runs, Truth
from bench.contexts.peers import longest_waits, perf_diff
from bench.contexts.recorded import TRACED, record
from bench.contexts.stacks import Place
from bench.tool import whyperf
from whyperf.recording.names.identity import without_version

_TOP = "100"


@dataclass(frozen=True)
class Ranked:
    """Of the guilty module and of a guilty function; None: not listed."""

    module: int | None
    function: int | None

    def __str__(self) -> str:
        return f"{self.module or '-'}/{self.function or '-'}"


_ABSENT = Ranked(None, None)


@dataclass(frozen=True)
class Others:
    excess: Ranked = _ABSENT  # whyperf without kernel events
    perf_diff: Ranked = _ABSENT
    longest_waits: Ranked = _ABSENT  # stacks that the guilty one is on


@dataclass(frozen=True)
class CauseOutcome:
    case: str
    title: str
    verdict: str
    ratio: float  # bad / good of the symptom
    first: str  # suspect
    layer: str  # of the first suspect, as far as the contexts engine was asked
    layer_right: bool
    external: bool | None  # what is said of the first suspect
    external_right: bool
    share: float  # of the excess, the first suspect's
    whyperf: Ranked
    others: Others


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Readable by the users that servers become."""
    folder = Path(tempfile.mkdtemp(prefix="whyperf-contexts-"))
    try:
        folder.chmod(0o755)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def outcome_of(case: ContextCase, count: int, peers: bool = True) -> CauseOutcome:
    with scratch_folder() as scratch:
        runs, truth = case.runs(scratch), case.truth()
        verdict, bad = diagnosed(runs, scratch / "with-events", count, *TRACED)
        others = _others(truth, runs, scratch, count, bad) if peers else Others()
        return _outcome(case, truth, verdict, others)


def _others(truth: Truth, runs: Runs, scratch: Path, count: int, bad: Path) -> Others:
    plain, _ = diagnosed(runs, scratch / "without-events", count)
    return Others(
        excess=_ranked(truth, _suspects(plain)),
        perf_diff=_ranked(truth, perf_diff(runs, scratch)),
        longest_waits=_ranked_stacks(truth, longest_waits(bad)),
    )


def diagnosed(runs: Runs, folder: Path, count: int, *options: str) -> tuple[Mapping[str, Any], Path]:
    """The verdict on so many recordings a side, made in turns, and the last bad recording."""
    folder.mkdir()
    paths: dict[str, list[Path]] = {"good": [], "bad": []}
    for number in range(count):
        for name, side in (("good", runs.good), ("bad", runs.bad)):
            path = folder / f"{name}-{number}"
            record(side, runs.ready, path, *options)
            paths[name].append(path)
    sides = [word for name in ("good", "bad") for word in (f"--{name}", *map(str, paths[name]))]
    return whyperf("diagnose", *sides, "--top", _TOP), paths["bad"][-1]


def _outcome(case: ContextCase, truth: Truth, verdict: Mapping[str, Any], others: Others) -> CauseOutcome:
    symptom, suspects = verdict["symptom"], verdict["suspects"]
    first: Mapping[str, Any] = suspects[0] if suspects else {"function": "", "module": "", "share": 0.0, "evidence": []}
    said: Mapping[str, Any] = next((one["detail"] for one in first["evidence"] if one["engine"] == "contexts"), {})
    layer, external = str(said.get("layer", "")), said.get("external")
    return CauseOutcome(
        case=case.id,
        title=case.title,
        verdict=verdict["verdict"],
        ratio=symptom["bad"] / symptom["good"] if symptom["good"] else float("inf"),
        first=f"{first['module']}:{first['function']}" if suspects else verdict["verdict"],
        layer=layer,
        layer_right=layer in truth.layers,
        external=external,
        external_right=external == truth.external,
        share=first["share"],
        whyperf=_ranked(truth, _suspects(verdict)),
        others=others,
    )


def _suspects(verdict: Mapping[str, Any]) -> list[Place]:
    return [(suspect["module"], suspect["function"]) for suspect in verdict["suspects"]]


def _ranked(truth: Truth, places: Sequence[Place]) -> Ranked:
    modules = list(dict.fromkeys(module for module, _ in places))
    module = next((rank for rank, name in enumerate(modules, start=1) if _is_module(name, truth)), None)
    function = next((rank for rank, place in enumerate(places, start=1) if is_guilty(place, truth)), None)
    return Ranked(module, function)


def _ranked_stacks(truth: Truth, stacks: Sequence[Sequence[Place]]) -> Ranked:
    """The first stack that the guilty one is on, wherever."""

    def first(guilty: list[bool]) -> int | None:
        return guilty.index(True) + 1 if True in guilty else None

    on_module = [any(_is_module(module, truth) for module, _ in stack) for stack in stacks]
    return Ranked(first(on_module), first([any(is_guilty(place, truth) for place in stack) for stack in stacks]))


def _is_module(name: str, truth: Truth) -> bool:
    """With or without a version: perf shows the file behind a link, whyperf what releases have in common."""
    return without_version(name) == without_version(truth.module)


def is_guilty(place: Place, truth: Truth) -> bool:
    module, function = place
    if not _is_module(module, truth):
        return False
    if not truth.functions or any(same(function, one) for one in truth.functions):
        return True
    return truth.named is not None and _at_address(function) in guilty_addresses(truth.named, truth.functions)


def _at_address(function: str) -> int:
    """What stripped code is called by: module+0xaddress."""
    told = re.search(r"\+0x([0-9a-f]+)$", function)
    return int(told.group(1), 16) if told else -1


@cache
def guilty_addresses(named: Path, functions: tuple[str, ...]) -> frozenset[int]:
    """Where the functions begin: the same in a stripped copy."""
    listed = subprocess.run(["nm", "--defined-only", named], capture_output=True, text=True, check=True).stdout
    rows = (line.split(maxsplit=2) for line in listed.splitlines())
    return frozenset(int(address, 16) for address, _, name in rows if any(same(name, one) for one in functions))
