"""Numbers that a recorded program held are in no byte of what `--redact` leaves; texts are where the manual says."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.recording.planted import MARK, NUMBER, places_of, traces_permitted, ways_to_write, whyperf

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
KINDS = {"sampled": (), "by the wall clock": ("--clock", "wall"), "traced": ("--trace",)}
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
