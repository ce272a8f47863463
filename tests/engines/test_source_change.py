"""What recordings of two builds tell of a function's source."""

from __future__ import annotations

import numpy as np

from tests.engines.made import recording
from whyperf.engines.excess.compare import compare
from whyperf.engines.excess.findings import suspects
from whyperf.engines.run import Run, source_lines

GOOD = "int look_up(int key)\n{\n  if (key == last)\n    return found;\n  return compare_keys(key);\n}"
BAD = "int look_up(int key)\n{\n  return compare_keys(key);\n}"
CODE = {"main": 1, "serve": 2, "look_up": 3, "compare_keys": 4}


def runs(look_up: float, build: str, sources, *, folder: str, declared: int, name: str = "look_up", **more):
    """Of a server that looks keys up; `sources`: what each of its runs holds of the program's file."""
    stacks = [(("main@5", "serve@15", f"{name}@{declared + 1}", "compare_keys@85"), look_up), (("main@5", "rest"), 2.0)]
    return [
        Run(
            recording(
                stacks,
                noise=np.random.default_rng(seed),
                folder=folder,
                build=build,
                declared={"main": 4, "serve": 14, name: declared, "compare_keys": 84, "rest": 99},
                source={f"{folder}/tool.c": source} if source else None,
                **{"code": CODE, **more},
            )
        )
        for seed, source in enumerate(sources)
    ]


def first(good, bad):
    found = suspects(compare(good, bad), "run")[0]
    assert found.function.name == "look_up"
    return found


def good_runs(sources=((30, GOOD),) * 3, **more):
    return runs(1.0, "aa", sources, **{"folder": "/old", "declared": 30, **more})


def bad_runs(sources=((40, BAD),) * 3, **more):
    return runs(6.0, "bb", sources, **{"folder": "/new", "declared": 40, "code": {**CODE, "look_up": 9}, **more})


def told(good, bad):
    change = first(good, bad).change
    return None if change is None else [[(line.build, line.line) for line in hunk] for hunk in change.hunks]


LEFT_OUT = [[("good", 32), ("good", 33), ("both", 42)]]


def test_functions_are_matched_wherever_they_are_declared():
    # GIVEN builds of two folders, between which the function has moved by ten lines
    assert told(good_runs(), bad_runs()) == LEFT_OUT


def test_a_function_with_a_new_name_is_the_same():
    code = {**CODE, "find": 3}
    del code["look_up"]
    renamed = good_runs(sources=((30, GOOD.replace("look_up", "find")),) * 3, name="find", code=code)
    assert told(renamed, bad_runs()) == [[("good", 30), ("bad", 40), ("both", 41), *LEFT_OUT[0]]]


def test_runs_of_one_build_tell_together():
    # GIVEN runs of which each holds a part
    start, rest = GOOD.split("\n")[:3], GOOD.split("\n")[3:]
    assert told(good_runs(sources=((30, "\n".join(start)),) * 3), bad_runs()) is None
    assert told(good_runs(sources=(None, (33, "\n".join(rest)), (30, "\n".join(start)))), bad_runs()) == LEFT_OUT


def test_parts_of_different_files_are_not_put_together():
    one, other = (good_runs(sources=((line, "text"),), digest=digest)[0] for line, digest in ((1, "aa"), (2, "bb")))
    assert source_lines([one, other], "/old/tool.c") == {1: "text"}
    assert source_lines([one, one, other], "/old/none.c") == {}


def test_without_source_nothing_is_told():
    assert told(good_runs(), bad_runs(sources=(None,) * 3)) is None
    assert told(good_runs(sources=(None,) * 3), bad_runs()) is None
    # AND nothing where both hold other functions only
    assert told(good_runs(sources=((80, "int g;"),) * 3), bad_runs(sources=((80, "int h;"),) * 3)) is None


def test_code_that_is_the_same_gets_no_lines():
    # GIVEN a function whose source differs and whose code does not, as under a condition of the preprocessor
    good, bad = (((84, f"int compare_keys(int a)\n{{\n  return {value};\n}}"),) * 3 for value in (1, 2))
    found = {one.function.name: one for one in suspects(compare(good_runs(sources=good), bad_runs(sources=bad)), "run")}
    assert found["compare_keys"].detail.code == "same"
    assert found["compare_keys"].change is None
    # AND it would, did its code differ
    changed = bad_runs(sources=bad, code={**CODE, "compare_keys": 9})
    found = {one.function.name: one for one in suspects(compare(good_runs(sources=good), changed), "run")}
    assert found["compare_keys"].change is not None


def test_that_the_source_is_the_same_is_said_only_of_the_same_file():
    same = {"sources": ((30, GOOD),) * 3, "declared": 30}
    found = first(good_runs(digest="aa", **same), bad_runs(digest="aa", **same))
    assert found.change is None
    assert "does not: what it includes" in found.why
    # AND not where only what is held of it is
    for digest in ("bb", ""):
        assert first(good_runs(digest="aa", **same), bad_runs(digest=digest, **same)).why.endswith(
            "Its code differs between the two builds."
        )


def new_code(name: str, **more):
    """A build in which `serve` calls another function than before, in the same or another text of the file."""
    stacks = [(("main@5", "serve@15"), 1.0), (("main@5", "serve@16", name), 6.0 if name == "scan" else 1.0)]
    declared = {"main": 4, "serve": 14, "probe": 40, "scan": 40, "rest": 99}
    held = {one: line for one, line in declared.items() if one in (*CODE, name, "rest")}
    source = {"/src/tool.c": (10, "text")}
    return [
        Run(
            recording(
                stacks,
                noise=np.random.default_rng(seed),
                folder="/src",
                declared=held,
                source=source,
                code={**dict.fromkeys(held, 1), "serve": 3 if name == "scan" else 2, name: len(name)},
                **more,
            )
        )
        for seed in range(3)
    ]


def test_a_function_in_a_file_that_did_not_change_is_no_new_code_and_has_no_new_name():
    # GIVEN a function that the good build has not, in the very same source: a setting left it out, or it is a template
    good, bad = new_code("probe", build="aa", digest="1" * 64), new_code("scan", build="bb", digest="1" * 64)
    excess = compare(good, bad)
    # THEN who calls it now answers for most, as for any new path
    assert [finding.function.name for finding in suspects(excess, "run")][:2] == ["serve", "scan"]
    # BUT in another text it may be what had another name
    renamed = compare(good, new_code("scan", build="bb", digest="2" * 64))
    assert suspects(renamed, "run")[0].function.name == "scan"
