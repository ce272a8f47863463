from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from whyperf.debuginfo.binary import Binary
from whyperf.debuginfo.describe import describe

from .building import Builder

Describe = Callable[..., Binary]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    return Builder(tmp_path_factory.mktemp("programs"))


@pytest.fixture
def described(tmp_path: Path) -> Describe:
    """`describe` with a cache of its own and no debug files of this machine."""

    def call(path: Path | str, build_id: str = "", **options: object) -> Binary:
        return describe(str(path), build_id, **{"cache": tmp_path / "cache", "debug_folders": (), **options})

    return call
