"""Counts are callgrind's."""

from __future__ import annotations

import shutil

import pytest
from bench.count_oracle import compared

from tests.collect.counts.machine import ROOT, Machine

pytestmark = [
    pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind"),
    pytest.mark.skipif(bool(ROOT), reason="Valgrind runs this machine's programs only"),
]

IN_C = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define APART __attribute__((noipa))
APART int leaf(int n) { return n * 7 % 101; }
APART int two(int n) { return leaf(n) + leaf(n + 1); }
APART int recursive(int n) { return n < 2 ? n : recursive(n - 1) + recursive(n - 2); }
APART int tail(int n) { if (n & 1) return leaf(n + 3); return two(n); }
APART int chosen(int n) {
    switch (n % 7) {
    case 0: return leaf(n); case 1: return two(n) ^ 3; case 2: return tail(n); case 3: return 4;
    case 4: return leaf(1) + two(2); case 5: return n; default: return tail(n) + 1;
    }
}
static int compare(const void *a, const void *b) { return leaf(*(const int *)a) - leaf(*(const int *)b); }
int main(void) {
    static int numbers[500];
    int sum = recursive(15);
    for (int i = 0; i < 3000; i++) sum += chosen(i) + tail(i);
    for (int i = 0; i < 500; i++) numbers[i] = two(i);
    qsort(numbers, 500, sizeof *numbers, compare);
    printf("%d\\n", sum + numbers[7]);
    return 0;
}"""
IN_CPLUSPLUS = """#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>
#define APART __attribute__((noipa))
struct Shape { virtual long area(long n) { return n; } virtual ~Shape() {} };
struct Square : Shape { long area(long n) override { return n * n; } };
APART long checked(long n) { return n % 5 == 0 ? -1 : n; }
APART long guarded(long n) { return checked(n) + 1; }
APART long measured(Shape &shape, long n) { return shape.area(n) + guarded(n); }
template <class T> APART T summed(const std::vector<T> &all) { T sum{}; for (auto &one : all) sum += one; return sum; }
int main() {
    Shape shape; Square square;
    std::map<std::string, std::vector<long>> found;
    std::function<long(long)> twice = [](long n) { return guarded(2 * n); };
    for (long i = 0; i < 500; i++)
        found[std::to_string(i % 17)].push_back(measured(i % 2 ? shape : square, i) + twice(i));
    long sum = 0;
    for (auto &[name, all] : found) sum += summed(all) + (long)name.size();
    std::printf("%ld\\n", sum);
}"""


# Debug information says where functions lie.
WITHOUT_UNWIND_ROWS = ("-O2", "-g", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables")


@pytest.mark.parametrize("flags", [("-O2",), ("-O0",), ("-O3", "-no-pie"), WITHOUT_UNWIND_ROWS], ids=" ".join)
def test_every_edge_is_counted_as_callgrind_does(machine: Machine, flags: tuple[str, ...]) -> None:
    binary = machine.compiled(IN_C, *flags, plan=False)
    (found,) = compared([str(binary)], [binary])
    assert found.differing == {} and found.entered_differently == {}
    assert found.calls > 4000 and found.edges >= 8


@pytest.mark.parametrize("flags", [("-O2",), ("-O0",), ("-O3", "-no-pie")], ids=" ".join)
def test_every_function_is_entered_as_often_as_callgrind_says(machine: Machine, flags: tuple[str, ...]) -> None:
    """Of edges, callgrind names other callers than the program has, at least on aarch64."""
    binary = machine.compiled(IN_CPLUSPLUS, *flags, plan=False)
    (found,) = compared([str(binary)], [binary])
    assert found.entered_differently == {}
    assert found.calls > 2000 and found.functions > 10
