"""The page of results is made of its figures, and its links lead somewhere."""

from __future__ import annotations

import re
import tomllib

from bench.results import FIGURES, PAGE, page


def test_the_page_is_made_of_the_figures() -> None:
    assert PAGE.read_text() == page(), "python -m bench.results --write"


def test_every_figure_has_a_command_that_exists_and_details_that_are_there() -> None:
    makefile = (PAGE.parent.parent / "Makefile").read_text()
    for section in tomllib.loads(FIGURES.read_text())["section"]:
        for figure in section.get("figure", []):
            assert len(figure["row"]) == len(section["columns"]), figure
            assert (PAGE.parent / "history" / figure["details"]).is_file(), figure
            program, *words = figure["command"].split()
            if program == "make":
                assert re.search(rf"^{words[0]}:", makefile, re.MULTILINE), figure
            elif program == "python":
                module = PAGE.parent.parent / words[1].replace(".", "/")
                assert module.with_suffix(".py").is_file() or (module / "__main__.py").is_file(), figure
            else:
                assert program == "pytest" and (PAGE.parent.parent / words[0]).exists(), figure
