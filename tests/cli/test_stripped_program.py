"""A comparison of a stripped program names the function that its symbols named."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from .conftest import Whyperf

SOURCE = """
#include <stdlib.h>
__attribute__((noipa)) static unsigned hot(unsigned n) {
    unsigned s = 1;
    for (unsigned i = 0; i < n; i++) {
        s = s * 1664525u + i;
        if (s & 64) s ^= i; else s += 3;
    }
    return s;
}
int main(int count, char **words) {
    unsigned total = 0;
    for (int i = 0; i < 300; i++) total += hot(atoi(words[count - 1]));
    return total == 1;
}
"""


def test_the_hot_function_is_named_by_its_start(whyperf: Whyperf, tmp_path: Path) -> None:
    # GIVEN where the function starts, then no symbols
    program = tmp_path / "bare"
    subprocess.run(["gcc", "-O2", "-x", "c", "-", "-o", program], input=SOURCE, text=True, check=True)
    symbols = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    [start] = [int(line.split()[0], 16) for line in symbols.splitlines() if line.endswith(" hot")]
    subprocess.run(["strip", "-s", program], check=True)

    # WHEN
    done = whyperf(
        "compare", "--quick", "--good", f"{program} 300000", "--bad", f"{program} 1200000", "--runs", "2", "--json", "-"
    )

    # THEN all its instructions are one function
    verdict = json.loads(done.stdout)
    assert [suspect["function"] for suspect in verdict["suspects"]] == [f"bare+{start:#x}"]
    assert any("bare has no symbols for its functions" in note for note in verdict["notes"])
