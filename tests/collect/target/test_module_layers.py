"""Whose code a module is."""

from __future__ import annotations

import pytest

from whyperf.collect.target.module_layers import file_name, origin_of

PROGRAMS = {"/usr/lib/postgresql/15/bin/postgres", "/home/me/tool"}


@pytest.mark.parametrize(
    ("path", "origin"),
    [
        ("/home/me/tool", "program"),
        ("/home/me/tool (deleted)", "program"),
        ("/usr/lib/postgresql/15/bin/postgres", "program"),
        ("/usr/lib/postgresql/15/lib/plpgsql.so", "system-library"),
        ("/home/me/libtool.so.1", "library"),
        ("/usr/local/lib/libmine.so", "library"),
        ("/opt/libc.so.6", "libc"),
        ("/lib/x86_64-linux-gnu/libc.so.6", "libc"),
        ("/lib64/ld-linux-x86-64.so.2", "libc"),
        ("/lib/ld-linux-aarch64.so.1", "libc"),
        ("/lib/aarch64-linux-gnu/libc.so.6", "libc"),
        ("/usr/lib/libm-2.31.so", "libc"),
        ("/usr/lib/libpthread.so.0", "libc"),
        ("/usr/lib/libcrypto.so.3", "system-library"),
        ("/usr/lib64/libcurl.so.4", "system-library"),
        ("/opt/whyperf/libwhyperf_sampler.so", "sampler"),
        ("[vdso]", "vdso"),
        ("", "unknown"),
    ],
)
def test_origins(path: str, origin: str) -> None:
    assert origin_of(path, PROGRAMS, "/elsewhere/libwhyperf_sampler.so") == origin


def test_the_preloaded_library_is_known_by_its_path_too() -> None:
    assert origin_of("/x/renamed.so", PROGRAMS, "/x/renamed.so") == "sampler"


def test_a_file_without_a_name_is_not_a_library_that_was_not_preloaded() -> None:
    assert origin_of("", PROGRAMS, "") == "unknown"


def test_names_have_no_folder() -> None:
    assert file_name("/a/b/tool (deleted)") == "tool"
