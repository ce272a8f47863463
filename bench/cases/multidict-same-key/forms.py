"""Collects submitted forms in a multidict, as web frameworks do.

Every form has as many values; whether each has a name of its own or all have the same is what differs.
"""

import sys

sys.path.insert(0, sys.argv[1])

from multidict import MultiDict

VALUES = 2000


def collected(names: list[str], form: int) -> int:
    fields: MultiDict[str] = MultiDict()
    for number, name in enumerate(names):
        fields.add(name, f"value {number * 31 % 97} of form {form}")
    total = sum(len(value) for value in fields.values())
    return total + len(fields.get(names[form % VALUES], "")) + ("missing" in fields)


def main() -> None:
    same, forms = sys.argv[2] == "same", int(sys.argv[3])
    names = ["choice" if same else f"choice-{number}" for number in range(VALUES)]
    print(sum(collected(names, form) for form in range(forms)))


main()
