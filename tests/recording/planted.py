"""Words that are planted in what is recorded, and every place of a recording where one of them is found."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path

from pyarrow import parquet

from tests.warm_interpreter import run_whyperf

MARK = "Qx7secret"
NUMBER = 7_311_733_117_311_731


def traces_permitted() -> bool:
    return os.geteuid() == 0 and Path("/sys/kernel/btf/vmlinux").exists()


def whyperf(*words: str | Path, cwd: Path, environment: dict[str, str] | None = None) -> None:
    done = run_whyperf(*map(str, words), cwd=cwd, environment=os.environ | (environment or {}))
    assert done.returncode == 0, done.stderr


def everything_in(recording: Path) -> Iterator[tuple[str, str]]:
    """Each file as text, and each column of each table as its values are."""
    for file in sorted(path for path in recording.rglob("*") if path.is_file()):
        yield str(file.relative_to(recording)), file.read_bytes().decode("latin-1")
        if file.suffix == ".parquet":
            for name, column in parquet.read_table(file).to_pydict().items():
                yield f"{file.name} {name}", repr(column)


def places_of(words: list[str], recording: Path) -> list[str]:
    return [where for where, text in everything_in(recording) if any(word in text for word in words)]


def ways_to_write(number: int) -> list[str]:
    """In decimal, as bytes of a whole number and of a double, and as the whole number that a double's bytes make."""
    double = struct.pack("<d", float(number))
    as_bytes = [number.to_bytes(8, "little"), double]
    return [str(number), str(int.from_bytes(double, "little")), *(one.decode("latin-1") for one in as_bytes)]
