"""Mutate whole inputs and repair their checksums: what is wrong then, only a reader's own checks can find."""

from __future__ import annotations

import gzip
import json
import os
import random
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from tests.collect.dependences import made_stream
from tests.recording.repaired import repair

from bench.fuzz.subjects import Kind
from bench.fuzz.values import FLOATS, INTEGERS, TEXTS, changed_bytes, changed_json
from whyperf.collect.tracer.facts import FACTS
from whyperf.debuginfo.probes import plan_file
from whyperf.debuginfo.probes.plan_cache import SUFFIX
from whyperf.recording.compared import COMPARED
from whyperf.recording.raw_log.chunks import ChunkKind, ChunkReader, encode_chunk, log_files

_HEAD_BYTES = 96
_HEADS = {"rings": (0, 16384, 802816), ".counts": (0, 4096, 4096 + 1024 * 1024)}
"""Where files that are mostly holes say something."""


def mutate(rng: random.Random, kind: Kind, path: Path) -> str:
    """Changes the input in place and says how."""
    by_kind: dict[Kind, tuple[Callable[[random.Random, Path], str], ...]] = {
        Kind.SEALED: (*[_column] * 4, _rows, _manifest, _manifest, _row_count, _bytes_of_table),
        Kind.OPEN: (_start, _chunks, _chunks, _chunks, _stream, _stream, _bytes_of_raw),
        Kind.FILE: (_file,),
        Kind.KEPT: (*[_kept] * 9, _bytes_of_kept),
    }
    return rng.choice(by_kind[kind])(rng, path)


def _tables(path: Path) -> list[Path]:
    return sorted(path.glob("*.parquet"))


def _store(file: Path, table: pa.Table) -> None:
    pq.write_table(table, file, compression="zstd", store_schema=False)


def _column(rng: random.Random, path: Path) -> str:
    """Cells, types, nulls, or the whole column."""
    file = rng.choice([one for one in _tables(path) if pq.read_metadata(one).num_rows] or _tables(path))
    table = pq.read_table(file)
    at = rng.randrange(table.num_columns)
    name, values = table.column_names[at], table.column(at).to_pylist()
    how = rng.choice(("cell", "cell", "cell", "all", "null", "type", "drop", "swap"))
    if how == "drop":
        changed = table.remove_column(at)
    elif how == "swap":
        other = rng.randrange(table.num_columns)
        changed = table.set_column(at, name, table.column(other))
    elif how == "type":
        changed = table.set_column(at, name, _other_type(rng, values))
    else:
        rows = range(len(values)) if how == "all" else [rng.randrange(len(values))] if values else []
        new = None if how == "null" else _value_like(rng, table.schema.field(at).type, values)
        values = [new if row in rows else value for row, value in enumerate(values)]
        changed = table.set_column(at, name, _array(values, table.schema.field(at).type))
    _store(file, changed)
    repair(path)
    return f"{how} {file.stem}.{name}"


def _value_like(rng: random.Random, kind: pa.DataType, values: list[Any]) -> Any:
    if pa.types.is_boolean(kind):
        return rng.random() < 0.5
    if pa.types.is_floating(kind):
        return rng.choice(FLOATS)
    if pa.types.is_list(kind):
        return rng.choice(([], [""], ["x"] * 50))
    if pa.types.is_string(kind):
        return rng.choice([text for text in TEXTS if text != "\ud800"])
    if rng.random() < 0.5:
        return rng.choice(values) + rng.choice((-1, 0, 1)) if values else 0
    bits = kind.bit_width
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if pa.types.is_signed_integer(kind) else (0, (1 << bits) - 1)
    return rng.choice([number for number in (*INTEGERS, low, high) if low <= number <= high])


def _array(values: list[Any], kind: pa.DataType) -> Any:
    try:
        return pa.array(values, kind)
    except (pa.ArrowException, OverflowError):
        return pa.array([0 if isinstance(value, int) else value for value in values], kind)


def _other_type(rng: random.Random, values: list[Any]) -> Any:
    match rng.randrange(4):
        case 0:
            return pa.array([str(value) for value in values])
        case 1:
            return pa.array([float(row) for row in range(len(values))])
        case 2:
            return pa.array([[row] for row in range(len(values))], pa.list_(pa.int64()))
    return pa.array([{"a": row} for row in range(len(values))], pa.struct([("a", pa.int64())]))


def _rows(rng: random.Random, path: Path) -> str:
    """Dropped, repeated, in another order, none."""
    file = rng.choice(_tables(path))
    table = pq.read_table(file)
    count = table.num_rows
    order = list(range(count))
    how = rng.choice(("drop", "repeat", "shuffle", "none", "first", "many"))
    if how == "drop" and count:
        del order[rng.randrange(count)]
    elif how == "repeat" and count:
        order.insert(rng.randrange(count), rng.randrange(count))
    elif how == "shuffle":
        rng.shuffle(order)
    elif how == "many":
        order = order * 20
    elif how in ("none", "first"):
        order = order[: int(how == "first")]
    changed = table.take(pa.array(order, pa.int64()))
    _store(file, changed)
    repair(path, rows={file.stem: changed.num_rows})
    return f"{how} rows of {file.stem}"


def _row_count(rng: random.Random, path: Path) -> str:
    file = rng.choice(_tables(path))
    count = rng.choice([number for number in INTEGERS if number < 1 << 64])
    repair(path, rows={file.stem: count})
    return f"{file.stem} has {count} rows"


def _manifest(rng: random.Random, path: Path) -> str:
    def change(plain: dict[str, Any]) -> None:
        new = changed_json(rng, dict(plain))
        plain.clear()
        plain.update(new if isinstance(new, dict) else {"format": 1})

    repair(path, change=change)
    return "manifest"


def _bytes_of_table(rng: random.Random, path: Path) -> str:
    file = rng.choice(_tables(path))
    content = file.read_bytes()
    # The footer is where sizes are.
    at = rng.choice((0, max(0, len(content) - 1000)))
    file.write_bytes(content[:at] + changed_bytes(rng, content[at:]))
    repair(path)
    return f"bytes of {file.stem}"


def _start(rng: random.Random, path: Path) -> str:
    file = path / "raw" / rng.choice([name for name in ("start.json", "deep.json") if (path / "raw" / name).exists()])
    file.write_text(json.dumps(changed_json(rng, json.loads(file.read_bytes()))))
    return file.name


def _chunks(rng: random.Random, path: Path) -> str:
    logs = [*log_files(path / "raw"), *(path / "raw").glob(FACTS)]
    if not logs:
        return _stream(rng, path)
    file = rng.choice(logs)
    chunks = [(chunk.kind, bytes(chunk.payload)) for chunk in ChunkReader().in_bytes(file.read_bytes())]
    if not chunks:
        return "nothing"
    at = rng.randrange(len(chunks))
    kind, payload = chunks[at]
    how = rng.choice(("change", "change", "change", "drop", "repeat", "swap", "kind"))
    if how == "change" and kind == ChunkKind.JSON:
        payload = json.dumps(changed_json(rng, json.loads(payload))).encode()
    elif how == "change":
        payload = changed_bytes(rng, payload)
    elif how == "kind":
        kind = rng.choice((*ChunkKind, 0, (1 << 32) - 1))
    changed = [*chunks[:at], *([] if how == "drop" else [(kind, payload)]), *chunks[at + 1 :]]
    if how == "repeat":
        changed.insert(rng.randrange(len(changed)), (kind, payload))
    elif how == "swap":
        rng.shuffle(changed)
    file.write_bytes(b"".join(encode_chunk(*chunk) for chunk in changed))
    return f"{how} chunk of kind {kind}"


def _stream(rng: random.Random, path: Path) -> str:
    file = path / "raw" / "stream"
    if not file.exists():
        return _bytes_of_raw(rng, path)
    if rng.random() < 0.2:
        plan = path / "raw" / "plan"
        lines = plan.read_text().splitlines()
        at = rng.randrange(len(lines))
        lines[at] = rng.choice((lines[at][:-1], f"{lines[at]} 5", "", "watch 0 1", "function ffff zoom", "module x -"))
        plan.write_text("\n".join([*lines, ""]))
        return "plan"
    payload = changed_bytes(rng, file.read_bytes()[len(made_stream.MAGIC) + 8 :])
    file.write_bytes(made_stream.MAGIC + struct.pack("<II", len(payload), made_stream.check(payload)) + payload)
    return "stream"


def _bytes_of_raw(rng: random.Random, path: Path) -> str:
    file = rng.choice(sorted(one for one in (path / "raw").rglob("*") if one.is_file()))
    offsets = _HEADS.get(file.suffix or file.name)
    if offsets is None:
        file.write_bytes(changed_bytes(rng, file.read_bytes()))
    else:
        _bytes_at(rng, file, rng.choice(offsets))
    if file.suffix == SUFFIX and rng.random() < 0.8:
        _repair_plan(file)
    return f"bytes of {file.name}"


def _bytes_at(rng: random.Random, file: Path, at: int) -> None:
    with file.open("r+b") as opened:
        opened.seek(at)
        head = opened.read(_HEAD_BYTES)
        opened.seek(at)
        opened.write(changed_bytes(rng, head)[: len(head)])


def _repair_plan(file: Path) -> None:
    """Its checksums are those of what it holds, as far as its sizes are still sizes."""
    content = bytearray(file.read_bytes())
    if len(content) < plan_file._HEADER.size:
        return
    sites = min(plan_file._HEADER.unpack_from(content)[10] * plan_file.SITE.itemsize, len(content))
    within = len(content) - sites
    struct.pack_into("<I", content, plan_file._HEADER.size - 8, zlib.crc32(content[within:]))
    checked = plan_file._CHECKSUM_AT + 4
    struct.pack_into("<I", content, plan_file._CHECKSUM_AT, zlib.crc32(content[checked:within]))
    file.write_bytes(content)


def _kept(rng: random.Random, path: Path) -> str:
    """Anything in the verdict, but rarely whether it is of these recordings: others are judged anew."""
    plain = json.loads((path / COMPARED).read_text())
    if rng.random() < 0.1:
        plain = changed_json(rng, plain)
        where = "anything"
    else:
        where = rng.choice(list(_parts(plain["verdict"]["verdict"], "verdict")) or ["verdict"])
        holder, key = plain["verdict"], "verdict"
        for step in where.split(".")[1:]:
            holder, key = holder[key], int(step) if step.isdecimal() else step
        holder[key] = changed_json(rng, holder[key])
    (path / COMPARED).write_text(json.dumps(plain))
    return f"{where} of the verdict"


def _parts(value: Any, name: str) -> Iterator[str]:
    """Names of all objects and lists in it that hold something."""
    if value and isinstance(value, dict | list):
        yield name
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _parts(item, f"{name}.{key}")


def _bytes_of_kept(rng: random.Random, path: Path) -> str:
    file = path / COMPARED
    file.write_bytes(changed_bytes(rng, file.read_bytes()))
    return f"bytes of {file.name}"


def _file(rng: random.Random, path: Path) -> str:
    content = path.read_bytes()
    if content[:2] == b"\x1f\x8b" and rng.random() < 0.9:
        path.write_bytes(gzip.compress(changed_bytes(rng, gzip.decompress(content)), mtime=0))
        return "bytes within gzip"
    path.write_bytes(changed_bytes(rng, content))
    return "bytes"


def misplace(rng: random.Random, path: Path) -> str:
    """Puts something else in the place of a file; nothing can be mutated after that."""
    files = [path] if path.is_file() else sorted(one for one in path.rglob("*") if one.is_file())
    file = rng.choice(files)
    how = rng.choice(("pipe", "zero", "folder", "empty", "gone", "loop", "sparse"))
    if how == "sparse":
        os.truncate(file, 1 << 36)
        return f"{how} {file.name}"
    file.unlink()
    match how:
        case "pipe":
            os.mkfifo(file)
        case "zero":
            file.symlink_to("/dev/zero")
        case "folder":
            file.mkdir()
        case "empty":
            file.touch()
        case "loop":
            file.symlink_to(file)
    return f"{how} {file.name}"
