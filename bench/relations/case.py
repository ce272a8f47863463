"""A case as the table `[relations]` of its `case.toml` tells it: smaller runs, a symptom, the decision to be found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.cases.case import Build, Scenario, built, folders, patch_of, scenario, told
from bench.subjects import PROGRAMS, SUBJECTS, patched

_OVERRIDES = ("good", "bad", "good_drive", "bad_drive")


@dataclass(frozen=True)
class Decision:
    """Where the relation changes, told by the source's text: lines move from release to release."""

    function: str
    file: str = ""  # empty: anywhere in the function is right
    text: str = ""
    to: str = ""  # text of the last line, where a decision has several
    after: str = ""  # the text is looked for below this one


@dataclass(frozen=True)
class Lines:
    function: str
    file: str
    first: int
    last: int


@dataclass(frozen=True, kw_only=True)
class RelationsCase(Scenario):
    symptom: str  # as --symptom takes it; empty: the excess of instructions
    same: str  # a run that behaves as the good one does, on other data where that is possible
    decisions: tuple[Decision, ...]  # any of them is the answer; none: that there is no candidate
    also: tuple[str, ...]  # functions whose relations change with it: right, but not the cause


def load(folder: Path) -> RelationsCase:
    text = told(folder)
    relations: dict[str, Any] = text["relations"]
    runs = scenario(folder, {**text, **{name: relations[name] for name in _OVERRIDES if name in relations}})
    return RelationsCase(
        **runs,
        symptom=relations.get("symptom", ""),
        same=relations.get("same", runs["good"]),
        decisions=tuple(Decision(**decision) for decision in relations.get("decision", ())),
        also=tuple(relations.get("also", ())),
    )


def relations_cases() -> list[RelationsCase]:
    return [load(folder) for folder in folders("relations")]


def same_behaviour(case: RelationsCase) -> RelationsCase:
    """The case that has nothing to be found."""
    return replace(case, bad=case.same, bad_drive=case.good_drive, decisions=(), also=())


def lines_of(case: RelationsCase) -> tuple[Lines, ...]:
    """The lines of every decision in each build's sources; they may differ between releases."""
    found = []
    for decision in case.decisions:
        if not decision.file:
            found.append(Lines(decision.function, "", 0, 0))
            continue
        for build in case.builds.values():
            found += _lines_in(decision, source_folder(case, build) / decision.file)
    return tuple(dict.fromkeys(found))


def source_folder(case: RelationsCase, build: Build) -> Path:
    if build.subject in SUBJECTS:
        return built(case, build)
    patch = patch_of(case, build)
    return patched(build.subject, patch) if patch else PROGRAMS / build.subject


def _lines_in(decision: Decision, path: Path) -> list[Lines]:
    """Empty where this release has no such text."""
    lines = [line.strip() for line in path.read_text(errors="replace").splitlines()]
    start = _first(lines, decision.after, 0) if decision.after else 0
    first = _first(lines, decision.text, start) if start is not None else None
    if first is None:
        return []
    last = _first(lines, decision.to, first) if decision.to else first
    return [Lines(decision.function, path.name, first + 1, (first if last is None else last) + 1)]


def _first(lines: list[str], text: str, start: int) -> int | None:
    return next((number for number in range(start, len(lines)) if text in lines[number]), None)


def described(lines: tuple[Lines, ...]) -> str:
    return ", ".join(dict.fromkeys(map(_described, lines))) or "none"


def _described(lines: Lines) -> str:
    if not lines.first:
        return lines.function
    return f"{lines.function}:{lines.first}" + (f"-{lines.last}" if lines.last != lines.first else "")
