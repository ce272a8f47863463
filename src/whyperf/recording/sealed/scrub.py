"""A recording without what its owner may not want to give away: values, source, paths, command lines, host names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from whyperf.recording.schemas.tables import TABLES
from whyperf.recording.sealed.manifest import Counting, Manifest, UncountedModule, Unfollowed
from whyperf.recording.sealed.reader import Recording

_WITHOUT_ROWS = frozenset({"values", "variables", "source", "updates"})
_Blanked = dict[str, Callable[[Any], Any]]


def _base_name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _without_folders(symptom: str) -> str:
    return ":".join(_base_name(part) for part in symptom.split(":"))


def _nothing(_value: Any) -> str:
    return ""


# Functions keep the names of their files: they tell functions of the same name apart.
_COLUMNS: dict[str, _Blanked] = {
    "frames": {"file": _base_name},
    "functions": {"file": _base_name},
    "modules": {"path": _base_name},
    "processes": {
        "executable": _base_name,
        "command": lambda words: [_base_name(word) for word in words[:1]],
        "cgroup": _nothing,
    },
    "sites": {"file": _base_name},
}


def scrubbed(recording: Recording) -> tuple[Manifest, dict[str, pa.Table]]:
    """What is left says how long which function of which module took, and nothing of the data it worked on."""
    stored = recording.manifest.tables
    tables = {
        table.name: _without(recording.table(table.name), _COLUMNS.get(table.name, {}))
        for table in TABLES
        if table.name in stored and table.name not in _WITHOUT_ROWS
    }
    return _manifest(recording.manifest), tables


def _without(table: pa.Table, blanked: _Blanked) -> pa.Table:
    for name, change in blanked.items():
        if (at := table.schema.get_field_index(name)) >= 0:
            changed = pa.array([change(value) for value in table.column(name).to_pylist()], table.schema.field(at).type)
            table = table.set_column(at, table.schema.field(at), changed)
    return table


def _manifest(manifest: Manifest) -> Manifest:
    losses = manifest.losses
    unfollowed = tuple(Unfollowed(_base_name(one.path), one.reason, one.count) for one in losses.unfollowed)
    return replace(
        manifest,
        command=tuple(_base_name(word) for word in manifest.command[:1]),
        environment_names=(),
        options=None,
        host=replace(manifest.host, name=""),
        losses=replace(losses, unfollowed=unfollowed, notes=()),
        counting=None if manifest.counting is None else _counting(manifest.counting),
        deep=None if manifest.deep is None else replace(manifest.deep, symptom=_without_folders(manifest.deep.symptom)),
    )


def _counting(counting: Counting) -> Counting:
    modules = tuple(UncountedModule(_base_name(one.path), one.reason) for one in counting.uncounted_modules)
    return replace(counting, uncounted_modules=modules)
