"""The console that all reports are printed to."""

from __future__ import annotations

from typing import NoReturn

from rich.console import Console


class ReportConsole(Console):
    """Leaves a reader that has gone to the command line, which knows the exit status for it; rich would exit with 1."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError
