"""Kernel events without root: CAP_BPF and CAP_PERFMON suffice; two more give names."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.collect.tracer.ordinary_user import NOBODY, OrdinaryUser, ordinary_user
from whyperf.collect.tracer.backends import Backend, choose

SOURCE = Path(__file__).parents[2] / "importers" / "programs" / "ledger.c"
NEEDED = ("bpf", "perfmon")
FOR_NAMES = ("sys_ptrace", "syslog")


def with_capabilities(*names: str) -> list[str]:
    listed = ",".join(f"+{name}" for name in names)
    return [
        *("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"),
        *("--inh-caps", listed, "--ambient-caps", listed),
    ]


@pytest.fixture(scope="module")
def user() -> Iterator[OrdinaryUser]:
    if choose().means is not Backend.BPF:
        pytest.skip(f"no BPF here: {choose().reason}")
    with ordinary_user() as user:
        subprocess.run(["gcc", "-O2", "-g", SOURCE, "-o", user.home / "ledger", "-lpthread"], check=True)
        yield user


def manifest(user: OrdinaryUser, name: str) -> dict:
    return json.loads((user.home / name / "manifest.json").read_text())


@pytest.mark.parametrize("capabilities", [NEEDED, (*NEEDED, *FOR_NAMES)], ids=["needed", "with names"])
def test_a_program_is_traced_without_root(user: OrdinaryUser, capabilities: tuple[str, ...]) -> None:
    # GIVEN somebody who is not root but may use BPF and perf events
    before = with_capabilities(*capabilities)

    # WHEN a program is traced
    done = user.whyperf("record", "--trace", "-o", "traced", "--force", "--", "./ledger", before=before, uid=None)

    # THEN its kernel events are recorded by BPF
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    trace = manifest(user, "traced")["trace"]
    assert trace["source"] == "bpf"
    assert manifest(user, "traced")["tables"]["events"]["rows"] > 50
    # AND the kernel's functions have names for those who may know them
    if "syslog" in capabilities:
        assert "no names" not in done.stderr


def test_one_of_the_two_is_not_enough(user: OrdinaryUser) -> None:
    before = with_capabilities("bpf")

    done = user.whyperf("record", "--trace", "-o", "half", "--force", "--", "./ledger", before=before, uid=None)

    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    assert "kernel events cannot be recorded" in done.stderr
    assert manifest(user, "half")["trace"] is None
