"""Redacted numbers: order and distances stay, the numbers do not."""

from __future__ import annotations

import json
import stat
import struct
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.diagnose.engine_claims.test_values import ample, none, runs
from tests.warm_interpreter import run_whyperf
from whyperf.collect.setup.redaction_key import fingerprint, key_file, redaction_key
from whyperf.diagnose.diagnosis import examine
from whyperf.errors import WhyperfError
from whyperf.report.html.build import page_model
from whyperf.report.html.examined import Examined
from whyperf.seal.value_tables.redaction import Scale, redacted
from whyperf.seal.value_tables.values import SealedValues

_KEY, _OTHER = bytes(range(32)), bytes(range(1, 33))
_numbers = st.one_of(
    st.integers(-(2**40), 2**40).map(float),
    st.floats(1e-200, 1e200).map(lambda number: float(f"{number:.12g}")),  # the last bits may fall together
    st.sampled_from([0.0, 1.0, -1.0, 0.5, 7.999999999, 8.0]),
)


@given(st.lists(_numbers, min_size=2, max_size=50), st.text(max_size=5))
def test_order_and_equality_stay(numbers, name):
    numbers = np.array(numbers)
    made = Scale.of(_KEY, name, "n")(numbers)
    assert np.array_equal(np.argsort(numbers, kind="stable"), np.argsort(made, kind="stable"))
    assert len(np.unique(made)) == len(np.unique(numbers))
    assert np.array_equal(np.sign(numbers), np.sign(made))


@given(st.floats(1e-6, 1e12), st.floats(1e-6, 1e12))
def test_ratios_stay_to_within_some_percent(one, other):
    made = Scale.of(_KEY, "f", "n")(np.array([one, other]))
    assert made[0] / made[1] == pytest.approx(one / other, rel=0.05)


def test_ratios_of_whole_numbers_do_not_tell_them():
    made = Scale.of(_KEY, "f", "n")(np.array([4711.0, 9422.0]))
    assert made[1] / made[0] != pytest.approx(2.0, rel=1e-6)


def test_every_variable_and_every_key_has_its_own_unit():
    number = np.array([4711.0])
    made = [
        Scale.of(key, function, name)(number)[0]
        for key, function, name in [(_KEY, "f", "n"), (_OTHER, "f", "n"), (_KEY, "g", "n"), (_KEY, "f", "m")]
    ]
    assert len(set(made)) == len(made)


def test_what_is_no_number_stays():
    odd = np.array([np.nan, np.inf, -np.inf, 0.0])
    assert np.array_equal(Scale.of(_KEY, "f", "n")(odd), odd, equal_nan=True)


def _redacted(recorded, key=_KEY):
    """As if it had been sealed so."""
    tables = recorded.tables
    values = redacted(SealedValues(tables["variables"], tables["values"], ()), tables["functions"], key)
    return replace(
        recorded,
        manifest=replace(recorded.manifest, redaction=fingerprint(key)),
        tables={**tables, "variables": values.variables, "values": values.values},
    )


def test_the_verdict_stays_and_holds_no_number():
    good, bad = runs(1.0, ample), runs(9.0, none, first=50)
    plain = examine(good, bad).verdict
    verdict = examine([_redacted(one) for one in good], [_redacted(one) for one in bad]).verdict
    assert [(s.function, s.line, s.pattern, s.confidence) for s in verdict.suspects] == [
        (s.function, s.line, s.pattern, s.confidence) for s in plain.suspects
    ]
    assert verdict.suspects[0].why.startswith("available stays at 0 for the whole run; was 0.9")
    assert [variable.distance for variable in verdict.suspects[0].variables] == [
        variable.distance for variable in plain.suspects[0].variables
    ]
    assert any(note.startswith("Redacted: ") for note in verdict.notes)


def test_the_page_says_so_and_holds_no_number():
    good, bad = ([_redacted(one) for one in side] for side in (runs(1.0, ample), runs(9.0, none, first=50)))
    diagnosis = examine(good, bad)
    model = page_model(diagnosis.verdict, Examined(good, bad, diagnosis.excess, diagnosis.values))
    assert all(row.sampling.endswith("; numbers redacted") for row in model.recordings.rows)
    shown = next(row for row in model.values.variables if row.name == "available")
    # Good values were between 410,000 and 430,000, and their middle one is what they are multiples of.
    assert 0.9 < min(course.low[0] for course in shown.courses if course.good) <= 1 < max(shown.cells.edges) < 1.1


def test_numbers_of_different_keys_are_not_compared():
    good = [_redacted(one) for one in runs(1.0, ample)]
    bad = [_redacted(one, _OTHER) for one in runs(9.0, none, first=50)]
    verdict = examine(good, bad).verdict
    assert not any(suspect.variables for suspect in verdict.suspects)
    assert any("could not be compared" in note for note in verdict.notes)


@pytest.fixture
def own_key(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.mark.usefixtures("own_key")
def test_the_key_is_made_once_and_for_its_owner_only():
    key = redaction_key()
    assert redaction_key() == key
    assert stat.S_IMODE(key_file().stat().st_mode) == 0o600
    key_file().chmod(0o644)
    with pytest.raises(WhyperfError, match="Others can read"):
        redaction_key()


# The number never stands in the source, on the command line or in the environment: only the running program has it.
_SECRET = 7390581246133
_PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
static volatile long sink;
__attribute__((noinline)) static void scan(long steps) {
    for (long i = 0; i < steps; i++)
        sink += i;
}
__attribute__((noinline)) static void serve(long budget, double rate, long rounds) {
    for (long round = 0; round < rounds; round++) {
        long steps = budget > 1000000 ? 20000 : 60000;
        scan(steps);
        sink += budget + (long)rate;
    }
}
int main(int count, char **words) {
    long budget = 0;
    if (count < 2 || scanf("%ld", &budget) != 1)
        return 1;
    printf("%ld\\n", budget);
    serve(budget, budget * 1.0, atol(words[1]));
    return 0;
}
"""


def test_a_secret_number_is_in_no_file_and_the_suspect_is_the_same(tmp_path):
    source, binary = tmp_path / "serve.c", tmp_path / "serve"
    source.write_text(_PROGRAM)
    subprocess.run(["gcc", "-g", "-O1", "-o", binary, source], check=True)
    (tmp_path / "good.txt").write_text(str(_SECRET))
    (tmp_path / "bad.txt").write_text("12")
    found = {}
    for option in ("--no-redact", "--redact"):
        kept = tmp_path / option
        kept.mkdir()
        files = ["-o", f"{kept}/runs", "--json", f"{kept}/v.json", "--html", f"{kept}/page.html"]
        words = ["--quick", "--runs", "3", *files, *([option] if option == "--redact" else [])]
        sides = ["--good", f"{binary} 5000 < {tmp_path}/good.txt", "--bad", f"{binary} 5000 < {tmp_path}/bad.txt"]
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
        done = run_whyperf("compare", *words, *sides, cwd=tmp_path, environment=environment)
        assert done.returncode == 0, done.stderr
        found[option] = (json.loads((kept / "v.json").read_text())["suspects"][0], _holding(kept), done)
    plain, hidden = found["--no-redact"], found["--redact"]
    assert plain[1]  # the search does find it
    assert not hidden[1]
    assert str(_SECRET) not in hidden[2].stdout + hidden[2].stderr
    assert plain[0]["function"] == hidden[0]["function"]
    assert "Redacted: " in hidden[2].stdout


def _holding(folder: Path) -> list[str]:
    """Files and columns in which the number stands, as text, as an integer or as a double."""
    forms = (str(_SECRET).encode(), struct.pack("<q", _SECRET), struct.pack("<d", _SECRET))
    holding = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        parts = [path.read_bytes()]
        if path.suffix == ".parquet":
            parts += [column.to_numpy().tobytes() for column in _numeric(pq.read_table(path))]
        holding += [path.name for part in parts if any(form in part for form in forms)]
    return holding


def _numeric(table):
    return [table.column(field.name) for field in table.schema if str(field.type) in ("int64", "uint64", "double")]
