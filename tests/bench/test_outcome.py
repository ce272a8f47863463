"""How a case's outcome is scored, told on verdicts made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.cases import outcome
from bench.cases.case import Case, Truth
from bench.cases.outcome import Answers, Outcome, Ranks, score, summary
from bench.cases.peers import PeerRankings, parse_flat_profile

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
PEERS = PeerRankings(self_time=("hot", "other"), children=("main", "decide"), diff=("hot",))


def suspect(function: str, pattern: str, *variables: tuple[str, list[int]], line: int = 1) -> dict[str, Any]:
    told = [{"name": name, "lines": lines} for name, lines in variables]
    return {"function": function, "pattern": pattern, "file": "/src/rules.c", "line": line, "variables": told}


def scored(*suspects: dict[str, Any], gprof: tuple[str, ...] | None = ("hot",)) -> Outcome:
    whole = {"verdict": "difference", "symptom": {"good": 1.0, "bad": 3.0}, "suspects": list(suspects)}
    bare = {**whole, "suspects": [suspect("hot", "unknown"), *suspects]}
    return score(CASE, Answers(whole, bare, {**whole, "suspects": []}), PEERS, gprof, 1.0)


def test_every_tool_is_ranked_by_its_own_list() -> None:
    one = scored(suspect("decide", "new-path"), suspect("hot", "unknown"))
    assert (one.ours, one.without_values, one.paper) == (Ranks(1, 2), Ranks(2, 1), Ranks(None, None))
    assert (one.perf_self, one.perf_children, one.gprof) == (Ranks(None, 1), Ranks(2, None), Ranks(None, 1))


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


def test_lines_of_another_file_are_no_distance() -> None:
    assert scored({**suspect("decide", "unknown"), "file": "other.c"}).lines_away is None


def test_outcomes_are_read_back_as_written(tmp_path: Path) -> None:
    for one in (scored(suspect("decide", "unknown")), scored(gprof=None)):
        outcome.write([one], tmp_path / "one.json")
        assert outcome.read(tmp_path / "one.json") == one


def test_summary_counts_first_places_and_leaves_out_who_was_not_asked() -> None:
    told = summary([scored(suspect("decide", "new-path")), scored(suspect("hot", "unknown"), gprof=None)])
    assert "whyperf 1 of 2" in told
    assert "gprof 0 of 1" in told
    assert told.endswith("Pattern right: 1 of 2.")


def test_flat_profile_is_read_with_and_without_calls() -> None:
    text = """Flat profile:

Each sample counts as 0.01 seconds.
  %   cumulative   self              self     total
 time   seconds   seconds    calls  ms/call  ms/call  name
 60.00      0.60     0.60  1000000     0.00     0.00  crc_of
 30.00      0.90     0.30                             main
 10.00      1.00     0.10       12     8.33    83.33  pool::Pool::find(unsigned int)
  0.00      1.00     0.00        3     0.00     0.00  idle
"""
    assert parse_flat_profile(text) == ("crc_of", "main", "pool::Pool::find(unsigned int)")
