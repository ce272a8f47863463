"""At -O0 variables have one place for their whole scope: they count from where the program has put something there.

Behind each line of the programs: which variables can be read at all of its instructions, and which at none of them.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.debuginfo.building import run
from tests.debuginfo.oracle import table_of
from whyperf.debuginfo.describe import describe

_C = """
#include <stdio.h>
#include <string.h>
struct pair { int left; int right; long wide; };
void fill(int *p) { *p = 7; }
struct pair made(void) { struct pair p = {1, 2, 3}; return p; }
int slow(int n) { return n + 1; }
int later(int n) {
    int late;
    int sum = slow(n); // yes: n no: late sum
    for (int j = 0; j < n; j++) // no: late
        sum += slow(j); // yes: j sum no: late
    late = sum * 2; // yes: sum no: late
    return slow(late); // yes: late
}
int through_pointers(int n) {
    int x, y;
    slow(n); // no: x y
    fill(&x); // no: x y
    slow(n); // yes: x no: y
    sscanf("3", "%d", &y); // yes: x no: y
    return x + y; // yes: x y
}
long fields(int n) {
    struct pair p;
    slow(n); // no: p.left p.right p.wide
    p.left = n; // no: p.left p.right p.wide
    slow(n); // yes: p.left no: p.right p.wide
    p.right = n; // no: p.right
    p.wide = slow(n); // yes: p.left p.right no: p.wide
    return slow(n) + p.wide; // yes: p.left p.right p.wide
}
long whole(int n) {
    struct pair p = {n, n, n};
    struct pair q;
    slow(n); // yes: p.left p.right p.wide no: q.left q.right q.wide
    q = made(); // no: q.left q.right q.wide
    return slow(n) + q.wide; // yes: q.left q.right q.wide
}
long zeroed(int n) {
    struct pair p;
    slow(n); // no: p.left p.right p.wide
    memset(&p, 0, sizeof p); // no: p.left p.right p.wide
    return slow(n) + p.wide; // yes: p.left p.right p.wide
}
long branches(int n) {
    int chosen;
    double ratio;
    if (n > 2) // no: chosen ratio
        chosen = slow(n);
    else
        chosen = slow(-n); // no: chosen ratio
    slow(chosen); // yes: chosen no: ratio
    ratio = chosen * 0.5; // no: ratio
    return slow((int)ratio); // yes: ratio
}
long cases(int n) {
    int picked;
    switch (n) { // no: picked
    case 1:
        picked = slow(1); // no: picked
        break;
    case 2:
        picked = slow(2); // no: picked
        break;
    default:
        picked = slow(3); // no: picked
    }
    return slow(picked); // yes: picked
}
long arrays(int n) {
    int several[4], at;
    slow(n); // no: at
    several[slow(0)] = n; // no: at
    at = several[1]; // no: at
    return slow(at); // yes: at
}
int main(int c, char **v) {
    return later(c) + through_pointers(c) + fields(c) + whole(c) + zeroed(c) + branches(c) + cases(c) + arrays(c);
}
"""
_CXX = """
#include <string>
#include <vector>
struct Box { int size; int used; Box() : size(3), used(0) {} };
struct Raw { int left; int right; };
struct Shelf : std::vector<int> { int wide = 4; };
int slow(int n) { return n + 1; }
void fill(int &r) { r = 9; }
int work(int n) {
    int late;
    slow(n); // yes: n no: late items.size() box.size got
    fill(late); // no: late
    slow(n); // yes: late no: items.size()
    std::vector<int> items(n); // yes: late
    std::string text; // yes: items.size()
    Box box; // no: box.size box.used
    slow(n); // yes: box.size box.used
    Shelf shelf; // no: shelf.size()
    slow(n); // yes: shelf.size() shelf.wide
    for (int x : items)
        late += slow(x); // yes: x
    if (int got = slow(n)) {
        late += slow(got); // yes: got no: x
        slow(n);
    }
    Raw raw;
    slow(n); // no: raw.left raw.right got
    raw = Raw{n, n}; // no: raw.left raw.right
    slow(n); // yes: raw.left raw.right
    for (int i = 0, j; i < n; i++) {
        slow(i); // yes: i no: j
        j = i * 2; // yes: i no: j
        late += slow(j); // yes: i j
    }
    auto twice = [&](int k) {
        int inner;
        slow(k); // yes: k no: inner
        inner = k * 2; // no: inner
        return slow(inner); // yes: inner
    };
    return slow(late + twice(raw.left) + box.size + (int)text.size()); // yes: late
}
int main(int c, char **) { return work(c) & 1; }
"""
_ONE_LINE = """
int slow(int n) { return n; }
int main(int n, char **v) {
    for (int i = 0; i < n; i++) slow(i);
    return 0;
}
"""


def _readable(program: Path) -> dict[int, list[set[str]]]:
    """By line of the source: the variables that can be read at each of its instructions."""
    table = table_of(program, program.parent / "tables")
    binary = describe(str(program), cache=program.parent / "tables" / "cache", debug_folders=())
    found: dict[int, list[set[str]]] = {}
    for text in run("objdump", "-d", "--no-show-raw-insn", program).splitlines():
        instruction = re.match(r" +([0-9a-f]+):", text)
        if instruction is None:
            continue
        address = int(instruction[1], 16)
        place = binary.resolve([address])
        if len(place.line) and place.file[0] >= 0 and Path(binary.files[place.file[0]]).stem == "assigned":
            names = {table.variables.name[table.locations["variable"][row]] for row in table.at(address)}
            found.setdefault(int(place.line[0]), []).append(names)
    return found


def _built(folder: Path, compiler: str, source: str) -> Path:
    file = folder / ("assigned.cc" if compiler.endswith("++") else "assigned.c")
    file.write_text(source)
    run(compiler, "-g", "-O0", "-w", file, "-o", folder / "program")
    return folder / "program"


@pytest.mark.parametrize(("compiler", "source"), [("gcc", _C), ("clang", _C), ("g++", _CXX), ("clang++", _CXX)])
def test_variables_count_from_their_first_assignment_on(tmp_path: Path, compiler: str, source: str) -> None:
    readable = _readable(_built(tmp_path, compiler, source))
    checked = 0
    for number, text in enumerate(source.splitlines(), 1):
        expected = re.search(r"//(?: yes: (?P<yes>.*?))?(?: no: (?P<no>.*))?$", text)
        if expected is None:
            continue
        at_all, at_any = set.intersection(*readable[number]), set.union(*readable[number])
        assert set((expected["yes"] or "").split()) <= at_all, (number, text)
        # Code that destroys objects when an exception passes is far behind, but belongs to the line that made them.
        if "items(n)" not in text:
            assert not set((expected["no"] or "").split()) & at_any, (number, text, at_any)
        checked += 1
    assert checked > 15


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_loop_in_one_line_has_its_variable(tmp_path: Path, compiler: str) -> None:
    readable = _readable(_built(tmp_path, compiler, _ONE_LINE))
    with_variable = ["i" in names for names in readable[4]]
    assert not with_variable[0] and any(with_variable[2:])
