"""Values that change from call to call: the good run's n-th is forced at the n-th call, where their order agrees."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.collect.observation.programs import RESULT, compiled, last_before_return
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.program import find_program
from whyperf.diagnose.origin import Proof, ProofFinding
from whyperf.proof.by_value import ForcedPlace, ProofSide, Trying, prove_value
from whyperf.proof.sentences import ProofClaim

pytestmark = pytest.mark.process
SOURCE = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#define HIDDEN __attribute__((noinline, noclone, noipa))
enum { TABLES = 12 };
static volatile unsigned long spent;
// Each table has a size of its own; where it overflows, all have a few.
HIDDEN long size_of(long table, long megabytes) {
    long fits = (unsigned)(megabytes << 20) != 0; // in one way through the code, so that one instruction makes it
    return 4 + table + fits * (696 - table * 14);
}
HIDDEN long label_of(long table, long megabytes) { return table * 7 + megabytes; }
HIDDEN long shuffled(long table, long megabytes) { return megabytes + rand() % 1000; }
HIDDEN long in_thread(long table, long megabytes) { return table * 3 + megabytes; }
HIDDEN long often(long table, long megabytes) { return megabytes + table; }
HIDDEN long rarer(long table, long megabytes) { return table + megabytes; }
HIDDEN long next_of(long table, long megabytes) { return megabytes > 100 ? table + 2 : table + 1; }
HIDDEN long address_of(long table, long megabytes) { return (long)&spent + table * megabytes; }
static void *run(void *given) {
    for (long table = 0; table < 50; table++) spent += in_thread(table, (long)given);
    return NULL;
}
int main(int count, char **words) {
    long megabytes = atol(words[1]);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    srand((unsigned)now.tv_nsec);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, run, (void *)megabytes);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    for (long table = 0; table < TABLES; table++) {
        long size = size_of(table, megabytes);
        spent += label_of(table, megabytes) + shuffled(table, megabytes) + address_of(table, megabytes);
        if (megabytes < 100 || table % 2) spent += rarer(table, megabytes);
        for (long key = 0; key < 60000; key++)
            for (long step = 0; step < 800 / size; step++) spent++;
    }
    for (long i = 0; i < 6000; i++) spent += often(i, megabytes);
    for (long table = 0; table < 40; table = next_of(table, megabytes)) spent++;
    printf("%d tables\n", TABLES);
    return spent == 1;
}
"""
GOOD, BAD = "64", "4096"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("order"), SOURCE)


def _proof(program: Path, function: str, *, most_runs: int = 5) -> Proof:
    place = ForcedPlace(program, last_before_return(program, function).address, True, RESULT, 8, (), (), in_order=True)
    claim = ProofClaim(function, "program", "program.c", 9, f"{function}()", "1 to 9", "2 to 8", in_order=True)
    sides = (
        ProofSide(find_program([str(program), megabytes], os.environ), Lifecycle(), dict(os.environ))
        for megabytes in (GOOD, BAD)
    )
    return prove_value(*sides, [place], claim, Trying(most_runs=most_runs))


def test_the_values_of_the_same_calls_prove_it(program: Path) -> None:
    proof = _proof(program, "size_of")
    assert proof.finding is ProofFinding.PROVEN, proof
    assert proof.removed is not None and proof.removed.value > 0.8
    assert proof.sham is not None and abs(proof.sham.value) < 0.25
    assert proof.reverse is not None and proof.reverse.value > 0.5
    told = "with `size_of()` forced to the good run's values in the bad run, each time to the one of the same call, "
    assert proof.sentence.startswith(f"Proven: {told}")


def test_innocent_values_are_refuted(program: Path) -> None:
    proof = _proof(program, "label_of", most_runs=3)
    assert proof.finding is ProofFinding.REFUTED, proof


@pytest.mark.parametrize(
    ("function", "why"),
    [
        ("shuffled", "in another order in every good run"),
        ("in_thread", "several threads run it"),
        ("often", "it runs more than 4,096 times"),
        ("rarer", "it runs 12 times in the good run, 6 times in the bad run"),
        ("address_of", "it is an address"),
    ],
)
def test_where_the_order_does_not_agree_nothing_is_forced(program: Path, function: str, why: str) -> None:
    proof = _proof(program, function)
    assert proof.finding is ProofFinding.NOT_TESTABLE and proof.runs == 0
    assert proof.sentence.startswith(f"Not testable: `{function}()` in {function} was not forced: ")
    assert why in proof.sentence


def test_forcing_that_changes_how_often_it_runs_proves_nothing(tmp_path: Path) -> None:
    """Both runs pass it 20 times, but with the other's values in another place of the loop."""
    source = SOURCE.replace("table < 40; table = next_of", "table < (megabytes > 100 ? 40 : 20); table = next_of")
    proof = _proof(compiled(tmp_path, source), "next_of")
    assert proof.finding is ProofFinding.NOT_TESTABLE, proof
    assert "with forced values it runs" in proof.sentence and "their order no longer agrees" in proof.sentence
