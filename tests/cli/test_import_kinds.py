"""Which importer a file is for: its first bytes say so, not lines that happen to be in it."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from whyperf.cli.import_ import _kind

STACKS = b"main;parse;read 12\nmain;write 3\n"


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (STACKS, "collapsed"),
        (b"# a comment\n" + STACKS, "collapsed"),
        (gzip.compress(b"\x0a\x04\x08\x01\x10\x02", mtime=0), "pprof"),
        (b"PERFILE2" + b"\x68" + b"\0" * 200 + b"\n" + STACKS, "perf.data"),
        (b"PERFILE2\n" + STACKS, "perf.data"),
        (b"2ELIFREP\n" + STACKS, "perf.data"),
        (b"PERFFILE\n" + STACKS, "perf.data"),
        (b"\x7fELF\0\0\n" + STACKS, "perf.data"),
        (b"", "perf.data"),
        (b"no stacks at all\n", "perf.data"),
    ],
)
def test_kind(tmp_path: Path, content: bytes, kind: str) -> None:
    (tmp_path / "profile").write_bytes(content)
    assert _kind(tmp_path / "profile") == kind
