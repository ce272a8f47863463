"""Zooms: every execution of the planned functions, what it was part of, what it depended on."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.conftest import Whyperf
from whyperf.recording.names.identity import FunctionKey
from whyperf.recording.schemas.deep_tables import RegionKind, SiteKind
from whyperf.recording.sealed.reader import Recording
from whyperf.recording.zoom import ZoomPlan, write_plan

from .conftest import RecordDeep

BOOKS, SEARCHES = 20, 10


def plan(folder: Path, *names: str, symptom: str = "instructions") -> tuple[str, ...]:
    path = folder / "plan.json"
    write_plan(path, ZoomPlan(symptom, tuple(FunctionKey("shelf", name, "") for name in names)))
    return "--zoom", str(path)


@pytest.fixture
def zoom(record_deep: RecordDeep, tmp_path: Path) -> Recording:
    return record_deep(str(BOOKS), str(SEARCHES), options=plan(tmp_path, "main", "put", "find"))


def names_of(recording: Recording) -> list[str]:
    """The function of each site."""
    names = recording.table("functions").column("name").to_pylist()
    return [names[function] for function in recording.table("sites").column("function").to_pylist()]


def test_regions_are_the_programs_structure(zoom: Recording) -> None:
    sites, regions = names_of(zoom), zoom.table("regions").to_pylist()
    entered = Counter(sites[r["site"]] for r in regions if r["kind"] == RegionKind.ACTIVATION)
    assert (entered["main"], entered["put"], entered["find"]) == (1, BOOKS, SEARCHES)
    loops = Counter(sites[r["site"]] for r in regions if r["kind"] == RegionKind.LOOP)
    # Books are found from the last one put: that of key k after BOOKS - k tries.
    rounds = Counter(sites[r["site"]] for r in regions if r["kind"] == RegionKind.ITERATION)
    assert loops["main"] == 2 and loops["find"] == SEARCHES
    assert rounds["main"] == BOOKS + SEARCHES
    tries = sum(BOOKS - key for key in range(SEARCHES))
    assert rounds["find"] in (tries, tries - SEARCHES)  # as the compiler turned the loop
    # Iterations are numbered within their loop.
    of_loop: dict[int, list[int]] = {}
    for region in regions:
        if region["kind"] == RegionKind.ITERATION:
            of_loop.setdefault(region["parent"], []).append(region["number"])
    assert all(numbers == list(range(len(numbers))) for numbers in of_loop.values())


def test_executions_and_dependences_hang_together(zoom: Recording) -> None:
    executions, dependences = zoom.table("executions"), zoom.table("dependences")
    deep = zoom.manifest.deep
    assert deep is not None and deep.phase == "zoom" and deep.executions == executions.num_rows
    first = executions.column("dependences").to_numpy()
    assert first[0] == 0 and np.all(np.diff(first) >= 0) and first[-1] <= dependences.num_rows
    # A producer is older than who uses it.
    user = np.repeat(np.arange(len(first)), np.diff(np.append(first, dependences.num_rows)))
    assert np.all(dependences.column("producer").to_numpy() < user)


def test_every_instruction_of_the_plan_is_a_site(zoom: Recording) -> None:
    sites = zoom.table("sites").to_pylist()
    names = names_of(zoom)
    find: list[dict[str, Any]] = [site for site, name in zip(sites, names, strict=True) if name == "find"]
    assert sum(site["entry"] for site in find) == 1
    assert {site["kind"] for site in find} >= {SiteKind.BRANCH, SiteKind.RETURN}
    assert any(site["loop"] >= 0 for site in find) and all(site["block"] >= 0 for site in find)
    # A branch's arms join in the same function, or at its end.
    branches = [site for site in find if site["kind"] == SiteKind.BRANCH]
    assert all(branch["join"] == -1 or names[branch["join"]] == "find" for branch in branches)
    # Calls say whom they call.
    functions = zoom.table("functions").column("name").to_pylist()
    called = {functions[site["callee"]] for site in sites if site["kind"] == SiteKind.CALL and site["callee"] >= 0}
    assert {"put", "find"} <= called


def test_what_the_plan_left_out_is_said_and_kept(whyperf: Whyperf, shelf: Path, tmp_path: Path) -> None:
    functions = tuple(FunctionKey("shelf", name, "") for name in ("main", "put"))
    left_out = tuple(FunctionKey("shelf", name, "") for name in ("find", "a", "b", "c"))
    write_plan(tmp_path / "plan.json", ZoomPlan("instructions", functions, left_out, expected=5000))
    for name, books in (("good", "20"), ("bad", "200")):
        done = whyperf("record", "--deep", "--zoom", "plan.json", "-o", name, "--", str(shelf), books)
        assert (
            "zooming into 2 functions, up to 5,000 executions; left out as they execute too much: find, a, b and"
            in (done.stderr)
        )
    deep = Recording(tmp_path / "good").manifest.deep
    assert deep is not None and deep.left_out == ("find", "a", "b", "c")
    assert "find, a, b and 1 more, which execute too much" in whyperf("info", "good").stdout
    said = whyperf("diagnose", "good", "bad", "--json", "-").stdout
    assert "The zooms left out functions that execute too much: find, a, b and 1 more." in said


def test_changes_of_a_variable_are_recorded_with_their_amount(record_deep: RecordDeep, tmp_path: Path) -> None:
    options = plan(tmp_path, "main", "put", "find", symptom="var:shelf.weight")
    recording = record_deep(str(BOOKS), str(SEARCHES), options=options)
    updates = recording.table("updates").to_pylist()
    assert [update["amount"] for update in updates] == [3] * BOOKS
    site = recording.table("executions").column("site").to_pylist()
    names = names_of(recording)
    assert {names[site[update["execution"]]] for update in updates} == {"put"}


def test_memory_is_charged_to_the_call_that_asked(record_deep: RecordDeep, tmp_path: Path) -> None:
    options = plan(tmp_path, "main", "put", "take", symptom="memory")
    recording = record_deep(str(BOOKS), str(SEARCHES), "take", options=options)
    amounts = Counter(update["amount"] for update in recording.table("updates").to_pylist())
    assert amounts[16] == BOOKS and amounts[-16] == 1
