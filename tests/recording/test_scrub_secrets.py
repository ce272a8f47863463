"""Secrets planted wherever a recording could keep them are in no byte of what `scrub` leaves."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyarrow import parquet

pytestmark = pytest.mark.process

MARK = "Qx7secret"
NUMBER = 7_311_733_117_311_731
PROGRAM = f"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
/* {MARK} in a comment */
static volatile long kept;
__attribute__((noinline)) static void spend(long amount, const char *text) {{
    for (long i = 0; i < 60000000; i++) kept += amount ^ i; // {MARK} beside code
    FILE *file = fopen(text, "w");
    fputs("{MARK} in a file", file);
    fclose(file);
}}
int main(int count, char **words) {{
    long secret = strtol(getenv("{MARK}_NAME"), NULL, 10);
    spend(secret, count > 1 ? words[1] : "");
    puts("{MARK} was printed");
    return 0;
}}
"""


def traces_permitted() -> bool:
    return os.geteuid() == 0 and Path("/sys/kernel/btf/vmlinux").exists()


KINDS = {
    "sampled": (),
    "traced": ("--trace",),
    "deep": ("--deep", "--symptom", "line:FOLDER/spend.c:8"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("planted") / f"{MARK}-folder"
    folder.mkdir()
    (folder / "spend.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-g", "-O1", "-o", "tool", f"{folder}/spend.c"], cwd=folder, check=True)
    return folder


def whyperf(*words: str | Path, cwd: Path) -> None:
    environment = os.environ | {f"{MARK}_NAME": str(NUMBER)}
    command = [sys.executable, "-m", "whyperf", *map(str, words)]
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def everything_in(recording: Path) -> Iterator[tuple[str, str]]:
    """Each file as text, and each column of each table as its values are."""
    for file in sorted(path for path in recording.rglob("*") if path.is_file()):
        yield str(file.relative_to(recording)), file.read_bytes().decode("latin-1")
        if file.suffix == ".parquet":
            for name, column in parquet.read_table(file).to_pydict().items():
                yield f"{file.name} {name}", repr(column)


def leaks(recording: Path) -> list[str]:
    words = [MARK, str(NUMBER), NUMBER.to_bytes(8, "little").decode("latin-1"), socket.gethostname() + "."]
    return [where for where, text in everything_in(recording) if any(word in text for word in words)]


@pytest.mark.parametrize("kind", KINDS)
def test_no_secret_is_left(kind: str, folder: Path, tmp_path: Path) -> None:
    if kind == "traced" and not traces_permitted():
        pytest.skip("tracing needs root and a kernel with BTF")
    out = tmp_path / "recording"
    options = [word.replace("FOLDER", str(folder)) for word in KINDS[kind]]
    whyperf("record", *options, "-o", out, "--", folder / "tool", folder / f"{MARK}-out", cwd=folder)
    # GIVEN that the recording itself holds secrets
    assert leaks(out)
    # THEN its scrubbed copy holds none
    whyperf("scrub", out, "-o", tmp_path / "scrubbed", cwd=tmp_path)
    assert leaks(tmp_path / "scrubbed") == []
