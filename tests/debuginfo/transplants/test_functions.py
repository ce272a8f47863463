"""A function of the good build does in the bad program what it does in the good one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.debuginfo.transplants.builds import Builds, built, observed_with, ran, ran_with

SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef GOOD
#define WHICH "good"
#else
#define WHICH "bad"
int more_data[9];
#endif
static unsigned calls, misses;
static int total = 7;
int shared = 5;
static const unsigned primes[] = {3, 5, 7, 11, 13, 17, 19, 23};
static const int nothing_there = 0;
static __thread int of_thread = 4;

__attribute__((noinline)) unsigned hash(const char *text) {
    unsigned h = 17;
#ifdef GOOD
    for (; *text; text++)
        h = h * 31 + (unsigned char)*text + primes[h & 7];
#else
    h += (unsigned char)*text;
#endif
    calls++;
    return h;
}

__attribute__((noinline)) const int *nothing(void) { return &nothing_there; }

__attribute__((noinline)) int is_nothing(const int *p) {
    puts("is_nothing " WHICH);
    return p == &nothing_there;
}

__attribute__((noinline)) const char *kind(int n) {
    total += n;
    switch (n) {
    case 0: puts("zero " WHICH); return "none";
    case 1: printf("%d\n", shared++); return "one";
    case 2: return getenv("HOME") ? "two" : "zwei";
    case 3: misses++; return "three " WHICH;
    case 4: total *= 3; return "four";
    case 5: abort();
    case 6: shared += strlen(WHICH); return "six";
    case 7: return "seven";
    }
    if (__builtin_expect(n < 0, 0)) {
        fprintf(stderr, "negative %d %s\n", n, WHICH);
        exit(3);
    }
    return "many";
}

__attribute__((noinline)) int counter(int by) {
    static int count = 100;
#ifdef GOOD
    count += by * 2;
#else
    count += by;
#endif
    return count;
}

__attribute__((noinline)) const char *day(unsigned n) {
    switch (n) {
    case 0: return "mo" WHICH;
    case 1: return "tu" WHICH;
    case 2: return "we" WHICH;
    case 3: return "th" WHICH;
    case 4: return "fr" WHICH;
    default: return "?";
    }
}

#ifdef GOOD
__attribute__((noinline)) static int only_good(int a) { return a * 11 + 3; }
#endif

__attribute__((noinline)) int scaled(int a) {
#ifdef GOOD
    return only_good(a) + (int)labs(-3L);
#else
    __asm__ volatile("nop; nop; nop; nop"); // room for a jump, with -Os as well
    return a;
#endif
}

__attribute__((noinline)) int threaded(int by) {
#ifdef GOOD
    of_thread += 10 * by;
#else
    of_thread += by;
#endif
    return of_thread;
}

__attribute__((noinline)) long innocent(long a) {
#ifdef GOOD
    return a * 3 + 1;
#else
    return a + a + a + 1;
#endif
}

static int ascending(const void *a, const void *b) {
#ifdef GOOD
    return *(const int *)a - *(const int *)b;
#else
    return *(const int *)b - *(const int *)a;
#endif
}

__attribute__((noinline)) int smallest(void) {
    int all[] = {5, 2, 8, 1};
    qsort(all, 4, sizeof *all, ascending);
    return all[0];
}

int main(int argc, char **argv) {
    printf("hash %u\n", hash(argc > 1 ? argv[1] : "text"));
    printf("calls %u\n", calls);
    for (int i = 0; i < 10; i++)
        if (i != 5) {
            const char *name = kind(i);
            printf("kind %s %d %d %u\n", name, total, shared, misses);
        }
    printf("counter %d\n", counter(1));
    printf("counter %d\n", counter(2));
    printf("nothing %d\n", is_nothing(nothing()));
    printf("day %s %s\n", day(1), day(9));
    printf("scaled %d\n", scaled(4));
    printf("threaded %d\n", threaded(3));
    printf("innocent %ld\n", innocent(4));
    printf("smallest %d\n", smallest());
    fflush(stdout);
    if (argc > 2)
        kind(-1);
}
"""

# What each function says in its own build; the rest of the lines must stay the bad build's.
ONES = {
    "hash": "hash",
    "kind": "kind",
    "counter": "counter",
    "is_nothing": "is_nothing",
    "day": "day",
    "scaled": "scaled",
    "threaded": "threaded",
    "innocent": "innocent",
    "ascending": "smallest",
}
_OF_KIND = ("kind", "zero")


@pytest.fixture(scope="module", params=["-fPIE -pie", "-fPIE -pie -fno-plt", "-Os", "-O3"])
def builds(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Builds:
    return built(tmp_path_factory.mktemp("builds"), SOURCE, *request.param.split())


@pytest.mark.parametrize("function", ONES)
def test_function_runs_in_the_other_program(tmp_path: Path, builds: Builds, function: str) -> None:
    good, bad = ran(builds.good, "key"), ran(builds.bad, "key")
    there = ran_with(tmp_path, builds.good, builds.bad, [function], "key")
    said = _OF_KIND if function == "kind" else (ONES[function],)
    assert there.status == 0
    assert there.lines == [
        mine if mine.startswith(said) else theirs for mine, theirs in zip(good.lines, bad.lines, strict=True)
    ]


def test_other_way_round(tmp_path: Path, builds: Builds) -> None:
    good, bad = ran(builds.good, "key"), ran(builds.bad, "key")
    there = ran_with(tmp_path, builds.bad, builds.good, ["hash"], "key")
    assert there.lines == [bad.lines[0], *good.lines[1:]]


def test_own_functions_moved_change_nothing(tmp_path: Path, builds: Builds) -> None:
    functions = [*ONES, "main", "nothing", "smallest"]
    assert ran_with(tmp_path, builds.bad, builds.bad, functions, "key") == ran(builds.bad, "key")


def test_all_at_once_are_the_good_program(tmp_path: Path, builds: Builds) -> None:
    assert ran_with(tmp_path, builds.good, builds.bad, list(ONES), "key") == ran(builds.good, "key")


def test_code_that_is_hardly_ever_executed_comes_along(tmp_path: Path, builds: Builds) -> None:
    there = ran_with(tmp_path, builds.good, builds.bad, ["kind"], "key", "more")
    assert there.status == 3
    assert there.lines[-1] == "negative -1 good"


def test_observed_run(builds: Builds) -> None:
    plain = observed_with(builds.bad, builds.bad, ["hash"], "key")
    there = observed_with(builds.good, builds.bad, ["hash"], "key")
    assert there.not_transplanted == "" and there.status == plain.status == 0
    assert there.output != plain.output


SLOW = r"""
#include <stdio.h>
#include <stdlib.h>
struct node { struct node *next; unsigned key; };
static struct node *buckets[1024];
__attribute__((noinline)) unsigned hash(unsigned key) {
#ifdef GOOD
    return key * 2654435761u >> 22;
#else
    return key >> 22;
#endif
}
__attribute__((noinline)) static int has(unsigned key) {
    for (struct node *n = buckets[hash(key) & 1023]; n; n = n->next)
        if (n->key == key)
            return 1;
    return 0;
}
int main(int argc, char **argv) {
    unsigned count = argc > 1 ? atoi(argv[1]) : 3000, found = 0;
    for (unsigned i = 0; i < count; i++)
        if (!has(i)) {
            struct node *n = malloc(sizeof *n);
            unsigned at = hash(i) & 1023;
            *n = (struct node){buckets[at], i};
            buckets[at] = n;
        }
    for (unsigned i = 0; i < count; i++)
        found += has(i);
    printf("%u\n", found);
}
"""


def test_excess_is_gone(tmp_path: Path) -> None:
    builds = built(tmp_path, SLOW)
    bad = observed_with(builds.bad, builds.bad, ["hash"], "12000")
    forced = observed_with(builds.good, builds.bad, ["hash"], "12000")
    assert forced.output == bad.output
    assert forced.totals.cpu_s < bad.totals.cpu_s / 3


LIBRARY_SOURCE = r"""
#include <stdio.h>
#include <string.h>
static int seen;
__attribute__((noinline, visibility("hidden"))) int inner(const char *text) {
#ifdef GOOD
    return (int)strcspn(text, "o") + ++seen;
#else
    return ++seen;
#endif
}
int outer(const char *text) { return inner(text); }
"""
USER = r"""
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv) {
    void *library = dlopen(argv[1], RTLD_NOW);
    int (*outer)(const char *) = (int (*)(const char *))dlsym(library, "outer");
    printf("%d %d\n", outer("hello"), outer("no"));
}
"""


def test_function_of_a_library_that_is_loaded_later(tmp_path: Path) -> None:
    """strcspn is not even linked with the bad build."""
    builds = built(tmp_path, LIBRARY_SOURCE, "-fPIC", "-shared")
    (tmp_path / "user").mkdir()
    user = built(tmp_path / "user", USER, "-ldl").bad
    there = ran_with(tmp_path, builds.good, builds.bad, ["inner"], str(builds.bad), program=user)
    assert there.lines == ran(user, str(builds.good)).lines
    assert there.lines != ran(user, str(builds.bad)).lines
