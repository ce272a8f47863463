from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.collect.counts.machine import Machine, counting_machine


@pytest.fixture
def machine() -> Iterator[Machine]:
    with counting_machine() as made:
        yield made
