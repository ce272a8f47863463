"""Tools and resources through the SDK's client, against the real server process."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult

import whyperf
from tests.assistants.conftest import SOURCE, Assistant, compared_progress, server_command
from tests.cli.conftest import refused, sentence  # noqa: F401 (a fixture)
from tests.patience import PATIENCE_S
from whyperf.assistants.folders import folders_of
from whyperf.assistants.jobs import Jobs
from whyperf.assistants.server import made
from whyperf.assistants.texts import LONGEST

READ_ONLY = ["diagnose", "explain", "source_of"]


def text(result: CallToolResult) -> str:
    assert len(result.content) == 1
    shown: str = result.content[0].text
    assert len(shown) <= LONGEST
    return shown


def mistake(result: CallToolResult) -> str:
    assert result.is_error
    assert "Traceback" not in text(result)
    return text(result)


def line_of(code: str) -> int:
    return next(number for number, line in enumerate(SOURCE.read_text().splitlines(), 1) if code in line)


def eventually(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + PATIENCE_S
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def running(*words: str) -> list[int]:
    """Processes that have all of these among their words."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_text(errors="replace").split("\0")
        except OSError:
            continue
        if set(words) <= set(command):
            found.append(int(folder.name))
    return found


def _cpu_s(pids: set[int]) -> float:
    used = (Path(f"/proc/{pid}/schedstat").read_text().split()[0] for pid in pids)
    return sum(map(int, used)) / 1e9


def test_tools_are_described(assistant: Assistant) -> None:
    tools = {tool.name: tool for tool in assistant.portal.call(assistant.client.list_tools).tools}
    assert sorted(tools) == sorted(["compare", "record", *READ_ONLY])
    for name, tool in tools.items():
        assert tool.output_schema is not None and tool.output_schema["type"] == "object"
        assert tool.annotations is not None and tool.annotations.read_only_hint is (name in READ_ONLY)
        assert tool.description is not None
        assert "data" in tool.description or name == "record"
    assert "user's" in tools["compare"].description and "user's" in tools["record"].description


def test_compare_names_the_suspect_with_numbers_and_the_next_call(compared: CallToolResult, folder: Path) -> None:
    answer = compared.structured_content
    assert answer is not None, text(compared)
    assert answer["verdict"] == "difference"
    assert answer["symptom"]["bad"] > 2 * answer["symptom"]["good"] > 0
    suspect = answer["suspects"][0]
    assert (suspect["function"], Path(suspect["file"]).name) == ("scan", "ledger.c")
    assert suspect["line"] in range(line_of("long scan("), line_of("long settle("))
    assert suspect["share"] > 0.5
    rounds = next(variable for variable in suspect["variables"] if variable["name"] == "rounds")
    assert (rounds["good"], rounds["bad"]) == ("60,000", "600,000")
    assert answer["next"][0]["tool"] == "explain"
    assert answer["next"][0]["arguments"] == {"suspect": 1, "folder": str(folder / "runs")}
    assert "scan" in text(compared) and answer["symptom"]["sentence"] in text(compared)


def test_progress_is_reported_and_never_falls(compared: CallToolResult) -> None:
    assert not compared.is_error
    told = [message for _, message in compared_progress]
    assert any(message.startswith("run 6 of 6: bad") for message in told)
    amounts = [amount for amount, _ in compared_progress]
    assert amounts == sorted(set(amounts))


def test_recordings_are_diagnosed_again(assistant: Assistant, compared: CallToolResult, folder: Path) -> None:
    runs = compared.structured_content["recordings"]
    assert runs["good"] == [str(folder / "runs" / f"good-{number}") for number in (1, 2, 3)]
    again = assistant.call("diagnose", good=[f"runs/good-{number}" for number in (1, 2, 3)], bad=runs["bad"])
    assert again.structured_content["suspects"] == compared.structured_content["suspects"]


def test_the_next_call_explains_the_suspect(assistant: Assistant, compared: CallToolResult) -> None:
    following = compared.structured_content["next"][0]
    explained = assistant.call(following["tool"], **following["arguments"])
    assert explained.structured_content["suspect"] == compared.structured_content["suspects"][0]
    said = " ".join(explained.structured_content["sentences"])
    assert "95% interval" in said and "Own time" in said
    assert explained.structured_content["next"][0]["tool"] == "source_of"


def test_source_has_the_time_of_each_line(assistant: Assistant, compared: CallToolResult) -> None:
    source = assistant.call("source_of", place="scan", folder="runs").structured_content
    assert (source["function"], source["unit"]) == ("scan", "run")
    by_number = {line["number"]: line for line in source["lines"]}
    hot = by_number[line_of("2654435761u")]
    assert "2654435761u" in hot["text"]
    assert sum(line["bad_s"] or 0 for line in source["lines"]) > 2 * sum(
        line["good_s"] or 0 for line in source["lines"]
    )
    assert line_of("long settle(") not in by_number


def test_resources_list_recordings_and_tell_what_is_in_one(assistant: Assistant, compared: CallToolResult) -> None:
    listed = json.loads(assistant.read("whyperf://recordings"))
    found = {Path(row["path"]).name: row["uri"] for row in listed["recordings"]}
    assert {"good-1", "good-2", "bad-1", "bad-2"} <= found.keys()
    facts = json.loads(assistant.read(found["bad-1"]))
    assert facts["command"] == ["./ledger", "600000"]
    assert facts["exit_status"] == 0  # it found nothing to read


def test_paths_outside_of_the_folders_are_refused(assistant: Assistant, compared: CallToolResult, folder: Path) -> None:
    (folder / "out").symlink_to("/")
    (folder.parent / "beside").mkdir()
    for path in ("..", "../beside", "/", "out", "out/tmp", f"{folder}/../beside"):
        assert "outside of the folders" in mistake(assistant.call("diagnose", folder=path))
    both = {"good": ["runs/good-1"], "bad": ["out/tmp/bad"]}
    assert "outside of the folders" in mistake(assistant.call("explain", suspect=1, **both))
    assert "outside of the folders" in mistake(assistant.call("source_of", place="main", **both))
    assert "outside of the folders" in mistake(assistant.call("record", command="true", output="../new"))
    assert "outside of the folders" in mistake(assistant.call("record", command="true", directory="out"))
    assert not (folder.parent / "new").exists()
    with pytest.raises(MCPError, match="outside of the folders"):
        assistant.read("whyperf://recording/..%2Fbeside")


def test_mistakes_are_results_and_the_server_lives_on(assistant: Assistant, compared: CallToolResult) -> None:
    assert "good" in mistake(assistant.call("compare", good=3))
    assert "one of `suspect`" in mistake(assistant.call("explain", folder="runs"))
    assert "Give `folder`" in mistake(assistant.call("diagnose", good=["runs/good-1"]))
    assert "exists already" in mistake(assistant.call("record", command="true", output="runs"))
    assert "Give `seconds`" in mistake(assistant.call("record", pid=1))
    assert "never closed" in mistake(assistant.call("record", command="'"))
    assert "is not a path" in mistake(assistant.call("diagnose", folder="a\0b"))
    assert "was not found" in mistake(assistant.call("record", command="./nothing-here"))
    assert assistant.portal.call(assistant.client.list_tools).tools


def test_a_failed_run_says_what_it_last_wrote(assistant: Assistant) -> None:
    recorded = assistant.call("record", command="ls ./nothing-here", output="failed").structured_content
    assert recorded["command"] == ["ls", "./nothing-here"]
    assert "status 2" in recorded["ended"]
    assert "nothing-here" in recorded["last_wrote"][-1]


def test_cancelling_ends_the_target_and_leaves_a_readable_recording(assistant: Assistant, folder: Path) -> None:
    recording = assistant.started("record", command="./ledger 60000 forever", output="cancelled")
    recorder, target = f"--output={folder / 'cancelled'}", ("./ledger", "60000", "forever")
    assert eventually(lambda: len(running(*target)) > len(running(recorder)) > 0)
    # It works for so long that there is something to read.
    assert eventually(lambda: _cpu_s({*running(*target)} - {*running(recorder)}) > 0.1)
    assert assistant.portal.call(assistant.client.list_tools).tools  # answered meanwhile
    # WHEN the client gives up
    recording.cancel()
    # THEN nothing goes on, and what was recorded can be read, by the next call as well
    assert eventually(lambda: not running(*target) and not running(recorder))
    opened = whyperf.open(folder / "cancelled")
    assert opened.manifest.stopped_by == "interrupt"
    assert opened.table("samples").num_rows > 0


def test_only_messages_are_written_and_the_target_dies_with_the_server(folder: Path) -> None:
    server = subprocess.Popen(server_command(folder), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert server.stdin is not None and server.stdout is not None
    asked = {"name": "record", "arguments": {"command": "./ledger 60001 forever", "output": "killed"}}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    for message in (
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {**asked, "_meta": {"progressToken": 7}}},
    ):
        server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        server.stdin.flush()
    recorder, target = f"--output={folder / 'killed'}", ("./ledger", "60001", "forever")
    assert eventually(lambda: len(running(*target)) > len(running(recorder)) > 0)
    assert all(Path(f"/proc/{pid}/fd/0").readlink() == Path("/dev/null") for pid in running(*target))
    # WHEN the server is killed, once it has told how far it is
    written = [server.stdout.readline(), server.stdout.readline()]
    server.send_signal(signal.SIGKILL)
    written += server.stdout
    server.stdin.close()
    server.wait(PATIENCE_S)
    # THEN the target ends, its recording can be read, and all that was written is messages of the server's own
    assert eventually(lambda: not running(*target) and not running(recorder))
    assert whyperf.open(folder / "killed").manifest.stopped_by == "interrupt"
    messages = [json.loads(line) for line in written]
    assert messages[0]["id"] == 1
    assert {message.get("method") for message in messages[1:]} == {"notifications/progress"}


def test_without_running_only_what_reads_is_offered(tmp_path: Path) -> None:
    async def names() -> list[str]:
        async with Client(made(folders_of([tmp_path]), Jobs(), may_run=False)) as client:
            return sorted(tool.name for tool in (await client.list_tools()).tools)

    # In a thread of its own: an open page of the browser tests has an event loop running in this one.
    with ThreadPoolExecutor() as thread:
        assert thread.submit(anyio.run, names).result() == sorted(READ_ONLY)


def test_without_the_sdk_a_sentence_says_what_to_install(
    refused: Callable[..., subprocess.CompletedProcess[str]],  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    for name in [name for name in sys.modules if name.startswith("whyperf.assistants.")]:
        monkeypatch.delitem(sys.modules, name)
    done = refused("mcp")
    assert "SDK is not installed" in sentence(done, 1)
    assert 'pip install "whyperf[mcp]"' in done.stderr


def test_a_folder_that_does_not_exist_is_refused(
    refused: Callable[..., subprocess.CompletedProcess[str]],  # noqa: F811
) -> None:
    assert "no folder" in sentence(refused("mcp", "--folder", "nowhere"), 2)
