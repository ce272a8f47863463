"""Roles of variables where hardly anything was read."""

from __future__ import annotations

from whyperf.recording.schemas.tables import FUNCTIONS, MODULES
from whyperf.seal.value_tables.roles import _places


def test_where_only_globals_were_read_no_function_has_a_place() -> None:
    assert _places([], [], FUNCTIONS.schema.empty_table(), MODULES.schema.empty_table()) == {}
