"""Make a manifest vouch for what lies beside it: mutated recordings whose checksums hold."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from whyperf.recording.layout import MANIFEST
from whyperf.recording.sealed import manifest as manifest_json

Plain = dict[str, Any]


def repair(
    path: Path, *, rows: Mapping[str, int] | None = None, change: Callable[[Plain], None] = lambda _plain: None
) -> None:
    """Sizes and checksums of all tables as they are, `rows` and `change` as the test wants them."""
    plain: Plain = json.loads((path / MANIFEST).read_bytes())
    plain.pop("checksum")
    for file in path.glob("*.parquet"):
        content = file.read_bytes()
        said = plain["tables"].get(file.stem, {"rows": 0})
        plain["tables"][file.stem] = {
            "rows": (rows or {}).get(file.stem, said["rows"]),
            "bytes": len(content),
            "crc32": zlib.crc32(content),
        }
    change(plain)
    text = json.dumps({**plain, "checksum": manifest_json._checksum(plain)})
    (path / MANIFEST).write_text(text)


def replace_table(path: Path, name: str, table: pa.Table) -> None:
    """Another content for a table, vouched for."""
    pq.write_table(table, path / f"{name}.parquet", compression="zstd", store_schema=False)
    repair(path, rows={name: table.num_rows})
