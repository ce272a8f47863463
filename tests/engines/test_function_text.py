"""Where a function's text ends, and what of it is code."""

from __future__ import annotations

import pytest

from whyperf.engines.function_text import function_text

FIRST = 10  # the line of the declaration


def text_of(source: str, others=frozenset()):
    return function_text(dict(enumerate(source.split("\n"), FIRST)), FIRST, others)


def numbers(text):
    return [line.number for line in text.lines]


def test_white_space_and_comments_are_no_code():
    text = text_of('int f(void) { // first\n\n  /* one\n   two { */ g( "/*" , 1 );  // "\n\treturn 1;\n}')
    assert [line.code for line in text.lines] == ["intf(void){", 'g("/*",1);', "return1;", "}"]
    # AND lines are told with their numbers, as they stand
    assert numbers(text) == [10, 13, 14, 15]
    assert text.lines[1].text == '   two { */ g( "/*" , 1 );  // "'


@pytest.mark.parametrize(
    ("source", "last"),
    [
        ("int f(void)\n{\n  if (x) {\n  }\n}\nint g;\n", 14),
        ("int f(void) { return '{' + \"{\"[0]; } // {\nint g;", 10),
        # Either branch opens the same brace.
        ("int f(void)\n{\n#if A\n  if (a) {\n#elif B\n  if (b) {\n#else\n  if (c) {\n# endif\n  }\n}\nint g;", 20),
    ],
)
def test_it_ends_with_its_last_brace(source, last):
    text = text_of(source)
    assert text.complete
    assert numbers(text)[-1] == last


def test_what_is_declared_next_ends_a_function_without_braces():
    text = text_of("subroutine f\n  call g\nend\nsubroutine g\nend", others={8, 13})
    assert (numbers(text), text.complete) == ([10, 11, 12], False)


def test_a_mere_declaration_ends_with_what_it_stands_in():
    text = text_of("  int f(void);\n  int count;\n};\nint g(void) {\n}")
    assert (numbers(text), text.complete) == ([10, 11], False)


def test_what_is_declared_inside_does_not_end_it():
    text = text_of("int f(void)\n{\n  auto g = [] {\n  };\n}\nint h;", others={12})
    assert (numbers(text)[-1], text.complete) == (14, True)


def test_a_text_that_is_not_all_there_is_not_complete():
    text = text_of("int f(void)\n{\n  g();")
    assert (numbers(text), text.complete) == ([10, 11, 12], False)


def test_it_ends_at_the_first_line_that_is_not_known():
    source = {10: "int f(void)", 11: "{", 13: "g();", 14: "}"}
    assert numbers(function_text(source, 10, frozenset())) == [10, 11]
    assert function_text(source, 12, frozenset()).lines == ()


def test_a_huge_function_is_read_in_part():
    text = text_of("int f(void)\n{\n" + "  g();\n" * 100_000 + "}")
    assert (len(text.lines), text.complete) == (2000, False)


@pytest.mark.parametrize(
    "head",
    [
        "void f(std::vector<int> v = {})\n{",
        "void f(std::vector<int> v = {},\n       int n = 0) {",
        "Box::Box(int n)\n  : a{n},\n    b{n}\n{",
    ],
)
def test_braces_before_the_body_do_not_end_it(head):
    text = text_of(f"{head}\n  g();\n}}\nint h;")
    assert text.complete
    assert text.lines[-2].code == "g();"
