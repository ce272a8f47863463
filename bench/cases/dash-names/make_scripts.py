"""A script that sets 3,000 variables and adds them up: names end in numbers, or have the same letters permuted."""

import itertools
import sys
from pathlib import Path

VARIABLES, ROUNDS = 3_000, 40


def script(names: list[str]) -> str:
    sets = "".join(f"{name}=1\n" for name in names)
    adds = "".join(f"total=$((total + {name}))\n" for name in names)
    return f"total=0\n{sets}for round in {' '.join(map(str, range(ROUNDS)))}; do\n{adds}done\necho $total\n"


def main(folder: Path) -> None:
    orders = ["".join(order) for order in itertools.islice(itertools.permutations("abcdefgh"), VARIABLES)]
    (folder / "permuted.sh").write_text(script([f"host_{order}_0000" for order in orders]))
    (folder / "numbered.sh").write_text(script([f"host_abcdefgh_{number:04}" for number in range(VARIABLES)]))


main(Path(sys.argv[1]))
