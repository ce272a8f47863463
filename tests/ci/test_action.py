"""The GitHub Action: its steps run here, in order, on a repository with a planted regression and without."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .composite import EXPRESSION, Job, read_action, with_programs
from .conftest import ROOT, SLOW_LINES, Project, fake, install, other_hash

ACTION = ROOT / "action.yml"

# Records what it is called with, and answers the question for comments with what it is told to.
GH = """\
printf '%s\\n' "$*" >> "$RECORDED/calls"
case "$*" in
  *--jq*) cat "$RECORDED/comments" 2>/dev/null ;;
  *body=@*) file=${*##*body=@}; cat "$file" > "$RECORDED/body" ;;
esac
"""


@pytest.fixture
def job(project: Project, package: Path, requirements: Path, tmp_path: Path) -> Job:
    programs, recorded = tmp_path / "bin", tmp_path / "recorded"
    recorded.mkdir()
    fake(programs, "gh", GH)
    return Job(
        read_action(ACTION),
        github={
            "action_path": str(requirements.parents[1]),
            "repository": "ann/tool",
            "token": "secret",
            "event": {"pull_request": {"number": 7}},
        },
        inputs={"package": str(package), "system-packages": "false", "base": project.base},
        temporary=tmp_path,
        folder=project.path,
        environment={**with_programs(project.environment, programs), "RECORDED": str(recorded)},
    )


def test_a_planted_regression_fails_the_job_and_is_explained(job: Job, project: Project, tmp_path: Path) -> None:
    project.at(project.slow)
    job.inputs |= {"code-scanning": "true"}
    assert job.run() == 5, job.ran
    comment = (tmp_path / "recorded" / "body").read_text()
    assert comment.startswith("<!-- whyperf-ci -->\n") and comment == job.summary
    assert "`look things up` is slower" in comment
    assert "`lookup` at `tool.c:" in comment and "Look further" in comment
    assert "-    int steps = 1;\n+    int steps = 60000;" in comment
    calls = (tmp_path / "recorded" / "calls").read_text().splitlines()
    assert calls[0].startswith("api --paginate repos/ann/tool/issues/7/comments --jq")
    assert calls[1].startswith("api --silent --method POST repos/ann/tool/issues/7/comments --field body=@")
    assert len(calls) == 2
    sarif = json.loads(Path(job.used["github/codeql-action/upload-sarif"]["sarif_file"]).read_text())
    place = sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "tool.c", "uriBaseId": "%SRCROOT%"}
    assert place["region"]["startLine"] in SLOW_LINES
    reports = Path(job.used["actions/upload-artifact"]["path"])
    assert {file.name for file in reports.iterdir()} == {"comment.md", "whyperf.sarif", "junit.xml", "report.json"}
    assert list((tmp_path / "whyperf" / "lib").glob("*/site-packages/needed.py"))


def test_a_harmless_change_passes_and_the_old_comment_is_updated(job: Job, project: Project, tmp_path: Path) -> None:
    project.at(project.harmless)
    (tmp_path / "recorded" / "comments").write_text("1234\n5678\n")
    install(tmp_path / "whyperf")
    assert job.run(without="Install whyperf") == 0, job.ran
    calls = (tmp_path / "recorded" / "calls").read_text().splitlines()
    assert calls[1].startswith("api --silent --method PATCH repos/ann/tool/issues/comments/1234 --field body=@")
    report = json.loads((Path(job.outputs["compare"]["reports"]) / "report.json").read_text())
    assert [one["state"] for one in report["benchmarks"]] in (["no difference"], ["not enough data"])
    assert "github/codeql-action/upload-sarif" not in job.used


def test_a_package_with_another_hash_is_not_installed(job: Job, requirements: Path) -> None:
    other_hash(requirements)
    assert job.run() == 1
    assert list(job.ran) == ["Install whyperf"]
    assert "DO NOT MATCH THE HASHES" in job.ran["Install whyperf"].stderr


def test_what_cannot_run_fails_the_job_without_a_comment(job: Job, project: Project, tmp_path: Path) -> None:
    project.at(project.harmless)
    job.inputs |= {"config": "absent.toml"}
    install(tmp_path / "whyperf")
    assert job.run(without="Install whyperf") == 2
    assert "absent.toml" in job.ran["Compare"].stderr and not (tmp_path / "recorded" / "calls").exists()
    assert job.outputs["compare"] == {"status": "2"} and not job.used


def test_inputs_are_words_whatever_is_in_them(job: Job, project: Project, tmp_path: Path) -> None:
    project.at(project.harmless)
    touched = tmp_path / "touched"
    hostile = f'x"; touch {touched}; $(touch {touched}) `touch {touched}` --fail-on=never'
    job.inputs |= {"base": hostile, "only": hostile, "budget": hostile, "config": hostile, "head": hostile}
    install(tmp_path / "whyperf")
    assert job.run(without="Install whyperf") == 2
    assert not touched.exists()


def test_no_expression_is_a_part_of_a_script() -> None:
    steps = read_action(ACTION)["runs"]["steps"]
    scripts = [step["run"] for step in steps if "run" in step]
    assert len(scripts) == 4
    assert not [script for script in scripts if EXPRESSION.search(script)]


def test_every_input_is_used_and_documented() -> None:
    action, docs = read_action(ACTION), (ROOT / "docs" / "ci.md").read_text()
    used = set(re.findall(r"inputs\.([\w-]+)", ACTION.read_text()))
    assert used == set(action["inputs"])
    for name in [*action["inputs"], *action["outputs"]]:
        assert f"`{name}`" in docs, name


@pytest.mark.parametrize(("kind", "file"), [("github-actions", "action.yml"), ("gitlab-ci", "ci/gitlab.yml")])
def test_the_forges_schemas_permit_it(kind: str, file: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{kind}", str(ROOT / file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_action_installs_what_make_installs() -> None:
    makefile = (ROOT / "Makefile").read_text().replace("\\\n", " ")
    wanted = set(re.search(r"^PACKAGES := (.*)$", makefile, re.MULTILINE)[1].split()) - {"make"}  # type: ignore[index]
    assert wanted <= set(ACTION.read_text().split())
    assert wanted <= set((ROOT / "ci" / "gitlab.yml").read_text().split())
