"""A program is recorded, edited, built in the same place and recorded again: the edit is named, not where time goes."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.shared_cache import SHARED_CACHE
from tests.warm_interpreter import run_whyperf

pytestmark = pytest.mark.process

_RUNS = 3
_TABLE = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define NOINLINE __attribute__((noinline, noclone))
enum { SLOTS = 4096, KEYS = 3000, ROUNDS = 20 };
struct entry { struct entry *next; char key[24]; long count; };
static struct entry *table[SLOTS];
NOINLINE unsigned hash_of(const char *key) {
    unsigned hash = 5381;
    for (; *key; key++) hash = hash * 33 + (unsigned char)*key;
    return hash % SLOTS;
}
NOINLINE struct entry *seek(struct entry *at, const char *key) {
    while (at && strcmp(at->key, key)) at = at->next;
    return at;
}
NOINLINE void count(const char *key) {
    struct entry **slot = &table[hash_of(key)];
    struct entry *found = seek(*slot, key);
    if (!found) {
        found = calloc(1, sizeof *found);
        strcpy(found->key, key);
        found->next = *slot;
        *slot = found;
    }
    found->count++;
}
NOINLINE double other_work(long rounds) {
    double sum = 0;
    for (long i = 1; i < rounds; i++) sum += 1.0 / (double)i / (double)(i + 3);
    return sum;
}
int main(void) {
    char key[24];
    double sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < KEYS; i++) {
            snprintf(key, sizeof key, "customer-%d", i);
            count(key);
        }
        sum += other_work(2500000);
    }
    return sum < 0;
}
"""
# It no longer looks at the end of the key, where keys differ.
_EDITED = _TABLE.replace("for (; *key; key++)", "for (int i = 0; *key && i < 9; i++, key++)")


# Every key is asked for many times in a row, and was found at once.
_REMEMBERS = (
    _TABLE.replace("SLOTS = 4096", "SLOTS = 64")
    .replace(
        """    while (at && strcmp""",
        """    static struct entry *last;
    if (last && !strcmp(last->key, key)) /* as mostly */
        return last;
    for (struct entry *one = at; one; one = one->next)
        if (!strcmp(one->key, key)) last = one;
    while (at && strcmp""",
    )
    .replace("count(key);\n        }", "for (int times = 0; times < 40; times++) count(key);\n        }")
)
_FORGETS = "\n" + _REMEMBERS.replace(
    "    if (last && !strcmp(last->key, key)) /* as mostly */\n        return last;\n", ""
)


def _suspects(tmp_path: Path, good: str, bad: str) -> list[dict[str, Any]]:
    """Of a program that is recorded, edited, built in the same place and recorded again."""
    environment = {**os.environ, "XDG_CACHE_HOME": SHARED_CACHE}
    program = tmp_path / "table"
    for side, text in (("good", good), ("bad", bad)):
        (tmp_path / "table.c").write_text(text)
        subprocess.run(["gcc", "-O2", "-g", "-o", program, tmp_path / "table.c"], check=True, cwd=tmp_path)
        for number in range(_RUNS):
            words = ["-o", str(tmp_path / f"{side}-{number}"), "--", str(program)]
            assert run_whyperf("record", *words, environment=environment).returncode == 0
    good_runs, bad_runs = (map(str, sorted(tmp_path.glob(f"{side}-?"))) for side in ("good", "bad"))
    recordings = ["--good", *good_runs, "--bad", *bad_runs]
    done = run_whyperf("diagnose", "--json", "-", *recordings, environment=environment)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["suspects"]
    return found


@pytest.mark.long
def test_an_edit_is_named_though_no_time_is_spent_in_it(tmp_path: Path) -> None:
    assert _EDITED != _TABLE
    first, second = _suspects(tmp_path, _TABLE, _EDITED)[:2]
    # THEN the edit comes first, and next where the time goes
    assert first["function"] == "hash_of"
    assert "differs between the two builds" in first["why"]
    assert second["function"] in ("seek", "count")
    assert "the same in both builds" in second["why"]


def test_the_edit_itself_is_shown(tmp_path: Path) -> None:
    # GIVEN a function without its short way, one line farther down
    found = _suspects(tmp_path, _REMEMBERS, _FORGETS)
    # THEN that is what differs in it
    (change,) = (one["change"] for one in found if one["function"] == "seek")
    declared = _REMEMBERS[: _REMEMBERS.index("NOINLINE struct entry *seek")].count("\n") + 1
    (hunk,) = change["hunks"]
    assert [(one["build"], one["line"] - declared) for one in hunk] == [("good", 2), ("good", 3), ("both", 3)]
    assert hunk[1]["text"].strip() == "return last;"
