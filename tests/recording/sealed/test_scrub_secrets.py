"""Secrets planted wherever a recording could keep them are in no byte of what `scrub` leaves."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from tests.recording.planted import MARK, NUMBER, places_of, traces_permitted, ways_to_write, whyperf
from whyperf.recording.sealed.manifest import Counting, UncountedModule
from whyperf.recording.sealed.reader import Recording
from whyperf.recording.sealed.scrub import _counting

pytestmark = pytest.mark.process

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
__attribute__((noinline)) static long *fill(long size, long amount) {{
    long *block = malloc(size * sizeof *block);
    for (long i = 0; i < size; i++) block[i] = amount;
    printf("%d", block == NULL);
    return block;
}}
int main(int count, char **words) {{
    long secret = strtol(getenv("{MARK}_NAME"), NULL, 10);
    for (int i = 0; i < 64; i++) kept += fill(1 << 17, secret)[i];
    spend(secret, count > 1 ? words[1] : "");
    puts("{MARK} was printed");
    return 0;
}}
"""


KINDS = {
    "sampled": (),
    "traced": ("--trace",),
    "by the wall clock": ("--clock", "wall"),
    "timed": ("--latency", "fill"),
    "of memory": ("--memory",),
    "counted": ("--counts",),
    "deep": ("--deep", "--symptom", "line:FOLDER/spend.c:8"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("planted") / f"{MARK}-folder"
    folder.mkdir()
    (folder / "spend.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-g", "-O1", "-o", "tool", f"{folder}/spend.c"], cwd=folder, check=True)
    return folder


def leaks(recording: Path) -> list[str]:
    return places_of([MARK, *ways_to_write(NUMBER), socket.gethostname() + "."], recording)


@pytest.mark.parametrize("kind", KINDS)
def test_no_secret_is_left(kind: str, folder: Path, tmp_path: Path) -> None:
    if kind == "traced" and not traces_permitted():
        pytest.skip("tracing needs root and a kernel with BTF")
    out = tmp_path / "recording"
    options = [word.replace("FOLDER", str(folder)) for word in KINDS[kind]]
    given = {f"{MARK}_NAME": str(NUMBER)}
    whyperf("record", *options, "-o", out, "--", folder / "tool", folder / f"{MARK}-out", cwd=folder, environment=given)
    # GIVEN that the recording itself holds secrets
    assert leaks(out)
    # THEN its scrubbed copy holds none
    whyperf("scrub", out, "-o", tmp_path / "scrubbed", cwd=tmp_path)
    assert leaks(tmp_path / "scrubbed") == []
    # and what was asked for had been recorded
    recorded = Recording(out)
    assert kind != "of memory" or recorded.table("allocations").num_rows
    assert kind != "timed" or recorded.table("work").column("count").to_pylist() == [64]


def test_no_secret_is_left_of_what_perf_recorded(folder: Path, tmp_path: Path) -> None:
    if shutil.which("perf") is None:
        pytest.skip("perf is not installed: apt-get install linux-perf")
    file, out = tmp_path / "perf.data", tmp_path / "recording"
    environment = os.environ | {f"{MARK}_NAME": str(NUMBER)}
    program = [folder / "tool", folder / f"{MARK}-out"]
    subprocess.run(["perf", "record", "-q", "-g", "-o", file, "--", *program], cwd=folder, env=environment, check=True)
    whyperf("import", file, "-o", out, cwd=tmp_path)
    assert leaks(out)
    whyperf("scrub", out, "-o", tmp_path / "scrubbed", cwd=tmp_path)
    assert leaks(tmp_path / "scrubbed") == []


FOLDER = "Zk5folder"
SYMBOLS = f"""
#include <pthread.h>
#include <stdlib.h>
typedef long {MARK}_type;
struct {MARK}_struct {{ {MARK}_type {MARK}_field; }} {MARK}_global = {{1}};
static volatile long kept;
__attribute__((noinline)) void {MARK}_function(struct {MARK}_struct *{MARK}_variable) {{
    for (long i = 0; i < 60000000; i++) kept += {MARK}_variable->{MARK}_field ^ i;
}}
static void *run(void *nothing) {{
    pthread_setname_np(pthread_self(), "{MARK}");
    {MARK}_function(&{MARK}_global);
    return nothing;
}}
int main(void) {{
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    pthread_join(thread, NULL);
    return 0;
}}
"""
# What docs/privacy.md says is left: names of functions, files, programs, libraries and threads.
LEFT = {
    "frames file", "functions name", "functions file", "modules name", "modules path", "processes executable",
    "processes command", "threads name", "sites file",
}  # fmt: skip


@pytest.mark.parametrize("kind", ["sampled", "counted"])
def test_names_are_left_where_the_manual_says_and_nowhere_else(kind: str, tmp_path: Path) -> None:
    # GIVEN secrets as names of a function, a variable, a type, a field, a thread, a source file and the program
    folder = tmp_path / FOLDER
    folder.mkdir()
    (folder / f"{MARK}.c").write_text(SYMBOLS)
    command = ["gcc", "-g", "-O1", "-D_GNU_SOURCE", "-pthread", "-o", f"{MARK}-tool", f"{folder}/{MARK}.c"]
    subprocess.run(command, cwd=folder, check=True)
    whyperf("record", *KINDS[kind], "-o", tmp_path / "recording", "--", folder / f"{MARK}-tool", cwd=folder)
    # WHEN it is scrubbed
    whyperf("scrub", tmp_path / "recording", "-o", tmp_path / "scrubbed", cwd=tmp_path)
    # THEN folders are nowhere, and names of variables, types and fields are neither
    words = [f"{MARK}_{what}" for what in ("variable", "type", "field", "struct", "global")]
    assert places_of([FOLDER, *words], tmp_path / "scrubbed") == []
    # and other names are in the columns for them alone
    found = {where.replace(".parquet", "") for where in places_of([MARK], tmp_path / "scrubbed")}
    assert "functions name" in found
    tables = {column.split()[0] for column in LEFT}
    assert found - LEFT - tables <= {"manifest.json"}
    manifest = json.loads((tmp_path / "scrubbed" / "manifest.json").read_text())
    assert manifest.pop("command") == [f"{MARK}-tool"]
    for module in (manifest["counting"] or {}).get("uncounted_modules", []):
        module["path"] = module["path"].replace(f"{MARK}-tool", "")
    for thread in manifest["totals"]["threads"]:
        thread.pop("name")
    assert MARK not in json.dumps(manifest)


def test_libraries_that_were_not_counted_lose_their_folders() -> None:
    modules = (UncountedModule(f"/home/{FOLDER}/libplain.so", "no plan"),)
    left = _counting(Counting(sites=1, counted=0, uncounted_modules=modules))
    assert left.uncounted_modules == (UncountedModule("libplain.so", "no plan"),)
