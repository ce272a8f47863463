"""Numbers that a recorded program held are in no byte of what `--redact` leaves; texts are where the manual says."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.recording.planted import MARK, NUMBER, places_of, traces_permitted, ways_to_write, whyperf
from tests.warm_interpreter import run_whyperf

pytestmark = pytest.mark.process

WORD = "Vb3contents"  # what strings, variables of the environment and outputs hold
PROGRAM = f"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct account {{ long balance; double rate; struct account *next; }};
static long total;
static volatile long kept;
/* {MARK} in a comment */
__attribute__((noinline))
static void spend(long amount, double real, struct account *account, void *stored, char *text) {{
    unsigned long whole = (unsigned long)amount;
    for (int i = 0; i < 64; i++)
        kept += ((char *)malloc(1 << 20))[0];
    for (long i = 0; i < 30000000; i++)
        kept += (amount ^ i) + (long)real + account->balance + (long)whole + text[0] + (long)stored;
}}
int main(int count, char **words) {{
    char *given = getenv("{MARK}_NAME"), text[64];
    long amount = strtol(given, &given, 10);
    strcpy(text, given);
    struct account *account = malloc(sizeof *account);
    *account = (struct account){{amount, (double)amount, account}};
    total = amount;
    spend(amount, (double)amount, account, (void *)amount, text);
    puts(text);
    fputs(text, stderr);
    return count > 1 ? words[1][0] == 0 : 0;
}}
"""
KINDS = {
    "sampled": (),
    "by the wall clock": ("--clock", "wall"),
    "of memory": ("--memory",),
    "traced": ("--trace",),
}
# Which docs/privacy.md says are not redacted: command lines, source lines, paths, names.
LEFT = {"manifest.json", "source text", "source file", "frames file", "functions file", "variables file"}
LEFT |= {"processes command", "processes executable", "modules path"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("planted") / f"{MARK}-folder"
    folder.mkdir()
    (folder / "spend.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-g", "-O0", "-o", "tool", f"{folder}/spend.c"], cwd=folder, check=True)
    return folder


def record(folder: Path, out: Path, *options: str) -> None:
    given = {f"{MARK}_NAME": f"{NUMBER}{WORD}", "XDG_STATE_HOME": str(out.parent / "state")}
    whyperf("record", *options, "-o", out, "--", folder / "tool", f"{MARK}-argument", cwd=folder, environment=given)


def test_numbers_are_there_without_it(folder: Path, tmp_path: Path) -> None:
    record(folder, tmp_path / "recording")
    assert "values.parquet value" in places_of(ways_to_write(NUMBER), tmp_path / "recording")


@pytest.mark.parametrize("kind", KINDS)
def test_no_number_is_left(kind: str, folder: Path, tmp_path: Path) -> None:
    if kind == "traced" and not traces_permitted():
        pytest.skip("tracing needs root and a kernel with BTF")
    # GIVEN a program that holds a secret as a number, a double, a field, a pointer and a global, and a secret text
    out = tmp_path / "recording"
    # WHEN it is recorded with --redact
    record(folder, out, "--redact", *KINDS[kind])
    # THEN its numbers were read, and neither they nor the text are anywhere
    assert (out / "values.parquet").stat().st_size > 1000
    assert places_of(ways_to_write(NUMBER), out) == []
    assert places_of([WORD], out) == []
    # and what is not redacted is where the manual says
    found = {where.replace(".parquet", "") for where in places_of([MARK], out)}
    assert {"source text", "processes command"} <= found
    assert {where for where in found if " " in where or "." in where} <= LEFT
    # and the key is not part of it
    key = (tmp_path / "state" / "whyperf" / "redaction-key").read_bytes()
    assert places_of([key.decode("latin-1"), key.hex()], out) == []


FEW, MANY = 7_311_733, 73_117_331
TOLD = [way for number in (FEW, MANY) for way in (f"{number:,}", *ways_to_write(number))]
COMPARED = """
#include <stdio.h>
static volatile long kept;
__attribute__((noinline)) static void spend(long amount) {
    for (long i = 0; i < amount; i++)
        kept += i ^ amount;
}
int main(void) {
    long amount = 0;
    if (scanf("%ld", &amount) == 1)
        spend(amount);
    printf("%ld\\n", amount);
    return 0;
}
"""


@pytest.fixture
def compared(tmp_path: Path) -> Path:
    (tmp_path / "spend.c").write_text(COMPARED)
    subprocess.run(["gcc", "-g", "-O0", "-o", "tool", "spend.c"], cwd=tmp_path, check=True)
    (tmp_path / "few").write_text(str(FEW))
    (tmp_path / "many").write_text(str(MANY))
    return tmp_path


def compare(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    sides = ("./tool < few", "./tool < many")
    words = ("compare", *options, *sides, "-o", "both", "--html", "page.html", "--json", "verdict.json")
    environment = os.environ | {"XDG_STATE_HOME": str(folder / "state")}
    return run_whyperf(*words, cwd=folder, environment=environment)


def told_in(done: subprocess.CompletedProcess[str], folder: Path) -> list[str]:
    """Where one of the numbers is: what was printed, the page, the verdict, the recordings."""
    texts = {
        "printed": done.stdout + done.stderr,
        **{name: (folder / name).read_text() for name in ("page.html", "verdict.json")},
    }
    return [name for name, text in texts.items() if any(way in text for way in TOLD)] + places_of(TOLD, folder / "both")


def test_a_comparison_prints_and_keeps_no_number_and_proves_nothing(compared: Path) -> None:
    # GIVEN a comparison that prints numbers, and keeps them
    told = told_in(compare(compared, "--budget", "60s"), compared)
    assert {"printed", "page.html", "verdict.json", "compared.json", "good-4/stdout"} <= set(told)
    # WHEN it is made with --redact, with all that it does by itself
    done = compare(compared, "--force", "--redact", "--budget", "60s")
    assert done.returncode == 0, done.stderr
    # THEN no number is anywhere, also of the runs that count calls, and nothing was forced
    assert "counting" in done.stderr
    assert told_in(done, compared) == []
    verdict = json.loads((compared / "verdict.json").read_text())
    assert verdict["suspects"] and not any(one["proofs"] for one in verdict["suspects"])
    # THEN no command is advised that is refused
    assert "prove" not in verdict["next_command"] and "whyperf prove" not in done.stdout
    # WHEN one asks for a proof or an origin all the same
    start = ("--variable", "spend.amount")
    for words in (("prove", "both"), ("origin", "both", *start), ("origin", "both/bad-1", *start)):
        refused = run_whyperf(*words, cwd=compared)
        # THEN that is a sentence
        assert refused.returncode == 1 and "is redacted, and new runs" in refused.stderr
        assert refused.stdout == "" and "run 1" not in refused.stderr


def test_redacted_numbers_are_not_proven(compared: Path) -> None:
    done = compare(compared, "--redact", "--prove")
    assert done.returncode == 2 and "--prove and --redact exclude each other" in done.stderr
    assert not (compared / "both").exists() and not (compared / "state").exists()
