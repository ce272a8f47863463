"""By what kernel events are recorded, and what is said where they cannot be."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from whyperf.collect import machine
from whyperf.collect.machine import CheckState
from whyperf.collect.tracer import backends
from whyperf.collect.tracer.backends import Backend, choose
from whyperf.collect.tracer.holder import alone, holder
from whyperf.collect.tracer.kallsyms import KernelNames
from whyperf.collect.tracer.opening import not_loaded, notes_of, shed_spans
from whyperf.collect.tracer.proc_files import read_process
from whyperf.errors import WhyperfError
from whyperf.recording.sealed.manifest import Shed, TraceSummary


@pytest.fixture
def all_well(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """As on a machine where root may do everything."""
    pytest.importorskip("whyperf.collect._tracer")
    monkeypatch.setattr(backends, "_BTF", Path("/proc/self/status"))
    monkeypatch.setattr(backends, "_bpf_error", lambda: 0)
    monkeypatch.setattr(backends, "_perf_error", lambda: 0)
    monkeypatch.setattr(backends, "has_capability", lambda _name: True)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return monkeypatch


def test_bpf_where_it_works(all_well: pytest.MonkeyPatch) -> None:
    assert choose() == backends.BackendChoice(Backend.BPF, "")


def test_without_btf_root_has_perf(all_well: pytest.MonkeyPatch, tmp_path: Path) -> None:
    all_well.setattr(backends, "_BTF", tmp_path / "vmlinux")
    choice = choose()
    assert choice.means is Backend.PERF
    assert "does not describe its types" in choice.reason


def test_without_bpf_root_has_perf(all_well: pytest.MonkeyPatch) -> None:
    all_well.setattr(backends, "_bpf_error", lambda: errno.EPERM)
    assert choose().means is Backend.PERF


def test_in_a_container_that_blocks_both_there_is_the_sampler(all_well: pytest.MonkeyPatch) -> None:
    all_well.setattr(backends, "_bpf_error", lambda: errno.EPERM)
    all_well.setattr(backends, "_perf_error", lambda: errno.EACCES)
    choice = choose()
    assert choice.means is Backend.SAMPLER
    assert choice.fix is not None
    check = machine._kernel_events()
    assert check.state is CheckState.LIMITED
    assert "only where your own programs run and wait" in check.finding


def test_what_is_missing_without_all_capabilities_is_said(all_well: pytest.MonkeyPatch) -> None:
    all_well.setattr(backends, "has_capability", lambda name: name in ("CAP_BPF", "CAP_PERFMON"))
    choice = choose()
    assert choice.means is Backend.BPF
    assert len(choice.limits) == 2


def test_a_tracer_that_cannot_be_loaded_is_a_sentence() -> None:
    refused = not_loaded(PermissionError(errno.EPERM, "Operation not permitted"))
    assert refused.sentence == "Kernel events may not be recorded: Operation not permitted."
    assert refused.next_command == "sudo whyperf record --trace ..."
    assert "could not be loaded" in not_loaded(OSError(errno.EINVAL, "no BTF")).sentence


def test_shedding_on_several_cpus_is_one_span_a_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    tracer = pytest.importorskip("whyperf.collect._tracer")
    changes = [(10, 0, 0, 2), (20, 1, 0, 1), (30, 0, 2, 0), (40, 1, 1, 0), (50, 0, 0, 1)]
    first, second = tracer.SHED_LEVELS[1:3]
    assert shed_spans(changes, 5, 60) == [Shed(first, 10, 40), Shed(first, 50, 60), Shed(second, 10, 30)]


def test_what_was_shed_before_the_first_change_kept_is_told() -> None:
    tracer = pytest.importorskip("whyperf.collect._tracer")
    # GIVEN changes of which the kernel has overwritten the first ones
    changes = [(40, 1, 1, 0), (30, 0, 2, 1), (50, 0, 1, 0)]
    # WHEN a CPU had left something out before those that are kept, THEN it is taken to have done so from the beginning
    first, second = tracer.SHED_LEVELS[1:3]
    assert shed_spans(changes, 5, 60) == [Shed(first, 5, 50), Shed(second, 5, 30)]


def test_what_was_shed_is_one_note() -> None:
    trace = TraceSummary("bpf", "all", 99.0, shed=(Shed("a", 0, 10**9), Shed("b", 0, 2 * 10**9), Shed("a", 0, 10**9)))
    assert notes_of(trace) == ["Events came so fast that for up to 2.0 s these were left out: a; b."]


def test_the_holder_is_known_while_it_lives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHYPERF_TRACE_FOLDER", str(tmp_path / "state"))
    assert holder() is None
    with alone("whyperf record --trace"):
        held = holder()
        assert held is not None and (held.name, held.pid) == ("whyperf record --trace", os.getpid())
        with pytest.raises(WhyperfError, match=f"process {os.getpid()}.*only one tracer") as refused, alone("another"):
            raise AssertionError
        assert "kill" not in f"{refused.value.sentence} {refused.value.next_command}"
    assert holder() is None
    (tmp_path / "state" / "tracer").write_text(json.dumps({"name": 3}))
    assert holder() is None


def test_kernel_functions_by_address(tmp_path: Path) -> None:
    symbols = tmp_path / "kallsyms"
    symbols.write_text(
        "ffffffff81000000 T _text\n"
        "ffffffff81000100 T vfs_read\n"
        "ffffffff81000100 t __alias_of_it\n"
        "ffffffff81000200 D some_data\n"
        "ffffffffc0000000 t ext4_readdir\t[ext4]\n"
    )
    names = KernelNames(symbols)
    found = names.at([0xFFFFFFFF81000150, 0xFFFFFFFF81000250, 0xFFFFFFFFC0000010, 0x10])
    assert {hex(at): (symbol.name, symbol.module) for at, symbol in found.items()} == {
        "0xffffffff81000150": ("vfs_read", ""),
        "0xffffffff81000250": ("vfs_read", ""),
        "0xffffffffc0000010": ("ext4_readdir", "ext4"),
    }
    assert names.base == 0xFFFFFFFF81000000


@pytest.mark.parametrize("content", ["", "0000000000000000 T _text\n0000000000000000 T vfs_read\n"])
def test_a_kernel_that_hides_its_addresses_gives_no_names(tmp_path: Path, content: str) -> None:
    symbols = tmp_path / "kallsyms"
    symbols.write_text(content)
    names = KernelNames(symbols)
    assert not names
    assert names.at([0xFFFFFFFF81000150]) == {}
    assert not KernelNames(tmp_path / "nothing")


def test_a_process_is_read_as_it_is() -> None:
    process = read_process(os.getpid())
    assert process is not None
    assert process.parent == os.getppid()
    assert Path(process.executable).samefile("/proc/self/exe")
    assert process.command and process.cgroup.startswith("/")
    assert read_process(1 << 22) is None
