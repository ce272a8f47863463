"""A catalogue of 9,000 parts and 80,000 remarks, twice: parts in order of their numbers, or mixed."""

import random
import sys
from pathlib import Path

random.seed(11)


def catalogue(numbers: list[int]) -> str:
    parts = (f'<part number="part{number:06d}">{number * 7919 % 10007}</part>\n' for number in numbers)
    remarks = (f"<remark>{number * 104729 % 1_000_003}</remark>\n" for number in range(80_000))
    return '<?xml version="1.0"?>\n<catalogue>\n' + "".join(parts) + "".join(remarks) + "</catalogue>\n"


def main(folder: Path) -> None:
    numbers = list(range(9_000))
    (folder / "ordered.xml").write_text(catalogue(numbers))
    random.shuffle(numbers)
    (folder / "mixed.xml").write_text(catalogue(numbers))


main(Path(sys.argv[1]))
