"""What differs between two texts of a function: neither comments, nor what only one recording holds."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from whyperf.engines.function_text import CodeLine, FunctionText, function_text
from whyperf.engines.text_diff import differences, nearest

GOOD = """\
int find(struct table *table, const char *name)
{
    if (table->seen[hash(name)])
        return table->last;
    struct entry *entry = first(table, name);
    while (entry != NULL) {
        entry = entry->next;
    }
    return -1;
}
int next;"""


def text_of(source: str, declared: int = 1) -> FunctionText:
    return function_text(dict(enumerate(source.split("\n"), declared)), declared, frozenset())


def told(good: str, bad: str, *, near=(), most: int = 8, declared: int = 1) -> list[str]:
    change = nearest(differences(text_of(good), text_of(bad, declared)), near, most)
    if change is None:
        return []
    signs = {"good": "-", "bad": "+", "both": " "}
    shown = [[f"{signs[line.build]} {line.line} {line.text.strip()}" for line in hunk] for hunk in change.hunks]
    lines = [line for number, hunk in enumerate(shown) for line in ([".."] if number else []) + hunk]
    return [*lines, f"{change.more} more"] if change.more else lines


def test_lines_that_one_build_has_are_told_with_the_line_that_follows():
    bad = GOOD.replace("    if (table->seen[hash(name)])\n        return table->last;\n", "")
    gone = ["- 3 if (table->seen[hash(name)])", "- 4 return table->last;"]
    entry = "struct entry *entry = first(table, name);"
    assert told(GOOD, bad) == [*gone, f"  3 {entry}"]
    assert told(bad, GOOD) == [line.replace("-", "+", 1) for line in gone] + [f"  5 {entry}"]


def test_each_build_has_its_own_line_numbers():
    # GIVEN a function that moved down as something was written above it
    bad = GOOD.replace("entry->next", "entry->other")
    assert told(GOOD, bad, declared=101) == ["- 7 entry = entry->next;", "+ 107 entry = entry->other;", "  108 }"]


def test_white_space_and_comments_are_no_difference():
    bad = GOOD.replace("    ", "\t").replace(
        "    return -1;", "    /* not\n     * there */\n\n    return -1; // nothing"
    )
    bad = bad.replace("first(table, name)", "first(table,\n        name)")
    assert told(GOOD, bad) == []


def test_where_an_excerpt_merely_ends_nothing_is_told():
    for lines in range(1, 10):
        part = "\n".join(GOOD.split("\n")[:lines])
        assert told(GOOD, part) == told(part, GOOD) == []


def test_a_line_that_stands_anywhere_does_not_bound_a_difference():
    # GIVEN a text that ends with a brace, like many lines of the other after the place where it ends
    part = "\n".join(GOOD.split("\n")[:5]) + "\n    while (more(entry)) {\n    }"
    assert told(GOOD, part) == told(part, GOOD) == []


def test_a_difference_at_the_end_is_told_only_if_both_ends_are_known():
    bad = GOOD.replace("-1", "-2")
    assert told(GOOD, bad) == ["- 9 return -1;", "+ 9 return -2;", "  10 }"]
    part = bad.removesuffix("\n}\nint next;")
    assert told(GOOD, part) == told(part, GOOD) == []


def test_what_follows_the_function_is_not_its_own():
    assert told(GOOD, GOOD.replace("int next", "int other")) == []


def test_without_text_there_is_no_difference():
    nothing = FunctionText((), complete=False)
    assert differences(nothing, text_of(GOOD)) == differences(text_of(GOOD), nothing) == []


def test_hunks_with_one_line_between_them_are_told_as_one():
    bad = GOOD.replace("    while (entry != NULL) {", "    for (;;) {").replace("        entry = entry->next;\n", "")
    bad = bad.replace("    }\n", "    }\n    count();\n")
    assert told(GOOD, bad) == [
        "- 6 while (entry != NULL) {",
        "- 7 entry = entry->next;",
        "+ 6 for (;;) {",
        "  7 }",
        "+ 8 count();",
        "  9 return -1;",
    ]


def calls(*changed: int, lines: int = 40) -> str:
    inside = "\n".join(f"  {'new' if number in changed else 'old'}_{number}();" for number in range(3, lines))
    return f"int f(void)\n{{\n{inside}\n}}"


def test_the_hunks_nearest_to_the_lines_that_matter_are_told():
    bad = calls(5, 20, 30)
    assert told(calls(), bad, near=(28,), most=2) == ["- 30 old_30();", "+ 30 new_30();", "  31 old_31();", "4 more"]
    assert told(calls(), bad, near=(6, 22), most=5) == [
        "- 5 old_5();",
        "+ 5 new_5();",
        "  6 old_6();",
        "..",
        "- 20 old_20();",
        "+ 20 new_20();",
        "  21 old_21();",
        "2 more",
    ]


def test_of_a_long_hunk_the_first_lines_of_both_builds_are_told():
    bad = calls(*range(10, 30))
    assert told(calls(), bad, most=4) == [
        "- 10 old_10();",
        "- 11 old_11();",
        "+ 10 new_10();",
        "+ 11 new_11();",
        "36 more",
    ]
    without = calls().replace("\n".join(f"  old_{number}();" for number in range(10, 30)) + "\n", "")
    assert told(calls(), without, most=4) == [f"- {number} old_{number}();" for number in range(10, 14)] + ["16 more"]


def test_frequent_lines_of_a_long_function_are_recognised():
    cases = [f"  case {number}:\n    step_{number}();\n    break;" for number in range(300)]
    good = "int f(void)\n{\n" + "\n".join(cases) + "\n}"
    bad = good.replace("  case 100:\n    step_100();", "  case 400:\n    step_400();")
    bad = bad.replace("  case 101:\n    step_101();", "  case 401:\n    step_401();")
    assert len([line for line in told(good, bad) if line[0] in "+-"]) == 8
    assert not any("break" in line for line in told(good, bad) if line[0] in "+-")


def test_huge_functions_do_not_take_long():
    good, bad = (
        "int f(void)\n{\n" + "\n".join(f"  {name}_{number}();\n  x();" for number in range(5000))
        for name in ("old", "new")
    )
    before = time.process_time()
    differences(text_of(good), text_of(bad))
    assert time.process_time() - before < 5


@given(
    st.lists(st.sampled_from(["same", "gone", "come"]), max_size=40),
    st.integers(0, 45),
    st.integers(0, 45),
    st.booleans(),
)
def test_whatever_is_cut_off_only_real_differences_are_told(what, good_end, bad_end, complete):
    # GIVEN two texts of lines that are all different, of which recordings hold the beginnings, or all
    sides = []
    for mine, end in (("gone", good_end), ("come", bad_end)):
        kept = [number for number, kind in enumerate(what) if kind in ("same", mine)]
        lines = [CodeLine(at, f"line_{number}", f"line_{number}") for at, number in enumerate(kept, 1)]
        sides.append(FunctionText(tuple(lines if complete else lines[:end]), complete))
    hunks = differences(*sides)
    gone = [line.code for hunk in hunks for line in hunk.good]
    come = [line.code for hunk in hunks for line in hunk.bad]
    real = [[f"line_{number}" for number, kind in enumerate(what) if kind == mine] for mine in ("gone", "come")]
    if complete:
        assert [gone, come] == real
    # THEN nothing else is told; of whole texts everything
    assert set(gone) <= set(real[0]) and set(come) <= set(real[1])
