"""Writes `docs/format.md` from the schemas: `python -m whyperf.recording.describe docs/format.md`."""

from __future__ import annotations

import sys
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, cast, get_args, get_type_hints

from whyperf.recording.raw_log.chunks import MAGIC, ChunkKind
from whyperf.recording.safe_files.limits import MOST_ROWS, MOST_TEXT_BYTES
from whyperf.recording.schemas.deep_tables import DEEP_TABLES
from whyperf.recording.schemas.schema import Table
from whyperf.recording.schemas.tables import TABLES
from whyperf.recording.sealed.manifest import Manifest
from whyperf.recording.version import FORMAT_VERSION

_HEAD = f"""\
# The recording format, version {FORMAT_VERSION}

*Generated from the code by `make docs`; do not edit.*

A recording is a folder that only its owner can read. A sealed one holds `manifest.json` and one Parquet file
(zstd) for each table below; any Parquet reader can read them. An open one holds `raw/` instead, and becomes a sealed
one when it is first read. Where both are there, the sealed tables count.

Times are nanoseconds of CLOCK_MONOTONIC; `start_monotonic` and `start_real` in the manifest are the same moment.
Row numbers mean nothing outside their recording. Between recordings a module is told apart by its name, a function by
module, name, declaring file and order; never by an address.

A reader must refuse a `format` that is higher than the one it knows. Fields and columns may be added without a new
version: pass over those that you do not know. Since version 2, `calls.live` and `updates` of deep recordings count
memory up to its peak; in version 1, up to the end of the run.

whyperf trusts nothing in a recording. It opens regular files only, and follows no symbolic links. Before it decodes a
table it compares rows and size with the manifest, and refuses more than {MOST_ROWS:,} rows (`--max-rows`) or more than
{MOST_TEXT_BYTES >> 20:,} MB of text. Row numbers must exist, kinds must be known, and numbers must be finite.
"""

_MANIFEST_TAIL = """
`tables` has for each table the number of rows, and size and CRC-32 of its file. `checksum` is the SHA-256 of all
other fields, written as JSON with sorted keys, no spaces and ASCII only.
"""

_RAW = f"""\
## raw/

`start.json` (what was known before the program started), `rings` (shared memory of the recorder and the programs it
watches), `lock` (held with `flock` by the recorder as long as it lives) and log files `log-000001` and so on. Each log
file can be read alone: when the bound on their size is reached the oldest is dropped.

A log file is a sequence of chunks: the four bytes `{MAGIC.decode()}`, then as little-endian 32-bit numbers the kind,
the payload's length, and the CRC-32 of kind, length and payload; then the payload. After damage, reading goes on at
the next chunk whose CRC-32 holds, and the bytes passed over are counted.

| kind | payload |
|---|---|
| {ChunkKind.RING} | pid and tid (32 bits each), slot sequence and start time (64 bits each); then records |
| {ChunkKind.JSON} | one JSON object; its `type` is ready, work, thread-name, totals, losses, overwritten or stop |
| {ChunkKind.BLOCKED} | as kind {ChunkKind.RING}, with blocked threads' stacks, which are seen from outside |
| {ChunkKind.EVENTS} | kernel events of one CPU: `struct trace_record` of `native/tracer/record.h` |
| {ChunkKind.TRACED_STACKS} | their stacks: `struct traced_stack` with its addresses |

The records are those of `native/sampler/session.h`.
"""


def format_document() -> str:
    parts = [_HEAD, "## manifest.json\n", _fields(Manifest), _MANIFEST_TAIL]
    parts += [_table(table) for table in TABLES]
    return "\n".join([*parts, _RAW])


def _fields(kind: type) -> str:
    rows = ["| field | type |", "|---|---|"]
    rows += [f"| `{name}` | {described} |" for name, described in _described_fields(kind, "")]
    return "\n".join(rows)


def _described_fields(kind: type, prefix: str) -> list[tuple[str, str]]:
    hints = get_type_hints(kind)
    rows: list[tuple[str, str]] = []
    for f in fields(cast(Any, kind)):
        hint, name = hints[f.name], f"{prefix}{f.name}"
        nested = next((a for a in (hint, *get_args(hint)) if is_dataclass(a)), None)
        if nested is None:
            optional = f.default is not MISSING or f.default_factory is not MISSING
            rows.append((name, _type_name(hint) + (", may be absent" if optional else "")))
        else:
            alone = nested is hint or type(None) in get_args(hint)
            inner = "" if alone else "[]" if get_args(hint)[-1] is Ellipsis else ".*"
            rows += _described_fields(cast(type, nested), f"{name}{inner}.")
    return rows


def _type_name(hint: Any) -> str:
    names = {bool: "true or false", int: "whole number", float: "number", str: "text", type(None): "null"}
    arguments = [a for a in get_args(hint) if a is not Ellipsis]
    if not arguments:
        return names[hint]
    if type(None) in arguments:
        return " or ".join(names[a] for a in arguments)
    return f"list of {names[arguments[0]]}" if len(arguments) == 1 else f"object of {names[arguments[1]]}"


def _table(table: Table) -> str:
    meaning = f"{table.meaning} Only in deep recordings." if table in DEEP_TABLES else table.meaning
    rows = [f"## {table.name}\n", f"{meaning}\n", "| column | type | meaning |", "|---|---|---|"]
    rows += [f"| `{c.name}` | {c.type} | {c.meaning} |" for c in table.columns]
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(format_document(), encoding="utf-8")
