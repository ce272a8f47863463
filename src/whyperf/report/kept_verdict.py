"""The verdict that `compare` and `prove` keep beside the recordings: what they found out by runs that left none."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from whyperf.diagnose.slow_requests import SlowRequestsDetail
from whyperf.diagnose.verdict import Evidence, Verdict
from whyperf.engines.causes.detail import CausesDetail, PaperCausesDetail
from whyperf.engines.contexts.detail import ContextsDetail, PaperContextsDetail
from whyperf.engines.excess.detail import ExcessDetail
from whyperf.engines.finding import Detail
from whyperf.engines.lock_holders import LocksDetail
from whyperf.engines.memory.detail import MemoryDetail
from whyperf.engines.relations.detail import CountingDetail, RelationsDetail
from whyperf.engines.values.detail import PaperValuesDetail, ValuesDetail
from whyperf.recording.compared import COMPARED, damaged, keep, kept_in
from whyperf.recording.safe_files.dataclass_json import MisfitError, from_plain, to_plain
from whyperf.recording.sealed.reader import Recording
from whyperf.version import __version__

Sides = tuple[Sequence[Path], Sequence[Path]]  # good, bad
_DETAILS: Mapping[str, type[Detail]] = {
    kind.__name__: kind
    for kind in (
        Detail,
        CausesDetail,
        ContextsDetail,
        CountingDetail,
        ExcessDetail,
        LocksDetail,
        MemoryDetail,
        PaperCausesDetail,
        PaperContextsDetail,
        PaperValuesDetail,
        RelationsDetail,
        SlowRequestsDetail,
        ValuesDetail,
    )
}
_CLASS = "class"  # no field can be called so


@dataclass(frozen=True)
class KeptVerdict:
    whyperf: str  # the version: another one may judge otherwise
    folder: str  # as the next command names it
    manifests: tuple[int, ...]  # checksums, of the good recordings and then of the bad ones
    verdict: Verdict


def keep_verdict(folder: Path, recordings: Sides, verdict: Verdict, *, max_rows: int) -> Verdict:
    """The verdict with the folder in the next command, if it is kept. One that would not come back as it is, is not."""
    inside = {path.parent for side in recordings for path in side}
    command = _moved(verdict.next_command, str(inside.pop()), str(folder)) if len(inside) == 1 else verdict.next_command
    named = replace(verdict, next_command=command)
    plain = as_plain(KeptVerdict(__version__, str(folder), _manifests(recordings, max_rows), named))
    try:
        is_kept = read_plain(plain).verdict == named and keep(folder, *recordings, plain)
    except MisfitError:
        is_kept = False
    return named if is_kept else verdict


def kept_verdict(folder: Path, recordings: Sides, *, max_rows: int) -> Verdict | None:
    """None where there is none of exactly these recordings by this version."""
    plain = kept_in(folder)
    if plain is None or not isinstance(plain.get("verdict"), dict):
        return None
    try:
        kept = read_plain(plain["verdict"])
        command = _moved(kept.verdict.next_command, kept.folder, str(folder))
    except ValueError:  # a misfit, a number that points at nothing, or quotes without an end
        raise damaged(folder / COMPARED) from None
    if kept.whyperf != __version__ or kept.manifests != _manifests(recordings, max_rows):
        return None
    return replace(kept.verdict, next_command=command)


def _manifests(recordings: Sides, max_rows: int) -> tuple[int, ...]:
    return tuple(Recording(path, max_rows=max_rows).manifest_crc32 for side in recordings for path in side)


def _moved(command: str | None, old: str, new: str) -> str | None:
    """The command from where the folder has this path now."""
    if command is None or not command.startswith("whyperf "):
        return command
    inside = f"{old}/"
    words = (
        new if word == old else word.replace(inside, f"{new}/", 1) if word.startswith(inside) else word
        for word in shlex.split(command)
    )
    return shlex.join(words)


def as_plain(kept: KeptVerdict) -> dict[str, Any]:
    """What JSON can hold."""
    plain: dict[str, Any] = to_plain(kept)
    for suspect, said in zip(kept.verdict.suspects, plain["verdict"]["suspects"], strict=True):
        for one, written in zip(suspect.evidence, said["evidence"], strict=True):
            written["detail"][_CLASS] = type(one.detail).__name__
    return plain


def read_plain(plain: dict[str, Any]) -> KeptVerdict:
    """ValueError where it is none."""
    kept = from_plain(KeptVerdict, plain)  # whose details are only what all engines have
    said = [suspect.get("evidence", []) for suspect in plain["verdict"]["suspects"]]  # which has a default
    suspects = tuple(
        replace(suspect, evidence=tuple(_with_detail(*one) for one in zip(suspect.evidence, evidence, strict=True)))
        for suspect, evidence in zip(kept.verdict.suspects, said, strict=True)
    )
    return replace(kept, verdict=replace(kept.verdict, suspects=suspects))


def _with_detail(evidence: Evidence, plain: Mapping[str, Any]) -> Evidence:
    name = plain["detail"].get(_CLASS)
    kind = _DETAILS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise MisfitError("a detail is of no known class")
    return replace(evidence, detail=from_plain(kind, plain["detail"]))
