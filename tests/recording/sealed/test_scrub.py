"""A scrubbed recording must hold nothing that its owner wants to keep, and still be worth comparing."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from tests.engines.made import recording
from whyperf.cli.main import main
from whyperf.diagnose.diagnosis import diagnose
from whyperf.recording.schemas.tables import TABLES
from whyperf.recording.sealed.manifest import Losses, Unfollowed
from whyperf.recording.sealed.reader import Recording
from whyperf.recording.sealed.scrub import scrubbed
from whyperf.recording.sealed.writer import write_recording

SECRET = "s3cret"
# Names that are the very evidence; everything else that is text is folders, arguments, contents.
NAMES = {
    ("functions", "name"),
    ("modules", "name"),
    ("modules", "build_id"),
    ("modules", "origin"),
    ("modules", "debug"),
    ("processes", "origin"),
    ("threads", "name"),
    ("work", "unit"),
}


def is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or (pa.types.is_list(kind) and pa.types.is_string(kind.value_type))


def secretive(table, name, kind):
    """A value of this column that names something private wherever it could."""
    if (table, name) in NAMES:
        return "plain"
    return ["tool", SECRET] if pa.types.is_list(kind) else f"/{SECRET}/tool.c"


@pytest.fixture
def written(tmp_path):
    made = recording([(("main", "store"), 1.0)])
    tables = {}
    for table in TABLES:
        rows = made.tables[table.name]
        row = {
            column.name: secretive(table.name, column.name, column.type)
            if is_text(column.type)
            else pa.scalar(0).cast(column.type).as_py()
            for column in table.columns
        } | {name: -1 for name in ("parent", "inlined_in") if name in rows.schema.names}
        tables[table.name] = pa.Table.from_pylist([row], schema=rows.schema)
    losses = Losses(unfollowed=(Unfollowed(f"/{SECRET}/static", "static", 1),), notes=(f"/{SECRET}",))
    manifest = replace(
        made.manifest,
        command=(f"/{SECRET}/tool", SECRET),
        environment_names=(SECRET,),
        losses=losses,
        host=replace(made.manifest.host, name=SECRET),
    )
    write_recording(tmp_path / "original", manifest, tables)
    return tmp_path / "original"


def test_no_text_of_any_table_is_left(written):
    # GIVEN every text column of every table, also of those added later, holds a secret
    manifest, tables = scrubbed(Recording(written))
    # THEN none is left
    assert SECRET not in str(manifest)
    for name, table in tables.items():
        assert SECRET not in str(table.to_pylist()), name
    assert not {"values", "variables", "source"} & tables.keys()


def test_the_command_leaves_the_original_alone(written, capsys):
    before = {file.name: file.read_bytes() for file in written.iterdir()}
    assert main(["scrub", str(written)]) == 0
    assert {file.name: file.read_bytes() for file in written.iterdir()} == before
    copy = written.with_name("original.scrubbed")
    assert copy.stat().st_mode & 0o077 == 0
    for file in copy.iterdir():
        assert SECRET.encode() not in file.read_bytes()
    # AND does not overwrite
    assert main(["scrub", str(written)]) == 1
    assert "exists already" in capsys.readouterr().err


def test_scrubbed_recordings_still_tell_the_function(tmp_path):
    def stored(name, seconds):
        made = recording([(("main", "parse"), 1.0), (("main", "store@12"), seconds)], path=name)
        write_recording(tmp_path / name, made.manifest, made.tables)
        write_recording(tmp_path / f"{name}.scrubbed", *scrubbed(Recording(tmp_path / name)))
        return Recording(tmp_path / f"{name}.scrubbed")

    good = [stored(f"good{n}", 1.0 + n / 100) for n in range(3)]
    bad = [stored(f"bad{n}", 4.0 + n / 100) for n in range(3)]
    verdict = diagnose(good, bad)
    assert verdict.suspects[0].function == "store"
    assert verdict.suspects[0].file == "tool.c"
