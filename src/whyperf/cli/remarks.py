"""Standard error, on which whyperf says what it does: that nobody listens any more is no reason to stop doing it."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_DESCRIPTOR = 2


class _Unheard(io.FileIO):
    """Drops what is written once its reader has gone. Programs started from here find the pipe as it is."""

    def __init__(self) -> None:
        super().__init__(_DESCRIPTOR, "w", closefd=False)
        self._is_heard = True

    def write(self, content: ReadableBuffer, /) -> int:
        if self._is_heard:
            try:
                return super().write(content)
            except BrokenPipeError:
                self._is_heard = False
        return memoryview(content).nbytes


def speak_unheard() -> None:
    """From now on what is printed to `sys.stderr` never ends the program; its descriptor must be open."""
    encoding = "utf-8" if sys.stderr is None else sys.stderr.encoding
    sys.stderr = io.TextIOWrapper(
        io.BufferedWriter(_Unheard()), encoding=encoding, errors="backslashreplace", line_buffering=True
    )
