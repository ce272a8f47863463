"""Which functions two builds have in common: every edit of a source must be seen, and nothing that is none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from whyperf.debuginfo.binary import Binary
from whyperf.debuginfo.code_maps import cache
from whyperf.debuginfo.describe import cache_key
from whyperf.debuginfo.fingerprints import Fingerprints, fingerprints

from .building import run
from .conftest import Describe

SOURCE = """
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define NOINLINE __attribute__((noinline, noclone))
struct node { struct node *next, *previous; long key, weight; };
static struct node *first;
static long limit = 7;
static inline long weigh(const struct node *node) { return node->weight * 3 + node->key; }
static inline void check(long key, int line) { if (key < 0) printf("line %d: %ld\\n", line, key); }
#define CHECK(key) check(key, __LINE__)
NOINLINE long add(long key) {
    CHECK(key);
    struct node *node = calloc(1, sizeof *node);
    assert(node != NULL);
    node->key = key;
    node->next = first;
    return (first = node)->key;
}
NOINLINE long find(long key) {
    long steps = 0;
    for (struct node *at = first; at; at = at->next, steps++)
        if (at->key == key) return steps;
    return -1;
}
NOINLINE long total(void) {
    long sum = 0;
    for (struct node *at = first; at; at = at->next) sum += weigh(at);
    return sum;
}
NOINLINE double scaled(double value) { return value * 0.75; }
NOINLINE const char *describe(long key) {
    switch (key % 6) {
        case 0: return "none";
        case 1: return "one";
        case 2: return "a pair";
        case 3: return "a few";
        case 4: return "some";
        default: return "many";
    }
}
NOINLINE long grow(long size) {
    if (size > limit) limit = size + 64;
    return limit;
}
int main(int count, char **words) {
    for (long key = 0; key < count * 10L; key++) add(key % 7);
    assert(first != NULL);
    printf("%ld %ld %f %s %ld %s\\n", find(3), total(), scaled(2), describe(count), grow(count), words[0]);
    return (int)strlen(words[0]) == 1;
}
"""
# What is to be replaced by what, who must be found, who may be: that into which it was inlined; a text that is in a
# table of texts is data.
EDITS = {
    "the loop's step": ("at->key == key) return steps", "at->key == key && at->weight) return steps", {"find"}, set()),
    "a constant in the code": ("size + 64", "size + 128", {"grow"}, set()),
    "a constant beside it": ("value * 0.75", "value * 0.5", {"scaled"}, set()),
    "a text": ('"a few"', '"several"', set(), {"describe"}),
    "another callee": ("calloc(1, sizeof *node)", "malloc(sizeof *node)", {"add"}, set()),
    "another field": ("node->weight * 3", "node->weight * 3 + (long)node->previous", {"weigh"}, {"total"}),
}
WAYS = [(compiler, level) for compiler in ("gcc", "clang") for level in ("-O0", "-O1", "-O2", "-O3")]


@pytest.fixture
def built(tmp_path: Path, described: Describe):
    def build(name: str, text: str, compiler: str, *flags: str) -> Binary:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "list.c").write_text(text)
        run(compiler, "-g", *flags, folder / "list.c", "-o", folder / "list")
        return described(folder / "list")

    return build


def codes(binary: Binary, folder: Path) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    told = fingerprints(binary, np.zeros(0, np.int32), folder)
    for function, code in zip(told.function.tolist(), told.code.tolist(), strict=True):
        found.setdefault(binary.functions.names[function], set()).add(code)
    return found


def changed(good: Binary, bad: Binary, folder: Path) -> set[str]:
    before, after = codes(good, folder), codes(bad, folder)
    return {name for name in after if after[name] - before.get(name, set())}


@pytest.mark.parametrize(("compiler", "level"), WAYS)
@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_changes_its_function(built, tmp_path: Path, compiler: str, level: str, edit: str) -> None:
    old, new, expected, possible = EDITS[edit]
    # GIVEN two builds, in two folders
    good, bad = built("good", SOURCE, compiler, level), built("bad", SOURCE.replace(old, new), compiler, level)
    found = changed(good, bad, tmp_path / "cache")
    # THEN the function that was edited is found and no other
    assert expected <= found <= expected | possible


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_call_that_was_added_counts_though_it_is_inlined(built, tmp_path: Path, compiler: str) -> None:
    # GIVEN a function that works as ever, but for what it has another do, as in C++ where it copies an argument
    inlined = "static inline __attribute__((always_inline)) void note(volatile long *at) { *at += 1; }\n"
    steps = "__attribute__((noinline)) long step(volatile long *at) { %s return *at; }\n"
    rest = "int main(void) { long at = 3; %s return (int)step(&at); }\n"
    good = built("good", inlined + steps % "" + rest % "note(&at);", compiler, "-O2")
    bad = built("bad", inlined + steps % "note(at);" + rest % "note(&at);", compiler, "-O2")
    # The copy within it is another one, as `at` is not known to be three there.
    assert changed(good, bad, tmp_path / "cache") == {"step", "note"}


@pytest.mark.parametrize(("compiler", "level"), WAYS)
def test_what_moves_code_changes_none(built, tmp_path: Path, compiler: str, level: str) -> None:
    # GIVEN the same functions behind a new one, with other data, more lines and under another folder's name
    banner = 'static const char banner[] = "a text that takes its room";\n\n'
    more = f"{banner}NOINLINE const char *title(void) {{ return banner; }}\n"
    moved = SOURCE.replace(
        "static struct node *first;", "static struct node *first;\nstatic long beside[100];\n" + more
    )
    moved = moved.replace("return (int)strlen", "beside[count] = puts(title());\n    return (int)strlen")
    good, bad = built("good", SOURCE, compiler, level), built("a-longer-name", moved, compiler, level)
    assert changed(good, bad, tmp_path / "cache") == {"title", "main"}


def test_registers_and_the_stack_do_not_count(built, tmp_path: Path) -> None:
    # GIVEN the same source with frame pointers and without, and with instructions put in another order
    good = built("good", SOURCE, "gcc", "-O2", "-fomit-frame-pointer")
    bad = built("bad", SOURCE, "gcc", "-O2", "-fno-omit-frame-pointer", "-fno-schedule-insns2")
    assert changed(good, bad, tmp_path / "cache") == set()


def test_what_was_read_is_remembered(built, tmp_path: Path) -> None:
    binary = built("good", SOURCE, "gcc", "-O2")
    folder = tmp_path / "cache"
    read = codes(binary, folder)
    (kept,) = folder.glob(f"{cache_key(binary.elf)}.fingerprints*")
    # WHEN it is asked again THEN it is the same, and comes from there
    assert codes(binary, folder) == read
    cache.store_columns(folder, kept.name, {"function": np.array([0], np.int32), "code": np.array([5], np.uint64)})
    assert list(codes(binary, folder).values()) == [{5}]
    # WHEN what was kept is damaged THEN the code is read again
    kept.write_bytes(kept.read_bytes()[:-3] + b"...")
    assert codes(binary, folder) == read


def test_of_much_code_only_what_is_wanted_is_read(built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    binary = built("good", SOURCE, "gcc", "-O2")
    every = fingerprints(binary, np.zeros(0, np.int32), tmp_path / "cache")
    monkeypatch.setattr("whyperf.debuginfo.fingerprints._MOST_BYTES", 16)
    names = list(binary.functions.names)
    wanted = np.array([names.index("find"), names.index("total")], np.int32)
    told = fingerprints(binary, wanted, tmp_path / "other")
    # THEN nothing is said of `weigh`, which is inlined in `total` and, for all one knows, elsewhere
    assert _pairs(told) == {pair for pair in _pairs(every) if pair[0] in wanted}
    assert not (tmp_path / "other").exists()


def test_where_only_symbols_tell_only_what_is_wanted_is_read(described: Describe, tmp_path: Path) -> None:
    (tmp_path / "list.c").write_text(SOURCE)
    run("gcc", "-O2", tmp_path / "list.c", "-o", tmp_path / "list")
    binary = described(tmp_path / "list")
    assert binary.debug == "symbols"
    names = list(binary.functions.names)
    wanted = np.array([names.index("find"), names.index("total")], np.int32)
    told = fingerprints(binary, wanted, tmp_path / "other")
    # THEN they are what they would be among all functions
    every = fingerprints(binary, np.arange(len(names), dtype=np.int32), tmp_path / "other")
    assert {function for function, _ in _pairs(told)} == set(wanted.tolist())
    assert _pairs(told) == {pair for pair in _pairs(every) if pair[0] in wanted}
    assert len(_pairs(every)) > len(_pairs(told))
    assert not (tmp_path / "other").exists()


def _pairs(told: Fingerprints) -> set[tuple[int, int]]:
    return set(zip(told.function.tolist(), told.code.tolist(), strict=True))
