"""The tools' own readers take what is written for them."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import subprocess
from collections import Counter

import pytest

from tests.export.made import sampled, seconds_by_function
from tests.export.readers import npm_package, pprof_schema
from tests.patience import PATIENCE_S
from whyperf.export.firefox import firefox
from whyperf.export.pprof import pprof
from whyperf.export.profile import profile_of

pytestmark = pytest.mark.process

STACKS = [
    (("main", "parse@12"), 0.5),
    (("main", "store@20", "libc:memcpy"), 1.0),
    (("main", "store@21"), 0.25),
    (("main", "a<b>::c"), 0.125),
]


def test_the_firefox_profiler_reads_the_same_times(tmp_path):
    reader = npm_package("@firefox-devtools/profiler-cli") / "dist/profiler-cli.js"
    file = tmp_path / "profile.json"
    file.write_text(json.dumps(firefox(profile_of(sampled(STACKS)))))
    environment = {**os.environ, "HOME": str(tmp_path)}  # its sessions live there

    def ask(*words: str) -> str:
        for _ in range(5):
            done = subprocess.run(
                ["node", reader, *words],
                env=environment,
                capture_output=True,
                text=True,
                timeout=PATIENCE_S,
                check=False,
            )
            if "Unsupported engine" in done.stderr or "SyntaxError" in done.stderr:
                pytest.skip("this node is too old for the Firefox Profiler's reader")
            if "did not become ready" not in done.stderr:  # it gives itself half a second, which a busy machine takes
                break
            if daemon := re.search(r"running as pid (\d+)", done.stderr):
                os.kill(int(daemon[1]), signal.SIGKILL)
        else:
            pytest.skip("this machine is too busy for the Firefox Profiler's reader")
        assert done.returncode == 0, done.stderr
        return done.stdout

    ask("load", str(file))
    try:
        shown = ask("thread", "samples")
    finally:
        ask("stop", "--all")
    seconds = {"s": 1.0, "ms": 1e-3}
    read = {
        name: float(number) * seconds[unit]
        for name, number, unit in re.findall(r"!(\S+) - total: ([\d.]+)(m?s)", shown)
    }
    expected = {name.split("@")[0]: 0.0 for name in seconds_by_function(STACKS)}
    for name, spent in seconds_by_function(STACKS).items():
        expected[name.split("@")[0]] += spent
    assert read == pytest.approx(expected, rel=0.01)


def test_pprof_is_what_its_schema_says():
    schema = pprof_schema()
    decoded = subprocess.run(
        ["protoc", "--decode=perftools.profiles.Profile", "-I", str(schema), "profile.proto"],
        input=gzip.decompress(pprof(profile_of(sampled(STACKS)))),
        capture_output=True,
        check=True,
    ).stdout.decode()
    assert not re.search(r"^\s*\d+:", decoded, re.MULTILINE)  # no field that the schema does not know
    strings = [json.loads(f'"{text}"') for text in re.findall(r'^string_table: "(.*)"$', decoded, re.MULTILINE)]
    messages = _messages(decoded)
    functions = {one["id"][0]: strings[one["name"][0]] for one in messages["function"]}
    lines = {
        one["id"][0]: (functions[one["line.function_id"][0]], one.get("line.line")) for one in messages["location"]
    }
    assert ("store", [20]) in lines.values()
    assert ("store", [21]) in lines.values()
    spent: Counter[str] = Counter()
    for sample in messages["sample"]:
        innermost_first = [lines[location][0] for location in sample["location_id"]]
        assert innermost_first[-1] == "main"
        for name in set(innermost_first):
            spent[name] += sample["value"][0] / 1e9
    assert spent == pytest.approx({"main": 1.875, "parse": 0.5, "store": 1.25, "memcpy": 1.0, "a<b>::c": 0.125})


def _messages(decoded: str) -> dict[str, list[dict[str, list[int]]]]:
    """protoc's text: the top-level messages by name, with their numbers by (nested) field."""
    found: dict[str, list[dict[str, list[int]]]] = {}
    path: list[str] = []
    for line in map(str.strip, decoded.splitlines()):
        if line.endswith("{"):
            path.append(line[:-1].strip())
            if len(path) == 1:
                found.setdefault(path[0], []).append({})
        elif line == "}":
            path.pop()
        elif path and ":" in line:
            name, value = line.split(":", 1)
            if value.strip().lstrip("-").isdigit():
                found[path[0]][-1].setdefault(".".join([*path[1:], name]), []).append(int(value))
    return found
