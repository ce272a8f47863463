"""Names as debug information writes them, and the paths by which the readers of source know variables."""

from __future__ import annotations


def short_name(function: str) -> str:
    """Of a qualified, perhaps templated name: `std::vector<a::b>::size` is `size`."""
    start = function.find("operator")
    operator = function[start:] if start >= 0 and (start == 0 or function[start - 1] == ":") else ""
    if operator and not operator[len("operator") :][:1].isalnum():
        return operator.replace(" ", "")
    depth, plain = 0, []
    for letter in function:
        depth += (letter == "<") - (letter == ">")
        if depth == 0 and letter != ">":
            plain.append(letter)
    return "".join(plain).rpartition("::")[2].strip()


def paths(variable: str) -> tuple[str, ...]:
    """Whose roles are a variable's: its own, and those of what it merely describes.

    A container's size is what matters about the container; the paper too takes a pointer to a number for the number.
    """
    name = variable.replace("->", ".").lstrip("&")
    if name.endswith(".size()"):
        return name, name.removesuffix(".size()")
    return (name, name[1:]) if name.startswith("*") else (name,)


def unqualified(path: str) -> str:
    """`ns::counter.n` is `counter.n` in the source that uses it."""
    head, dot, rest = path.partition(".")
    return head.rpartition("::")[2] + dot + rest
