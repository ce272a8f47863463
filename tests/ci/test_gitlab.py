"""The GitLab template: its script lines run here, in order, on a repository with a planted regression and without."""

from __future__ import annotations

import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from tests.patience import PATIENCE_S

from .composite import with_programs
from .conftest import ROOT, Project, fake, git, install, other_hash

TEMPLATE = ROOT / "ci" / "gitlab.yml"

# The first question is for the notes there are.
CURL = """\
cat >> "$RECORDED/headers"
printf '%s\\n' "$*" >> "$RECORDED/calls"
case "$*" in *per_page*) cat "$RECORDED/notes" ;; esac
"""


@pytest.fixture
def clone(project: Project, tmp_path: Path) -> Path:
    """Jobs work in a clone of their own, which they may fill with files."""
    git(tmp_path, "clone", "-q", str(project.path), "clone")
    return tmp_path / "clone"


def run_job(
    clone: Path, project: Project, package: Path | None, tmp_path: Path, notes: str, requirements: Path | str = ""
) -> subprocess.CompletedProcess[str]:
    """Without a package nothing is installed."""
    programs, recorded = tmp_path / "bin", tmp_path / "recorded"
    recorded.mkdir()
    (recorded / "notes").write_text(notes)
    fake(programs, "curl", CURL)
    job = yaml.safe_load(TEMPLATE.read_text())["whyperf"]
    variables = {name: str(value) for name, value in job["variables"].items()}
    script = tmp_path / "job.sh"
    script.write_text("\n".join([*(job["before_script"] if package else ()), *job["script"]]))
    return subprocess.run(
        ["bash", "-eo", "pipefail", str(script)],  # all lines in one shell, as GitLab's runner does
        cwd=clone,
        env={
            **with_programs(project.environment, programs),
            **variables,
            "WHYPERF_SYSTEM_PACKAGES": "",
            "WHYPERF_PACKAGE": str(package),
            "WHYPERF_REQUIREMENTS": str(requirements),
            "WHYPERF_TOKEN": "secret",
            "RECORDED": str(recorded),
            "CI_MERGE_REQUEST_IID": "7",
            "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
            "CI_PROJECT_ID": "42",
            "CI_PROJECT_URL": "https://gitlab.example.org/ann/tool",
            "CI_API_V4_URL": "https://gitlab.example.org/api/v4",
        },
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def test_a_planted_regression_fails_the_job_and_is_told(
    clone: Path, project: Project, package: Path, requirements: Path, tmp_path: Path
) -> None:
    git(clone, "checkout", "-q", "--detach", project.slow)
    done = run_job(clone, project, package, tmp_path, "[]", requirements)
    assert done.returncode == 5, done.stderr
    case = ElementTree.parse(clone / "whyperf-reports" / "junit.xml").find("testsuite/testcase")
    assert case is not None and case.get("name") == "look things up" and case.find("failure") is not None
    link = f"https://gitlab.example.org/ann/tool/-/blob/{project.slow}/tool.c#L"
    assert link in (clone / "whyperf-reports" / "comment.md").read_text()
    calls = (tmp_path / "recorded" / "calls").read_text()
    assert "--request POST --data-urlencode body@whyperf-reports/comment.md" in calls
    assert calls.rstrip().endswith("/api/v4/projects/42/merge_requests/7/notes")
    assert "secret" not in calls and "secret" in (tmp_path / "recorded" / "headers").read_text()


def test_with_requirements_nothing_else_is_installed(
    clone: Path, project: Project, package: Path, requirements: Path, tmp_path: Path
) -> None:
    other_hash(requirements)
    git(clone, "checkout", "-q", "--detach", project.slow)
    done = run_job(clone, project, package, tmp_path, "[]", requirements)
    assert done.returncode == 1 and "DO NOT MATCH THE HASHES" in done.stderr
    assert not (clone / "whyperf-reports").exists()


def test_a_harmless_change_passes_and_the_old_note_is_updated(clone: Path, project: Project, tmp_path: Path) -> None:
    git(clone, "checkout", "-q", "--detach", project.harmless)
    install(clone / ".whyperf-venv")
    notes = '[{"id": 1, "body": "hello"}, {"id": 9, "body": "<!-- whyperf-ci -->\\n\\nold"}]'
    done = run_job(clone, project, None, tmp_path, notes)
    assert done.returncode == 0, done.stderr
    assert "--request PUT" in (tmp_path / "recorded" / "calls").read_text()
    assert (tmp_path / "recorded" / "calls").read_text().rstrip().endswith("/notes/9")
