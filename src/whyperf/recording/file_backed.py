"""Large arrays in files: what is made of a recording may be larger than memory.

The kernel writes to the disk what of a file's memory has not been used for long, and reads it back when it is; of a
process' own memory it can only swap, where there is a swap, and kill. So arrays are in memory as long as they take
little, and beyond that in files without a name, which are gone with the arrays. numpy is told where to have memory from
(NEP 49), thus intermediate results are there too, and no code that works on arrays has to know. What compiled functions
make themselves is not: those get their columns from whoever calls them.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from whyperf.recording import _file_backed

IN_MEMORY = 128 << 20  # a million events take as much; further arrays go to files


@contextmanager
def large_arrays_in_files(in_memory: int = IN_MEMORY) -> Iterator[None]:
    """For what is done within; also a decorator. Arrays stay where they are made, also afterwards.

    A process that was forked shares the arrays in files with the one that made them: neither may change them then.
    """
    folder = _folder_on_disk()
    if folder is None:
        yield
        return
    before = _file_backed.put_arrays_in_files(folder, in_memory)
    try:
        yield
    finally:
        _file_backed.use(*before)


@cache
def _folder_on_disk() -> str | None:
    """/tmp is often in memory itself. None: there is nothing but memory."""
    folders = (os.environ.get("TMPDIR", ""), "/var/tmp", tempfile.gettempdir())
    absolute = (str(Path(one).absolute()) for one in folders if one)
    return next((one for one in absolute if _file_backed.is_on_disk(one)), None)
