"""Trials on a small program whose mistake is known: a size that overflows, and a table that gets too few buckets."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.collect.observation.programs import (
    ARGUMENT,
    IS_ARM,
    RESULT,
    compiled,
    first,
    instructions,
    last_before_return,
)
from whyperf.collect.runs.work_count import counter_for
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.program import find_program
from whyperf.diagnose.origin import Proof, ProofFinding, ProofMeans
from whyperf.errors import WhyperfError
from whyperf.proof import rounds
from whyperf.proof.by_value import ForcedPlace, ProofSide, Trying, prove_value
from whyperf.proof.sentences import ProofClaim
from whyperf.proof.trial import TrialKind

SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#define HIDDEN __attribute__((noinline, noclone, noipa))
struct node { struct node *next; unsigned long key; };
static volatile long label;
HIDDEN long parsed(const char *word) { long number = atol(word); return number ^ label; }
HIDDEN unsigned bytes_of(long megabytes) { return (unsigned)megabytes << 20; }
HIDDEN unsigned buckets_of(unsigned bytes) { return bytes / 1024 ? bytes / 1024 : 16; }
HIDDEN long label_of(long megabytes) { return megabytes * 3 + 7; }
HIDDEN long rounds_of(long megabytes) { return megabytes > 100 ? 6 : 5; }
HIDDEN unsigned mask_of(unsigned buckets) { return buckets - 1; }
// Right before a page that is not there.
HIDDEN struct node **table_of(unsigned buckets) {
    size_t bytes = (buckets * sizeof(struct node *) + 4095) / 4096 * 4096;
    char *room = mmap(NULL, bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(room + bytes, 4096, PROT_NONE);
    return (struct node **)(room + bytes - buckets * sizeof(struct node *));
}
int main(int count, char **words) {
    long megabytes = parsed(words[1]), keys = atol(words[2]), found = 0;
    unsigned buckets = buckets_of(bytes_of(megabytes));
    struct node **table = table_of(buckets), *nodes = malloc(keys * sizeof *nodes);
    unsigned mask = mask_of(buckets);
    label = label_of(megabytes);
    long rounds = rounds_of(megabytes);
    for (long i = 0; i < keys; i++) {
        nodes[i].key = i * 2654435761u;
        struct node **at = &table[nodes[i].key >> 7 & mask];
        nodes[i].next = *at;
        *at = &nodes[i];
    }
    for (long i = 0; i < 5 * keys; i++)
        for (struct node *at = table[(i % keys * 2654435761u) >> 7 & mask]; at; at = at->next)
            if (at->key == i % keys * 2654435761u) { found++; break; }
    printf("%ld megabytes: %ld keys in %ld rounds\n", megabytes, found, rounds);
    return 0;
}
"""
CLAIM = ProofClaim("buckets_of", "program", "program.c", 13, "buckets_of()", "65,536", "16")
GOOD, BAD, KEYS = "64", "4096", "10000"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("proof"), SOURCE)


def _side(*words: str | Path) -> ProofSide:
    command = [str(word) for word in words]
    return ProofSide(find_program(command, os.environ), Lifecycle(), dict(os.environ))


def _result(program: Path, function: str, good: int, bad: int, size: int = 4) -> ForcedPlace:
    made = last_before_return(program, function)
    return ForcedPlace(program, made.address, True, RESULT, size, (good,), (bad,))


def _proven(program: Path, *places: ForcedPlace, good: str = GOOD, bad: str = BAD, **claimed: object) -> Proof:
    claim = replace(CLAIM, **claimed)  # type: ignore[arg-type]
    return prove_value(_side(program, good, KEYS), _side(program, bad, KEYS), places, claim, Trying())


def test_the_true_cause_is_proven(program: Path) -> None:
    proof = _proven(program, _result(program, "buckets_of", 65536, 16))
    assert proof.finding is ProofFinding.PROVEN and proof.means is ProofMeans.VALUE, proof
    assert proof.removed is not None and proof.removed.value > 0.8 and proof.reverse is not None
    assert proof.sentence.startswith("Proven: with `buckets_of()` forced to 65,536 in the bad run, ")


def test_a_copy_with_other_values_is_left_alone(program: Path) -> None:
    # GIVEN what is taken for a copy, and would crash with that value
    other = _result(program, "mask_of", 65536, 16)
    proof = _proven(program, _result(program, "buckets_of", 65536, 16), other)
    assert proof.finding is ProofFinding.PROVEN, proof
    # GIVEN one that has the value in bad runs, and another one than that in good runs
    other = _result(program, "mask_of", 65536, 15)
    proof = _proven(program, _result(program, "buckets_of", 65536, 16), other)
    assert proof.finding is ProofFinding.PROVEN, proof


def test_so_is_what_it_comes_from(program: Path) -> None:
    proof = _proven(program, _result(program, "bytes_of", 64 << 20, 0), what="bytes_of()")
    assert proof.finding is ProofFinding.PROVEN, proof


def test_an_argument_is_forced_where_the_function_begins(program: Path) -> None:
    place = ForcedPlace(program, first(program, "bytes_of"), False, ARGUMENT, 8, (64,), (4096,))
    proof = _proven(program, place, function="bytes_of", what="megabytes")
    assert proof.finding is ProofFinding.PROVEN, proof
    assert proof.removed is not None and proof.removed.value > 0.8


def test_an_innocent_variable_is_refuted(program: Path) -> None:
    proof = _proven(program, _result(program, "label_of", 199, 12295, 8), what="label_of()")
    assert proof.finding is ProofFinding.REFUTED, proof


def test_an_option_is_the_trigger(program: Path) -> None:
    proof = _proven(program, _result(program, "parsed", 64, 4096, 8), what="parsed()")
    assert proof.finding is ProofFinding.TRIGGER, proof
    # THEN what was seen is said: it is not known here where the value comes from
    assert "outside" not in proof.sentence and "the program's output becomes the good run's" in proof.sentence


def test_an_option_that_is_not_printed_is_one_too_if_it_is_known_to_be(program: Path) -> None:
    place = _result(program, "bytes_of", 64 << 20, 0)
    proof = _proven(program, place, from_outside=True)
    assert proof.finding is ProofFinding.TRIGGER, proof


def test_a_crash_is_no_proof(program: Path) -> None:
    proof = _proven(program, _result(program, "mask_of", 65535, 15), what="mask_of()", good="65,535")
    assert proof.finding is ProofFinding.NOT_TESTABLE and "crashes" in proof.sentence, proof
    assert proof.removed is None


def test_other_output_is_no_proof(program: Path) -> None:
    proof = _proven(program, _result(program, "rounds_of", 5, 6, 8), what="rounds_of()", good="5")
    assert proof.finding is ProofFinding.NOT_TESTABLE and "the output changes" in proof.sentence, proof


def test_addresses_equal_values_and_places_that_do_not_run_are_not_tried(program: Path) -> None:
    pointer = _result(program, "table_of", 0xFFFFF7E00000, 0xFFFFF7C00000, 8)
    assert "address" in _proven(program, pointer).sentence
    assert "same in both" in _proven(program, _result(program, "mask_of", 3, 3)).sentence
    assert "only in memory or in a vector register" in _proven(program).sentence
    assert "other values" in _proven(program, _result(program, "mask_of", 65535, 14)).sentence
    nowhere = ForcedPlace(program, 1 << 22, True, RESULT, 8, (1,), (2,))
    assert "cannot be observed" in _proven(program, nowhere).sentence


def test_too_small_an_excess_is_said(program: Path) -> None:
    proof = _proven(program, _result(program, "bytes_of", 64 << 20, 65 << 20), bad="65")
    assert proof.finding is ProofFinding.NOT_TESTABLE, proof


def test_a_hot_site_is_forced_by_a_jump(tmp_path: Path) -> None:
    """What runs 20 million times is a parameter of each call."""
    source = r"""
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline, noclone, noipa)) long cost_of(long weight) { return weight - 1000000; }
int main(int count, char **words) {
    long weight = atol(words[1]) + 1000000;
    static volatile long spent;
    for (long i = 0; i < 700000; i++)
        for (long left = cost_of(weight); left > 0; left--) spent++;
    printf("%ld\n", weight);
    return spent == 0;
}
"""
    program = compiled(tmp_path, source)
    assert IS_ARM or last_before_return(program, "cost_of").size >= 5  # room for the jump
    good, bad = _side(program, "1"), _side(program, "40")
    proof = prove_value(good, bad, [_result(program, "cost_of", 1, 40, 8)], replace(CLAIM, what="cost_of()"))
    assert proof.finding is ProofFinding.PROVEN, proof


def test_files_that_the_user_names_are_compared(program: Path, tmp_path: Path) -> None:
    """A shell writes the number of buckets' share into a file: forcing changes it."""
    out = tmp_path / "out"

    def side(megabytes: str) -> ProofSide:
        return _side("/bin/sh", "-c", f"{program} {megabytes} {KEYS} >{out}")

    place = _result(program, "rounds_of", 5, 6, 8)
    claim = replace(CLAIM, what="rounds_of()")
    without = prove_value(side(GOOD), side(BAD), [place], claim, Trying(most_runs=5))
    compared = prove_value(side(GOOD), side(BAD), [place], claim, Trying(most_runs=5, output_files=(out,)))
    assert without.finding is ProofFinding.REFUTED, without
    assert compared.finding is ProofFinding.NOT_TESTABLE and "output changes" in compared.sentence, compared


def test_without_time_nothing_is_shown(program: Path) -> None:
    good, bad = _side(program, GOOD, KEYS), _side(program, BAD, KEYS)
    place = _result(program, "buckets_of", 65536, 16)
    proof = prove_value(good, bad, [place], CLAIM, Trying(budget_s=0.0))
    assert proof.finding is ProofFinding.NOT_TESTABLE and "no time" in proof.sentence


LARGER = r"""
#include <stdio.h>
#include <stdlib.h>
#define HIDDEN __attribute__((noinline, noclone, noipa))
HIDDEN int larger(int size) { return size * 3 + 1234567; }
HIDDEN int planned(int size) { if (size > 100) size = larger(size); return size; }
static volatile long spent;
int main(int count, char **words) {
    int times = atoi(words[2]);
    for (int time = 0; time < times; time++)
        for (int round = planned(atoi(words[1])) * 10 / times; round > 0; round--) spent++;
    puts("done");
    return 0;
}
"""


@pytest.mark.parametrize("times", ["10", "5000"])
def test_a_place_that_good_runs_do_not_reach_shows_nothing_the_other_way_round(tmp_path: Path, times: str) -> None:
    # GIVEN a value that is made in bad runs only, once in a while, or so often that it is forced by a jump
    program = compiled(tmp_path, LARGER)
    place = _result(program, "larger", 100, 101 * 3 + 1234567)
    good, bad = _side(program, "100", times), _side(program, "101", times)
    proof = prove_value(good, bad, [place], replace(CLAIM, what="larger()", good="100", bad="1,234,870"))
    # THEN nothing is said to have been forced in good runs
    assert proof.finding is ProofFinding.SUPPORTED and proof.reverse is None, proof
    assert proof.sentence.endswith("this place is not reached in good runs, so that nothing could be forced there.")


CRASHING = r"""
#include <stdio.h>
#include <stdlib.h>
#define HIDDEN __attribute__((noinline, noclone, noipa))
HIDDEN int rounds_of(int size) { return size * 1000000; }
static volatile long spent;
int main(int count, char **words) {
    int size = atoi(words[1]);
    for (int round = rounds_of(size); round > 0; round--) spent++;
    puts("done");
    fflush(stdout);
    if (size > atoi(words[2])) abort();
    return 0;
}
"""


@pytest.mark.parametrize(("last", "which"), [("0", "every run"), ("1", "every bad run")])
def test_a_program_that_always_crashes_is_said_to(tmp_path: Path, last: str, which: str) -> None:
    program = compiled(tmp_path, CRASHING)
    place = _result(program, "rounds_of", 1_000_000, 20_000_000)
    made: list[TrialKind] = []
    proof = prove_value(
        _side(program, "1", last),
        _side(program, "20", last),
        [place],
        CLAIM,
        Trying(on_run=lambda kind, _number: made.append(kind)),
    )
    assert proof.sentence == (
        f"Not testable: it ends by SIGABRT in {which}, so a forced crash could not be told from its own."
    )
    # THEN no more runs were made than it takes to see that
    assert made.count(TrialKind.GOOD) == 2


ENDLESS = r"""
#include <stdio.h>
#include <stdlib.h>
#define HIDDEN __attribute__((noinline, noclone, noipa))
HIDDEN long limit_of(long mode) { return mode == 1 ? 2000000000000000 : 5; }
static volatile long spent;
int main(int count, char **words) {
    long mode = atol(words[1]), limit = limit_of(mode);
    for (long i = 0; i < limit && !(mode == 1 && i == 5); i++)
        for (long left = mode * mode * 1000000; left > 0; left--) spent++;
    puts("done");
    return 0;
}
"""


def test_a_run_that_was_stopped_is_not_said_to_be_endless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "_LEAST_PATIENCE_S", 1.5)
    program = compiled(tmp_path, ENDLESS)
    place = _result(program, "limit_of", 2000000000000000, 5, 8)
    proof = prove_value(_side(program, "1"), _side(program, "4"), [place], replace(CLAIM, what="limit"))
    told = re.fullmatch(
        r"Not testable: with `limit` forced to .* in the bad run, it did not end within (\d.*) s "
        r"\(the bad run takes (\d.*) (ms|s)\)\.",
        proof.sentence,
    )
    assert told is not None, proof.sentence
    bad_s = float(told[2]) / (1000 if told[3] == "ms" else 1)
    assert float(told[1]) >= 1.5 and bad_s < float(told[1]) / 2


UNITS = r"""
#include <stdio.h>
#include <stdlib.h>
#define HIDDEN __attribute__((noinline, noclone, noipa))
static volatile long spent;
HIDDEN long units_of(long mode) { return mode * 1000; }
HIDDEN void handle(long cost) { for (long left = cost; left > 0; left--) spent++; }
int main(int count, char **words) {
    long mode = atol(words[1]), units = units_of(mode);
    for (long unit = 0; unit < units; unit++) handle(40000 + mode * 20000);
    puts("done");
    return 0;
}
"""


def test_another_number_of_counted_calls_is_no_proof(tmp_path: Path) -> None:
    # GIVEN bad runs that do twice the work, each unit of which costs more
    program = compiled(tmp_path, UNITS)
    try:
        counter_for("handle", str(program)).close()
    except WhyperfError:
        pytest.skip("uprobes are not permitted here")
    good, bad = (replace(_side(program, mode), counted_calls="handle") for mode in ("1", "2"))
    # WHEN the number of units is forced
    place = _result(program, "units_of", 1000, 2000, 8)
    claim = replace(CLAIM, what="units_of()", good="1,000", bad="2,000")
    proof = prove_value(good, bad, [place], claim)
    # THEN less work is no proof
    assert proof.finding is ProofFinding.NOT_TESTABLE, proof
    assert "another number of units of work is done" in proof.sentence
    # THEN what each unit costs is measured per unit
    rows = [row for row in instructions(program, "handle") if not row.leaves]
    cost = ForcedPlace(program, rows[1].address, False, ARGUMENT, 8, (60000,), (80000,))
    proof = prove_value(good, bad, [cost], replace(CLAIM, what="cost", good="60,000", bad="80,000"))
    assert proof.finding is ProofFinding.PROVEN, proof
