"""Without any privilege: an ordinary user, strict distributions, containers."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.collect.tracer.ordinary_user import Done, OrdinaryUser, ordinary_user

SOURCE = Path(__file__).parents[2] / "importers" / "programs" / "ledger.c"


@dataclass(frozen=True)
class Setting:
    deny: str = ""
    before: list[str] = field(default_factory=list)


SETTINGS = {
    "ordinary user": Setting(),
    # Debian's perf_event_paranoid 3 and Ubuntu's 4 are patches: there perf_event_open fails with EACCES.
    "paranoid 4": Setting(deny="EACCES"),
    # What Docker's and Podman's filters do, to one who is root in a user namespace only.
    "container": Setting(
        deny="EPERM", before=["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
    ),
}


@pytest.fixture(scope="module")
def user() -> Iterator[OrdinaryUser]:
    with ordinary_user() as user:
        for name, option in (("ledger", "-DTHREAD"), ("alone", "-DALONE")):
            subprocess.run(["gcc", "-O2", "-g", option, SOURCE, "-o", user.home / name, "-lpthread"], check=True)
        yield user


@pytest.fixture(params=SETTINGS)
def setting(request: pytest.FixtureRequest, user: OrdinaryUser) -> Setting:
    setting = SETTINGS[request.param]
    if setting.before and user.run("true", before=setting.before).returncode != 0:
        pytest.skip("user namespaces are not permitted here")
    return setting


def whyperf(user: OrdinaryUser, setting: Setting, *arguments: str) -> Done:
    done = user.whyperf(*arguments, before=setting.before, deny=setting.deny)
    assert "Traceback" not in done.stderr and "mistake in whyperf" not in done.stderr, done.stderr
    return done


def test_a_slow_run_is_explained(user: OrdinaryUser, setting: Setting) -> None:
    # GIVEN somebody without any privilege
    # WHEN two commands are compared
    commands = ("--good", "./alone", "--bad", "./alone slowly")
    options = ("--runs", "1", "-o", "runs", "--force", "--json", "verdict.json")
    done = whyperf(user, setting, "compare", "--quick", *commands, *options)

    # THEN the sampler records and the diagnosis names the function
    assert done.returncode == 0, done.stderr
    verdict = json.loads((user.home / "verdict.json").read_text())
    assert verdict["verdict"] == "difference"
    assert "find_in_list" in [suspect["function"] for suspect in verdict["suspects"][:2]]


def test_trace_says_what_works_instead_and_does_it(user: OrdinaryUser, setting: Setting) -> None:
    # WHEN kernel events are asked for
    done = whyperf(user, setting, "record", "--trace", "-o", "waits", "--force", "--", "./ledger", "slowly")

    # THEN one sentence says why there are none and what is recorded instead, and the program runs
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().isdecimal()
    told = [line for line in done.stderr.splitlines() if "kernel events cannot be recorded" in line]
    assert len(told) == 1 and "where they wait" in told[0]

    # AND where its threads waited is in the recording
    said = whyperf(user, setting, "info", "waits").stdout
    assert "of blocked threads" in said


def test_the_whole_machine_and_the_flight_recorder_are_refused_in_a_sentence(
    user: OrdinaryUser, setting: Setting
) -> None:
    for arguments in (("record", "--trace", "--all", "--for", "1s", "-o", "all"), ("trace", "start")):
        done = whyperf(user, setting, *arguments)
        assert done.returncode == 1
        lines = done.stderr.strip().splitlines()
        assert len(lines) <= 2 and "not permitted" in lines[0], done.stderr
    assert not (user.home / "all").exists()


def test_doctor_tells_that_programs_can_be_recorded(user: OrdinaryUser, setting: Setting) -> None:
    done = whyperf(user, setting, "doctor", "--json")

    assert done.returncode == 0, done.stdout
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert checks["recording"]["state"] == "fine"
    assert checks["perf events"]["state"] == ("limited" if setting.deny else "fine")
    if setting.deny:
        # paranoid is not what forbids it here, so nobody is told to change it
        assert checks["perf events"]["fix"] is None
        assert "seccomp" in checks["perf events"]["finding"]
