"""What an engine asks of a recording: its manifest and its tables, wherever they come from."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import pyarrow as pa

from whyperf.recording.manifest import Manifest


class Recorded(Protocol):
    @property
    def path(self) -> Path: ...

    @property
    def manifest(self) -> Manifest: ...

    def table(self, name: str) -> pa.Table: ...
