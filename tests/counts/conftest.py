from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.counts.machine import Machine, x86_machine


@pytest.fixture
def machine() -> Iterator[Machine]:
    with x86_machine() as made:
        yield made
