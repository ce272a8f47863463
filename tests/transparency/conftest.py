"""Programs are compiled once a session; recordings go to a folder of their own."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("programs")
    folder.chmod(0o755)
    return folder


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return tmp_path / "recording"
