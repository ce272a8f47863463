"""What the data say, joined with what the time says, in the verdict and in what the terminal and the JSON show."""

from __future__ import annotations

import io
import json

import jsonschema
import numpy as np
import pytest

from tests.engines.made import recording
from tests.engines.values.made import Read, with_values
from tests.schemas import verdict_schema
from whyperf.diagnose.diagnosis import examine
from whyperf.diagnose.engine_claims.values import Method
from whyperf.engines.values.explain import explain
from whyperf.recording.names.identity import FunctionKey
from whyperf.report.json import to_json
from whyperf.report.terminal import show

_CODE = "\n".join(
    [
        "void plan(struct pool *pool) {",
        "    size_t available = pool->size - pool->used;",
        "    while (!scan(available))",
        "        apply(pool);",
        "}",
    ]
)


def runs(apply_s, available, *, count=3, first=0, limited=True):
    """main calls plan, which calls apply: hot, and innocent. plan's `available` decides how often."""
    made = []
    for seed in range(first, first + count):
        rng = np.random.default_rng(seed)
        noise = 1 + 0.01 * rng.random()
        stacks = [(("main@5", "plan@12", "apply@30"), apply_s * noise), (("main@5", "rest@50"), 2.0)]
        recorded = recording(stacks, source={"/src/tool.c": (10, _CODE)})
        samples = round(apply_s * noise * 200)
        reads = [
            Read("plan", "available", available(rng, samples), type="size_t", kind="unsigned", roles="condition"),
            Read("apply", "page", rng.integers(0, 99, samples), roles="argument"),
            Read("", "limit", np.full(10_000, 1 if first == 0 else 2)),
        ]
        made.append(with_values(recorded, *reads[: 3 if limited else 2]))
    return made


def ample(rng, count):
    return rng.integers(410_000, 430_000, count)


def none(rng, count):
    return np.zeros(count, np.int64)


def test_the_cheap_function_whose_data_went_wrong_comes_first():
    verdict = examine(runs(1.0, ample), runs(9.0, none, first=50)).verdict
    suspect = verdict.suspects[0]
    assert (suspect.function, suspect.pattern, suspect.confidence) == ("plan", "wrong-constraint", "high")
    assert suspect.share > 0.9
    assert suspect.why.startswith("available stays at 0 for the whole run; was 41")
    assert "With what it calls it takes" in suspect.why
    (variable,) = suspect.variables
    assert (variable.name, variable.bad, variable.dimension, variable.lines) == ("available", "0", "value", (12,))
    assert [one.engine for one in suspect.evidence] == ["excess", "values"]
    assert any(note.startswith("Global variable: limit stays at 2") for note in verdict.notes)


def test_what_was_set_otherwise_in_another_function_is_noted():
    # GIVEN functions that are no suspects, which decide by one number in all good runs and by another in all bad ones
    def settled(side, number, name, **what):
        reads = [Read(function, name, np.full(300, number), **what) for function in ("rest", "main")]
        return [with_values(one, *reads) for one in side]

    def notes(name, **what):
        sides = (
            settled(runs(1.0, ample), 121_005, name, **what),
            settled(runs(9.0, none, first=50), 3_005, name, **what),
        )
        return [note for note in examine(*sides).verdict.notes if note.startswith("Elsewhere")]

    # THEN it is told, once for all through whom it goes
    (note,) = notes("size", roles="condition")
    assert note.endswith("size stays at 3,005 for the whole run; was 121,005.")
    assert note.startswith(("Elsewhere, in rest (tool.c:", "Elsewhere, in main (tool.c:"))
    # BUT not where nothing is decided by it
    assert notes("size", roles="argument") == []


def test_without_values_the_hot_function_comes_first():
    verdict = examine(runs(1.0, ample), runs(9.0, none, first=50), method=Method.NONE).verdict
    assert verdict.suspects[0].function == "apply"
    assert not verdict.suspects[0].variables


def test_the_papers_method_ranks_by_calibrated_cost():
    good, bad = runs(1.0, ample, limited=False), runs(9.0, none, first=50, limited=False)
    verdict = examine(good, bad, method=Method.PAPER).verdict
    assert verdict.suspects[0].function == "plan"
    assert verdict.suspects[0].pattern == "wrong-constraint"
    assert verdict.suspects[0].evidence[0].detail.discount == 0.0


def test_by_the_papers_method_one_global_lifts_every_function():
    verdict = examine(runs(1.0, ample), runs(9.0, none, first=50), method=Method.PAPER).verdict
    assert {one.evidence[0].detail.discount for one in verdict.suspects if one.function != "main"} == {0.0}


def test_a_hot_function_explained_by_its_callers_data_is_named_after_it():
    verdict = examine(runs(1.0, ample), runs(9.0, none, first=50)).verdict
    first, second = verdict.suspects
    assert (first.function, second.function, second.confidence) == ("plan", "apply", "low")


def test_single_runs_have_low_confidence_and_name_what_several_would_tell():
    verdict = examine(
        runs(1.0, lambda rng, count: np.full(count, 5), count=1), runs(9.0, none, count=1, first=50)
    ).verdict
    assert {suspect.confidence for suspect in verdict.suspects} == {"low"}
    assert any(note.startswith("One value per run, another in the bad run: ") for note in verdict.notes)
    assert verdict.suspects[0].function == "apply"


def test_the_same_data_change_nothing():
    with_data = examine(runs(1.0, ample), runs(9.0, ample, first=50)).verdict
    assert with_data.suspects[0].function == "apply"
    assert not any(suspect.variables for suspect in with_data.suspects)


def test_the_terminal_shows_good_above_bad_and_the_line():
    shown = io.StringIO()
    show(examine(runs(1.0, ample), runs(9.0, none, first=50)).verdict, file=shown, width=100, colour=False)
    lines = shown.getvalue().splitlines()
    title = next(at for at, line in enumerate(lines) if "available (size_t)" in line)
    good, bad, place = lines[title + 1 : title + 4]
    assert good.strip().startswith("good │")
    assert "41" in good
    assert "typically" in good
    assert bad.strip().startswith("bad  │█")
    assert bad.endswith("0")
    # AND the line, which the suspect's source below shows
    assert place.strip() == "read at line 12"
    assert any("while (!scan(available))" in line and "100%" in line for line in lines[title + 4 :])
    assert "     Pattern: wrong-constraint" in lines


@pytest.mark.parametrize("width", [40, 60, 200])
def test_the_report_keeps_to_its_width_and_to_ascii(width):
    raw = io.BytesIO()
    plain = io.TextIOWrapper(raw, encoding="ascii")
    show(examine(runs(1.0, ample), runs(9.0, none, first=50)).verdict, file=plain, width=width, colour=False)
    plain.flush()
    assert "available" in raw.getvalue().decode("ascii")


def test_the_json_fits_its_schema():
    plain = json.loads(to_json(examine(runs(1.0, ample), runs(9.0, none, first=50)).verdict))
    jsonschema.validate(plain, verdict_schema())
    variable = plain["suspects"][0]["variables"][0]
    assert variable["bad_values"]["typical"] == "0"
    assert len(variable["good_values"]["histogram"]) == len(variable["bad_values"]["histogram"])


def test_explanations_tell_what_the_data_lack():
    diagnosis = examine(runs(1.0, ample), runs(9.0, none, first=50))
    said = " ".join(explain(diagnosis.values, FunctionKey("tool", "apply", "")))
    assert "1 of its variables were read, 1 often enough to compare: 0 abnormal." in said
    assert "available stays at 0" in " ".join(explain(diagnosis.values, FunctionKey("tool", "plan", "")))
    assert explain(diagnosis.values, FunctionKey("tool", "rest", "")) == [
        "No variable of it was read: nothing is known of its data."
    ]
