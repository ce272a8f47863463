"""Two builds of a small program: the function whose change costs time is found and proven, the others are not."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.debuginfo.transplants.builds import Builds, built
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.program import find_program
from whyperf.debuginfo.transplants.changed import ChangedFunction, ChangedSource
from whyperf.debuginfo.transplants.initial_values import ChangedVariable
from whyperf.debuginfo.transplants.symbols import Symbol, SymbolKind
from whyperf.diagnose.origin import Proof, ProofFinding, ProofMeans
from whyperf.diagnose.verdict import Suspect
from whyperf.proof.by_function import _candidates, claim_of, prove_by_functions
from whyperf.proof.modules import different_modules
from whyperf.proof.rounds import ProofSide, Put, Trying
from whyperf.proof.search import Search
from whyperf.proof.trial import TrialKind

SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#define HIDDEN __attribute__((noinline, noclone))
struct node { struct node *next; unsigned key; };
static struct node *buckets[1024];
static unsigned asked;
static struct options {
    int loud;
#ifndef GOOD
    int more;
#endif
    int found;
} options;
static inline unsigned mixed(unsigned key) {
#ifdef GOOD
    return key * 2654435761u >> 22;
#else
    return key >> 22;
#endif
}
HIDDEN unsigned bucket_of(unsigned key) { asked++; return mixed(key) & 1023; }
HIDDEN int has(unsigned key) {
    for (struct node *n = buckets[bucket_of(key)]; n; n = n->next)
        if (n->key == key)
            return 1;
    return 0;
}
HIDDEN void add(unsigned key) {
    struct node *n = malloc(sizeof *n);
    unsigned at = bucket_of(key);
    *n = (struct node){buckets[at], key};
    buckets[at] = n;
}
HIDDEN unsigned innocent(unsigned a) {
#ifdef GOOD
    return a / 7 + 1;
#else
    return (a + 7) / 7;
#endif
}
HIDDEN unsigned neighbour(unsigned a) {
#ifdef GOOD
    return a % 100;
#else
    return a < 100 ? a : a % 100;
#endif
}
HIDDEN void report(struct options *given) {
    printf("%d %d %u %u\n", given->loud, given->found, innocent(4), neighbour(7));
#ifdef GOOD
    fflush(NULL);
#endif
}
int main(int argc, char **argv) {
    unsigned count = atoi(argv[1]);
    for (unsigned i = 0; i < count; i++)
        if (!has(i))
            add(i);
    for (unsigned i = 0; i < count; i++)
        options.found += has(i);
    report(&options);
}
"""


# `mixed` is inlined into `bucket_of`; compilers differ in which of them has the instructions that changed.
BAD_HASH = ("bucket_of", "mixed")


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Builds:
    return built(tmp_path_factory.mktemp("builds"), SOURCE)


def _side(program: Path, keys: str = "6000") -> ProofSide:
    return ProofSide(find_program([str(program), keys], os.environ), Lifecycle(), dict(os.environ))


def _suspect(function: str, *path: str) -> Suspect:
    return Suspect(1, "cpu", function, "bad", "", 0, -1, None, None, path, 1.0, 1.0, "high", "", "")


def _proofs(builds: Builds, *suspects: Suspect, tried: list[TrialKind] | None = None) -> tuple[Proof, ...]:
    def note(kind: TrialKind, _number: int) -> None:
        if tried is not None:
            tried.append(kind)

    return prove_by_functions(_side(builds.good), _side(builds.bad), suspects, Trying(on_run=note))


def test_changed_function_is_found_among_others(builds: Builds) -> None:
    (proof,) = _proofs(builds)
    assert (proof.finding, proof.means) == (ProofFinding.PROVEN, ProofMeans.FUNCTION), proof
    assert proof.function in BAD_HASH
    assert proof.module == "bad" and Path(proof.file).name == "program.c" and proof.line > 0
    assert proof.removed is not None and proof.removed.value > 0.7
    assert proof.sentence.startswith("Proven: with the good build's `bucket_of`")
    assert " in the bad program, " in proof.sentence


def test_functions_on_a_suspects_path_come_first(builds: Builds) -> None:
    """Without a search: one run shows that it is worth a trial."""
    tried: list[TrialKind] = []
    (proof,) = _proofs(builds, _suspect("has", "innocent", "bucket_of"), tried=tried)
    assert proof.finding is ProofFinding.PROVEN and proof.function in BAD_HASH, proof
    assert tried[:5] == [TrialKind.GOOD, TrialKind.BAD, TrialKind.GOOD, TrialKind.BAD, TrialKind.FORCED]
    assert tried.count(TrialKind.FORCED) == 1 + proof.runs  # and none of the innocent one, which is farther from it


@pytest.mark.parametrize(
    ("holds", "edited", "wanted", "named"),
    [
        (["read", "ends"], [], ["hash", "ends"], "ends"),  # what a suspect asks for
        (["read", "ends"], [], [], "read"),  # itself, where it changed
        (["ends"], [], [], "ends"),  # the only part that changed
        (["ends", "starts"], [], [], "read"),  # one of them, nobody knows which
        (["read", "ends"], ["ends"], ["read"], "ends"),  # the only one whose text differs
        (["read", "ends", "starts"], ["ends", "starts"], ["read", "starts"], "starts"),
        (["read", "ends", "starts"], ["ends", "starts"], ["read"], "read"),  # one of two, nobody knows which
    ],
)
def test_a_proof_names_the_changed_part(holds: list[str], edited: list[str], wanted: list[str], named: str) -> None:
    sources = {name: ChangedSource(name, "io.c", line) for line, name in enumerate(("read", "ends", "starts"), 1)}
    function = ChangedFunction("read", sources["read"], frozenset(sources[name] for name in holds))
    claim = claim_of([function], wanted, "diff", frozenset(sources[name] for name in edited))
    assert (claim.function, claim.line, claim.module) == (named, sources[named].line, "diff")


def test_many_variables_do_not_displace_functions() -> None:
    source = ChangedSource("read", "read.c", 1)
    symbol = Symbol("table", 64, 8, SymbolKind.DATA, "")
    builds = SimpleNamespace(
        changed=[ChangedFunction("read", source, frozenset({source}))],
        variables=[ChangedVariable(f"table_{number}", symbol, symbol, ()) for number in range(1000)],
        edited=SimpleNamespace(among=lambda _: frozenset()),
    )
    found = _candidates([builds], [])  # type: ignore[list-item]
    assert [one.part for one in found if not one.is_variable] == builds.changed
    assert len(found) > 1


def test_what_a_suspect_asks_for_and_cannot_be_transplanted_is_told(builds: Builds) -> None:
    first, proof = _proofs(builds, _suspect("report"))
    assert first.finding is ProofFinding.NOT_TESTABLE and first.function == "report"
    assert first.sentence == (
        "Not testable: report cannot be transplanted: the structure options has another layout in the other build."
    )
    assert proof.finding is ProofFinding.PROVEN and proof.function in BAD_HASH


def test_same_program_has_nothing_to_try(builds: Builds) -> None:
    assert prove_by_functions(_side(builds.bad), _side(builds.bad, "100"), ()) == ()


def test_no_excess_is_nothing_to_explain(builds: Builds) -> None:
    assert prove_by_functions(_side(builds.bad, "6000"), _side(builds.good, "9000"), ()) == ()


def test_stripped_programs_are_told(tmp_path: Path) -> None:
    made = built(tmp_path, SOURCE, "-s")
    (proof,) = _proofs(made)
    assert proof.finding is ProofFinding.NOT_TESTABLE
    assert proof.sentence.startswith("Not testable: ") and proof.sentence.endswith("has no symbol table.")


INLINED = r"""
#include <stdio.h>
#include <stdlib.h>
static unsigned table[4096], used;
static void plan(unsigned keys) {
    used = PLANNED;
    for (unsigned i = 0; i < used; i++)
        table[i] = 0;
}
__attribute__((noinline, noclone)) void fill(unsigned keys) {
    plan(keys);
    for (unsigned key = 1; key <= keys; key++) {
        unsigned at = key * 2654435761u % used;
        for (unsigned tried = 0; tried < used * 8 && table[at]; tried++)
            at = (at + 1) % used;
        table[at] = key;
    }
}
int main(int argc, char **argv) {
    for (int round = 0; round < atoi(argv[1]); round++)
        fill(400);
    puts("done");
}
"""


def _in_two_folders(folder: Path) -> Builds:
    """`plan` is inlined into `fill`, whose own code differs too: it is made for another size."""
    for kind, planned in (("good", "keys * 8"), ("bad", "401 + 0 * keys")):
        (folder / kind).mkdir()
        built(folder / kind, "/* \f */\n" * 60 + INLINED.replace("PLANNED", planned))
    return Builds(folder / "good" / "bad", folder / "bad" / "bad")


def test_the_part_whose_text_differs_is_the_cause(tmp_path: Path) -> None:
    builds = _in_two_folders(tmp_path)
    modules = list(different_modules(_side(builds.good), _side(builds.bad)))
    ((fill,),) = (one.changed for one in modules)
    assert fill.names == {"fill", "plan"}
    assert {one.name for one in modules[0].edited.among(fill.holds)} == {"plan"}
    # WHEN a suspect asks for what it is inlined into, THEN it is named nevertheless
    (proof,) = prove_by_functions(_side(builds.good, "900"), _side(builds.bad, "900"), [_suspect("fill")])
    assert (proof.finding, proof.function) == (ProofFinding.PROVEN, "plan"), proof
    assert "`fill` (with plan inlined)" in proof.sentence
    # WHEN a source was written after the build, THEN its text tells nothing
    later = builds.bad.stat().st_mtime + 10
    os.utime(tmp_path / "bad" / "program.c", (later, later))
    (again,) = different_modules(_side(builds.good), _side(builds.bad))
    assert again.edited.among(fill.holds) == frozenset()


IDLE = r"""
#include <stdlib.h>
#define HIDDEN __attribute__((noinline, noclone))
#ifdef GOOD
#define STEP 3
#else
#define STEP 5
#endif
#define CHANGED(name) HIDDEN int name(int a) { return a * STEP + STEP; }
CHANGED(first) CHANGED(second) CHANGED(idle_1) CHANGED(idle_2) CHANGED(idle_3) CHANGED(idle_4) CHANGED(idle_5)
CHANGED(idle_6) CHANGED(idle_7)
int main(int argc, char **argv) {
    int sum = first(argc) + second(argc);
    if (argc > 9)
        sum += idle_1(1) + idle_2(1) + idle_3(1) + idle_4(1) + idle_5(1) + idle_6(1) + idle_7(1);
    return sum == atoi(argv[1]);
}
"""


def test_what_never_runs_is_not_tried(tmp_path: Path) -> None:
    builds = built(tmp_path, IDLE)
    sides = _side(builds.good), _side(builds.bad)
    (module,) = different_modules(*sides)
    functions = [one for one in module.changed if one.symbol != "main"]
    assert len(functions) == 9
    entries = [site for one in functions for site in module.entries(one)]
    passed = Search(*sides, Trying(), lambda _kind, _changes: Put()).is_passed(entries)
    assert {one.symbol for one, is_passed in zip(functions, passed, strict=True) if is_passed} == {"first", "second"}
