"""Runs a composite action's steps as GitHub does, as far as ours use it: expressions in `env`, `with` and `if`,
outputs by file, and every `run` by bash."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.patience import PATIENCE_S

EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
_OPERATORS = re.compile(r"\s*(==|!=)\s*")


@dataclass
class Job:
    """`steps` has what each step that was run did."""

    action: dict[str, Any]
    github: dict[str, Any]
    inputs: dict[str, str]
    temporary: Path
    folder: Path
    environment: dict[str, str]
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    ran: dict[str, subprocess.CompletedProcess[str]] = field(default_factory=dict)
    used: dict[str, dict[str, str]] = field(default_factory=dict)  # other actions, with what they were given
    summary: str = ""

    def run(self, *, without: str = "") -> int:
        """The job's status: that of the first step which fails. `without` names a step whose work is done already."""
        for step in self.action["runs"]["steps"]:
            if step["name"] == without or not self._condition(step.get("if", "")):
                continue
            if "uses" in step:
                self.used[step["uses"].partition("@")[0]] = {
                    key: self.filled(value) for key, value in step.get("with", {}).items()
                }
                continue
            done = self.ran[step["name"]] = self._bash(step)
            if done.returncode != 0:
                return done.returncode
        return 0

    def _bash(self, step: dict[str, Any]) -> subprocess.CompletedProcess[str]:
        assert step["shell"] == "bash"
        files = {name: self.temporary / f"{name}-{len(self.ran)}" for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        for file in files.values():
            file.touch()
        script = self.temporary / f"step-{len(self.ran)}.sh"
        script.write_text(step["run"])
        # The command line that GitHub documents for `shell: bash`.
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=self.folder / self.filled(step.get("working-directory", ".")),
            env={
                **self.environment,
                **{name: self.filled(str(value)) for name, value in step.get("env", {}).items()},
                **{name: str(path) for name, path in files.items()},
            },
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        if "id" in step:
            lines = files["GITHUB_OUTPUT"].read_text().splitlines()
            self.outputs[step["id"]] = dict(line.partition("=")[::2] for line in lines)  # type: ignore[misc]
        self.summary += files["GITHUB_STEP_SUMMARY"].read_text()
        return done

    def filled(self, text: str) -> str:
        return EXPRESSION.sub(lambda match: self._value(match[1]), text)

    def _condition(self, text: str) -> bool:
        for part in filter(None, (one.strip() for one in text.split("&&"))):
            left, operator, right = _OPERATORS.split(part)
            if (self._value(left) == self._value(right)) != (operator == "=="):
                return False
        return True

    def _value(self, expression: str) -> str:
        if expression.startswith("'"):
            return expression.strip("'")
        context, *path = expression.split(".")
        if context == "inputs":
            return self.inputs.get(path[0], str(self.action["inputs"][path[0]].get("default", "")))
        if context == "steps":
            return self.outputs.get(path[0], {}).get(path[2], "")
        found: Any = {"github": self.github, "runner": {"temp": str(self.temporary)}}[context]
        for name in path:
            found = found.get(name, "") if isinstance(found, dict) else ""
        return str(found)


def read_action(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(path.read_text())
    return loaded


def with_programs(environment: dict[str, str], folder: Path) -> dict[str, str]:
    return {**environment, "PATH": f"{folder}{os.pathsep}{environment['PATH']}"}
