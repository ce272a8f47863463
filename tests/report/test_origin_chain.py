"""A chain alone, as `whyperf origin` prints it."""

from __future__ import annotations

import json
from dataclasses import replace

import jsonschema
import pytest

from tests.report import verdicts
from tests.schemas import verdict_schema
from whyperf.report.html.verdict import _origin
from whyperf.report.json import to_json
from whyperf.report.origin_chain import show_origin


def test_a_hop_that_may_be_alike_is_shown_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    verdict = verdicts.proven()
    first, *rest = verdict.suspects
    assert first.origin is not None
    unknown = (replace(hop, good="unknown", differs=False) for hop in first.origin.hops)
    origin = replace(first.origin, hops=tuple(unknown), turn=None)
    show_origin(origin)
    printed = " ".join(capsys.readouterr().out.split())
    assert "turns bad here" not in printed and "was" not in printed.split(" It comes")[0].split()
    assert printed.count("and unknown in good runs: no difference shown") == len(origin.hops)
    # AND so do the page and the JSON
    assert _origin(origin).turn is None and not any(hop.differs for hop in _origin(origin).hops)
    written = json.loads(to_json(replace(verdict, suspects=(replace(first, origin=origin), *rest))))
    jsonschema.validate(written, verdict_schema())
    assert written["suspects"][0]["origin"]["turn"] is None
    assert [hop["differs"] for hop in written["suspects"][0]["origin"]["hops"]] == [False] * len(origin.hops)


@pytest.mark.parametrize(("runs", "said"), [(0, "from\n"), (1, "from (1 run)\n"), (8, "from (8 runs)\n")])
def test_a_chain_that_other_chains_have_seen_all_of_made_no_runs(
    capsys: pytest.CaptureFixture[str], runs: int, said: str
) -> None:
    origin = verdicts.proven().suspects[0].origin
    assert origin is not None
    show_origin(replace(origin, runs=runs))
    assert f"Where it comes {said}" in capsys.readouterr().out


def test_a_hop_that_valgrind_showed_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    verdict = verdicts.proven()
    first, *rest = verdict.suspects
    assert first.origin is not None
    start, loaded, made = first.origin.hops
    origin = replace(first.origin, hops=(start, replace(loaded, deep=True), made))
    show_origin(origin)
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.count("under Valgrind") == 1
    assert "table->size: 256, was 1,048,576 (by a run under Valgrind)" in printed
    # AND so do the page and the JSON
    assert [hop.deep for hop in _origin(origin).hops] == [False, True, False]
    written = json.loads(to_json(replace(verdict, suspects=(replace(first, origin=origin), *rest))))
    jsonschema.validate(written, verdict_schema())
    assert [hop["deep"] for hop in written["suspects"][0]["origin"]["hops"]] == [False, True, False]
