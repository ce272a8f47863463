"""requirements/ pins what pyproject.toml asks for, with the hash of every file."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
GROUPS: dict[str, list[str]] = PROJECT["dependency-groups"]


def pins(group: str) -> dict[str, list[tuple[str, int]]]:
    """Versions of each package, and how many hashes each has; more than one version where Python versions differ."""
    text = (ROOT / "requirements" / f"{group}.txt").read_text().replace("\\\n", " ")
    found: dict[str, list[tuple[str, int]]] = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            requirement, *hashes = re.split(r"\s+--hash=", line.strip())
            name, version = requirement.split(" ; ")[0].split("==")
            found.setdefault(canonicalize_name(name), []).append((version, len(hashes)))
    return found


@pytest.mark.parametrize("group", GROUPS)
def test_every_requirement_is_pinned_as_pyproject_permits(group: str) -> None:
    locked = pins(group)
    for text in [*PROJECT["project"]["dependencies"], *GROUPS[group]]:
        wanted = Requirement(text)
        versions = locked.get(canonicalize_name(wanted.name), [])
        assert versions, f"{text} is not in requirements/{group}.txt: run `make lock`"
        assert all(wanted.specifier.contains(version) for version, _ in versions), f"run `make lock`: {text}"


@pytest.mark.parametrize("group", GROUPS)
def test_every_pin_has_hashes(group: str) -> None:
    assert all(hashes for versions in pins(group).values() for _, hashes in versions)


def test_groups_agree_on_versions() -> None:
    run = pins("run")
    for group in GROUPS:
        assert {name: versions for name, versions in pins(group).items() if name in run}.items() <= run.items()
