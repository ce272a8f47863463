"""A trial whose forced runs end in an error, after which the program removes its output: a device file."""

from __future__ import annotations

import os
from pathlib import Path

from tests.collect.observation.device_files import device, is_intact, needs_root
from tests.collect.observation.programs import RESULT, compiled, last_before_return
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.program import find_program
from whyperf.diagnose.origin import ProofFinding
from whyperf.proof.by_value import ForcedPlace, ProofSide, prove_value
from whyperf.proof.sentences import ProofClaim

__all__ = ["device"]  # a fixture

ASSEMBLER = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__attribute__((noinline, noclone, noipa)) long room_for(long words) { return words * 8; }
int main(int count, char **words) {
    static volatile long work;
    long size = room_for(atol(words[1]));
    FILE *output = fopen(words[2], "w");
    if (!output) return 3;
    for (long i = 0; i < size * 1000; i++) work += i;
    fprintf(output, "%ld\n", work);
    fclose(output);
    if (size == atol(words[1]) * 8) return 0;
    if (unlink(words[2]) == 0) fclose(fopen(words[2], "w"));
    return 1;
}
"""


@needs_root
def test_a_device_survives_a_trial(tmp_path: Path, device: Path) -> None:
    program = compiled(tmp_path, ASSEMBLER)
    good, bad = (_side(program, words, device) for words in ("1000", "9000"))
    place = ForcedPlace(program, last_before_return(program, "room_for").address, True, RESULT, 8, (8000,), (72000,))
    claim = ProofClaim("room_for", "program", "program.c", 6, "room_for()", "8,000", "72,000")
    # WHEN every forced run ends in an error
    proof = prove_value(good, bad, [place], claim)
    # THEN nothing is proven, and the device is there
    assert proof.finding is ProofFinding.NOT_TESTABLE, proof
    assert is_intact(device)


def _side(program: Path, words: str, output: Path) -> ProofSide:
    return ProofSide(find_program([str(program), words, str(output)], os.environ), Lifecycle(), dict(os.environ))
