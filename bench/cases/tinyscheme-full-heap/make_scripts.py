"""A script that keeps a list and adds up, twice: with the longer list there is one segment of cells more."""

import sys
from pathlib import Path

ADDITIONS = 20_000
SCRIPT = """(define (list-of n kept) (if (= n 0) kept (list-of (- n 1) (cons n kept))))
(define known (list-of {kept} '()))
(define (add n sum) (if (= n 0) sum (add (- n 1) (+ sum (car known)))))
(display (add {additions} 0))
(newline)
"""


def main(folder: Path) -> None:
    for name, kept in {"longer": 9_500, "shorter": 9_100}.items():
        (folder / f"{name}.scm").write_text(SCRIPT.format(kept=kept, additions=ADDITIONS))


main(Path(sys.argv[1]))
