"""How a case's outcome is scored and shown, told on verdicts made by hand."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.accuracy import store
from bench.accuracy.blocks import BlockDistance, FlowOfFile, block_distance, neighbours
from bench.accuracy.outcome import Answers, Cost, Outcome, Ranks, score
from bench.accuracy.table import first_places, markdown, summary
from bench.cases.case import Case, Truth
from hypothesis import given
from hypothesis import strategies as st

from whyperf.debuginfo.describe import describe

CASE = Case(
    id="example",
    title="",
    builds={},
    prepare="",
    good="",
    bad="",
    ready="",
    good_drive="",
    bad_drive="",
    truth=Truth(
        cause=("decide",),
        spent=("hot",),
        file="plugins/rules.c",
        line=40,
        pattern="wrong-constraint",
        also=("new-path",),
        variables=("limit", "left"),
    ),
)
COST = Cost(1.0, 0.9, 120.0)


def suspect(
    function: str, pattern: str, *variables: tuple[str, list[int]], line: int = 1, decided_by: int = 0
) -> dict[str, Any]:
    told = [{"name": name, "lines": lines} for name, lines in variables]
    where = {"file": "/src/rules.c", "line": line, "decided_by": decided_by}
    return {"function": function, "pattern": pattern, **where, "variables": told}


def scored(*suspects: dict[str, Any]) -> Outcome:
    whole = {"verdict": "difference", "symptom": {"good": 1.0, "bad": 3.0}, "suspects": list(suspects)}
    bare = {**whole, "suspects": [suspect("hot", "unknown"), *suspects]}
    none = {**whole, "suspects": []}
    return score(CASE, Answers(whole, bare, none, (whole, none)), [], COST)


def test_every_verdict_is_ranked_by_its_own_list() -> None:
    one = scored(suspect("decide", "new-path"), suspect("hot", "unknown"))
    assert (one.ours, one.without_values, one.paper) == (Ranks(1, 2), Ranks(2, 1), Ranks(None, None))
    assert one.single == (Ranks(1, 2), Ranks(None, None))


def test_pattern_is_the_first_suspects_and_may_be_one_of_several() -> None:
    assert scored(suspect("decide", "new-path")).pattern_right
    assert scored(suspect("hot", "wrong-constraint")).pattern_right
    assert not scored(suspect("decide", "scalability")).pattern_right
    assert not scored().pattern_right


def test_variable_and_line_are_looked_for_in_the_culprits_entry_only() -> None:
    # GIVEN a first suspect that names the variable, and the culprit, second, that names another near the line
    one = scored(suspect("hot", "unknown", ("limit", [40])), suspect("decide", "unknown", ("count", [37, 90]), line=52))
    # THEN nothing is won by the first one's luck
    assert one.variable == ""
    assert one.lines_away == 3
    assert scored(suspect("decide", "unknown", ("left", []))).variable == "left"


def test_the_line_that_decides_counts_as_named() -> None:
    assert scored(suspect("decide", "unknown", line=52, decided_by=41)).lines_away == 1


def test_lines_of_another_file_are_no_distance() -> None:
    assert scored({**suspect("decide", "unknown"), "file": "other.c"}).lines_away is None


def test_suspects_ahead_are_false_unless_the_excess_is_spent_there() -> None:
    innocent = suspect("innocent", "unknown")
    assert scored(innocent, suspect("hot", "unknown"), suspect("decide", "unknown"), innocent).ahead == 1
    assert scored(suspect("decide", "unknown")).ahead == 0
    assert scored(innocent).ahead is None


def test_outcomes_are_read_back_as_written(tmp_path: Path) -> None:
    plain = scored(suspect("decide", "unknown"))
    asked = replace(plain, peers={"perf diff": Ranks(3, 1), "COZ": Ranks(None, None, "crashed")})
    for one in (plain, asked, replace(plain, blocks_away=BlockDistance(1.5, 0))):
        store.write([one], tmp_path / "one.json")
        assert store.read(tmp_path / "one.json") == [one]


def test_outcomes_of_another_machine_are_taken_over_where_a_case_has_none(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    ours = replace(scored(suspect("decide", "unknown")), case="measured", load=1.0)
    theirs = [replace(ours, load=9.0), replace(ours, case="missing", load=9.0)]
    store.write([ours], store.stored("measured"))
    store.write(theirs, tmp_path / "published.json")
    store.take_over(tmp_path / "published.json")
    assert store.read(store.stored("measured")) == [ours]
    assert store.read(store.stored("missing")) == theirs[1:]


def test_a_case_is_held_by_one_runner_at_a_time(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with store.held("example") as first, store.held("example") as second, store.held("other") as another:
        assert (first, second, another) == (True, False, True)
    with store.held("example") as again:
        assert again


def test_first_places_are_counted_of_those_who_were_asked() -> None:
    ours = replace(scored(suspect("decide", "new-path")), peers={"gprof": Ranks(2, 1)})
    other = replace(scored(suspect("hot", "unknown")), peers={"gprof": Ranks(None, None, "not built for it")})
    told = first_places([ours, other])
    assert "| whyperf | 2 | 1 (50%) | 1 (50%) | 1 (50%) | 1 | 0 |" in told
    assert "| gprof | 2 | 0 (0%) | 1 (50%) | 1 (50%) | 0 | 1 |" in told
    assert "COZ" not in told
    assert "| not run |" in markdown([ours, other])
    assert "Pattern right: 1." in summary([ours, other])


_SOURCE = """
#include <stdlib.h>
int decide(int n) {
    int limit = n & 7;
    int sum = 0;
    for (int i = 0; i < n; i++) {
        if (i % 3 == limit) {
            sum += rand();
        }
    }
    return sum;
}
int main(int argc, char **argv) { return decide(argc + !argv) & 0; }
"""


def test_blocks_between_lines_are_counted_in_the_functions_flow(tmp_path: Path) -> None:
    # GIVEN a function whose limit is computed before the loop that uses it
    source, program = tmp_path / "rules.c", tmp_path / "rules"
    source.write_text(_SOURCE)
    subprocess.run(["gcc", "-g", "-O0", "-o", program, source], check=True)
    lines = _SOURCE.splitlines()
    limit, call = (next(at for at, text in enumerate(lines, 1) if part in text) for part in ("n & 7", "rand()"))
    # THEN a line is no distance from itself, some from another block, and none at all from another function
    assert block_distance([program], "x/rules.c", limit, [limit]) == BlockDistance(0, 0)
    far = block_distance([program], "rules.c", limit, [limit, call])
    assert far is not None
    assert far.least == 0 < far.mean
    assert block_distance([program], "rules.c", limit, [len(lines)]) is None
    assert block_distance([program], "rules.c", limit, []) is None
    graph = FlowOfFile(describe(str(program)), "rules.c")
    # AND it is the same the other way round
    there, back = (graph.distances(graph.blocks_at(line)) for line in (limit, call))
    assert min(there[at] for at in graph.blocks_at(call)) == min(back[at] for at in graph.blocks_at(limit))


@given(
    st.lists(st.lists(st.integers(0, 5), max_size=3), min_size=6, max_size=6),
    st.lists(st.booleans(), min_size=6, max_size=6),
)
def test_neighbours_are_mutual(successors: list[list[int]], computed: list[bool]) -> None:
    found = neighbours(successors, computed)
    assert all(block in found[other] for block, others in enumerate(found) for other in others)
    assert all(to in found[block] for block, following in enumerate(successors) for to in following)
