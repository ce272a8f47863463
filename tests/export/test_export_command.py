"""`whyperf export` on a real recording, and what it says when it cannot."""

from __future__ import annotations

import gzip
import json

import pytest

from whyperf.cli.main import main

pytestmark = pytest.mark.process

FORMATS = {
    "collapsed": lambda content: content.decode().splitlines()[0].rsplit(" ", 1)[1].isdigit(),
    "speedscope": lambda content: json.loads(content)["profiles"],
    "pprof": gzip.decompress,
    "chrome": lambda content: json.loads(content)["traceEvents"],
    "firefox": lambda content: json.loads(content)["threads"],
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    path = tmp_path_factory.mktemp("export") / "busy"
    busy = "import hashlib\nfor n in range(60000): hashlib.sha256(b'x' * 1000).digest()"
    assert main(["record", "-o", str(path), "--", "python3", "-c", busy]) == 0
    return path


@pytest.mark.parametrize("name", FORMATS)
def test_a_real_recording_in_every_format(recorded, tmp_path, name):
    output = tmp_path / "out"
    assert main(["export", str(recorded), "--format", name, "-o", str(output)]) == 0
    assert FORMATS[name](output.read_bytes())


def test_standard_output_is_the_default(recorded, capfdbinary):
    assert main(["export", str(recorded), "--format", "collapsed"]) == 0
    assert b"python3" in capfdbinary.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (["nowhere", "--format", "chrome"], 1, "There is no recording nowhere"),
        (["RECORDED", "RECORDED", "--format", "pprof"], 2, "pprof shows one recording"),
        (["RECORDED", "--format", "chrome", "-o", "/nonexistent/x"], 1, "cannot be written"),
        (["RECORDED", "--format", "gprof"], 2, "invalid choice"),
    ],
)
def test_mistakes_are_sentences(recorded, capsys, arguments, status, sentence):
    given = [str(recorded) if argument == "RECORDED" else argument for argument in arguments]
    assert main(["export", *given]) == status
    assert sentence in capsys.readouterr().err
