"""`diagnose FOLDER` prints what `compare` printed, also what it found out by runs that left no recordings."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Whyperf, sentence
from whyperf.recording.compared import COMPARED, compared_in

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")


def test_origin_and_proofs_are_repeated(whyperf: Whyperf, batches: Path) -> None:
    # GIVEN a comparison that followed and forced values
    compared = whyperf("compare", "--prove", "./batches < few", "./batches < many", "-o", "out", "--json", "first.json")
    assert compared.returncode == 0, compared.stderr
    assert any(one["proofs"] for one in json.loads((batches / "first.json").read_text())["suspects"]), compared.stdout
    # WHEN its folder is diagnosed
    again = whyperf("diagnose", "out", "--json", "again.json", "--html", "page.html")
    # THEN the report is the same
    assert again.returncode == 0, again.stderr
    assert again.stdout == compared.stdout
    assert json.loads((batches / "again.json").read_text()) == json.loads((batches / "first.json").read_text())
    # AND from elsewhere too, but for the path of the folder
    (batches / "elsewhere").mkdir()
    shutil.move(batches / "out", batches / "elsewhere")
    moved = whyperf("diagnose", "elsewhere/out")
    assert moved.stdout.splitlines()[-1] == "Next: whyperf view --open elsewhere/out"
    assert moved.stdout.splitlines()[:-1] == compared.stdout.splitlines()[:-1]


def test_other_recordings_or_options_are_judged_anew(whyperf: Whyperf, batches: Path) -> None:
    whyperf("compare", "--quick", "./batches < few", "./batches < many", "--runs", "2", "-o", "out")
    kept = json.loads((batches / "out" / COMPARED).read_text())
    kept["verdict"]["verdict"]["symptom"]["sentence"] = "This was kept."
    (batches / "out" / COMPARED).write_text(json.dumps(kept))
    assert "This was kept." in whyperf("diagnose", "out").stdout
    assert "This was kept." not in whyperf("diagnose", "out", "--method", "paper").stdout
    assert "This was kept." not in whyperf("diagnose", "out", "--anew").stdout
    assert "This was kept." not in whyperf("diagnose", "out/good-1", "out/bad-1").stdout
    # AND so they are after one of them was recorded again
    assert whyperf("record", "--force", "-o", "out/bad-2", "--", "sh", "-c", "./batches < many").returncode == 0
    assert "This was kept." not in whyperf("diagnose", "out").stdout


_KEEPING = """
#include <stdlib.h>
#include <string.h>
int main(int count, char **words) {
    size_t size = atol(words[1]) << 20;
    char *kept = memset(malloc(size), 1, size);
    static volatile long step;
    for (step = 0; step < 200000000; step++) {} // beside which the memory costs no time
    return kept[size - 1] - 1;
}
"""


def test_recordings_of_a_further_pass_are_those_of_the_verdict(whyperf: Whyperf, tmp_path: Path) -> None:
    # GIVEN programs of which one needs more memory, so that further runs sample allocations
    (tmp_path / "keeping.c").write_text(_KEEPING)
    subprocess.run(["gcc", "-g", "-o", tmp_path / "keeping", tmp_path / "keeping.c"], check=True)
    compared = whyperf("compare", "./keeping 1", "./keeping 40", "-o", "out")
    good, bad = compared_in(tmp_path / "out")
    assert {path.parent for path in (*good, *bad)} == {tmp_path / "out" / "memory"}, compared.stdout
    again = whyperf("diagnose", "out")
    assert again.stdout == compared.stdout
    assert "out/memory" not in again.stdout


def test_of_redacted_recordings_no_verdict_is_kept(whyperf: Whyperf, batches: Path) -> None:
    # GIVEN that chains and proofs tell values as they are
    whyperf("compare", "--quick", "--redact", "./batches < few", "./batches < many", "--runs", "2", "-o", "out")
    assert (batches / "out" / "good-1").is_dir() and not (batches / "out" / COMPARED).exists()


@pytest.mark.parametrize("text", ["", "[]", '{"format": 1}', '{"format": 1, "good": ["../x"], "bad": ["bad-1"]}'])
def test_a_damaged_verdict_is_told(whyperf: Whyperf, tmp_path: Path, text: str) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / COMPARED).write_text(text)
    done = whyperf("diagnose", "out")
    assert f"out/{COMPARED} is damaged" in sentence(done, 1)
    assert f"rm out/{COMPARED}" in done.stderr
