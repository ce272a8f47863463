"""Serving: to this machine, under the right name, at the right path, and nobody else."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import sentence
from tests.patience import PATIENCE_S
from tests.recording.made import make_recording
from whyperf.errors import WhyperfError
from whyperf.report.html.serve import PageServer


@pytest.fixture
def server() -> Iterator[PageServer]:
    with PageServer("<!doctype html>the page") as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def asked(server: PageServer, path: str, host: str, method: str = "GET") -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=PATIENCE_S)
    connection.putrequest(method, path, skip_host=True)
    if host:
        connection.putheader("Host", host)
    connection.endheaders()
    return connection.getresponse()


def test_the_page_is_given_to_who_knows_its_address(server: PageServer) -> None:
    answer = asked(server, server.path, f"127.0.0.1:{server.server_port}")
    assert answer.status == 200 and answer.read() == b"<!doctype html>the page"
    assert answer.getheader("Content-Security-Policy") == "frame-ancestors 'none'"
    assert answer.getheader("Cache-Control") == "no-store"
    assert asked(server, server.path, f"localhost:{server.server_port}", "HEAD").status == 200


@pytest.mark.parametrize("path", ["/", "/favicon.ico", "/../etc/passwd", "/%00"])
def test_nothing_else_is_there(server: PageServer, path: str) -> None:
    answer = asked(server, path, f"127.0.0.1:{server.server_port}")
    assert answer.status == 404 and b"the page" not in answer.read()


@pytest.mark.parametrize("host", ["", "evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1"])
def test_other_names_for_this_machine_are_refused(server: PageServer, host: str) -> None:
    answer = asked(server, server.path, host.format(port=server.server_port))
    assert answer.status == 403 and b"the page" not in answer.read()


def test_only_loopback_is_listened_at_and_paths_cannot_be_guessed(server: PageServer) -> None:
    assert server.socket.getsockname()[0] == "127.0.0.1"
    with PageServer("") as other:
        assert other.path != server.path and len(other.path) > 30


def test_a_port_that_is_taken_is_a_sentence(server: PageServer) -> None:
    with pytest.raises(WhyperfError, match=f"Port {server.server_port} cannot be used"):
        PageServer("", server.server_port)


def test_view_serves_a_recording_until_it_is_interrupted(tmp_path: Path) -> None:
    # GIVEN a recording
    make_recording(tmp_path / "rec")
    # WHEN it is viewed
    # Tests in the background ignore Ctrl-C, and so would what they start.
    whyperf = ["env", "--default-signal=INT", sys.executable, "-m", "whyperf"]
    command = [*whyperf, "view", str(tmp_path / "rec")]
    viewing = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert viewing.stdout is not None
    address = viewing.stdout.readline().strip()
    try:
        host, _, path = address.removeprefix("http://").partition("/")
        connection = http.client.HTTPConnection(host, timeout=PATIENCE_S)
        connection.request("GET", f"/{path}")
        # THEN the page is there, and Ctrl-C ends it without complaint
        assert '"title":"tool"' in connection.getresponse().read().decode()
    finally:
        viewing.send_signal(signal.SIGINT)
        _, said = viewing.communicate(timeout=PATIENCE_S)
    assert viewing.returncode == 0 and "Traceback" not in said
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", int(host.rpartition(":")[2])), timeout=1)


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["view"], 2, "Name a good and a bad recording"),
        (["view", "nothing-here"], 1, "There is no recording nothing-here"),
        (["view", "a", "b", "--port", "x"], 2, "not a port"),
        (["view", "a", "b"], 1, "There is no recording a"),
        (["diagnose", "a", "b", "--html", "no/such/page.html"], 1, "There is no folder no/such"),
        (
            ["compare", "--good", "true", "--bad", "true", "--html", "no/such/page.html"],
            1,
            "There is no folder no/such",
        ),
    ],
)
def test_mistakes_are_sentences(arguments: list[str], status: int, said: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "whyperf", *arguments],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=dict(os.environ),
        check=False,
    )
    assert said in sentence(done, status)
