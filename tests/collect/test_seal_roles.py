"""Roles of variables where hardly anything was read."""

from __future__ import annotations

from whyperf.collect.seal.roles import _places
from whyperf.recording.tables import FUNCTIONS, MODULES


def test_where_only_globals_were_read_no_function_has_a_place() -> None:
    assert _places([], [], FUNCTIONS.schema.empty_table(), MODULES.schema.empty_table()) == {}
