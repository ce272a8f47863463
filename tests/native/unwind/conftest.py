from __future__ import annotations

from pathlib import Path

import pytest

from tests.native.unwind.building import MACHINE, compile_driver


@pytest.fixture(scope="session")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("oracle") / "oracle"
    return compile_driver(target, "oracle", "-lunwind-ptrace", f"-lunwind-{MACHINE}", "-lunwind")


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")
