"""JUnit's XML: a test case for each benchmark, which job pages list."""

from __future__ import annotations

from xml.etree import ElementTree

from whyperf.ci.result import Report, Result
from whyperf.ci.state import BenchmarkState
from whyperf.engines.quantities import percent
from whyperf.report.printable import printable

_CHILDREN = {BenchmarkState.SLOWER: "failure", BenchmarkState.FAILED: "error", BenchmarkState.INSUFFICIENT: "skipped"}


def to_junit(report: Report) -> str:
    counts = {
        "tests": len(report.results),
        "failures": len(report.having(BenchmarkState.SLOWER)),
        "errors": len(report.having(BenchmarkState.FAILED)),
        "skipped": len(report.having(BenchmarkState.INSUFFICIENT)),
    }
    shared = {name: str(count) for name, count in counts.items()} | {"time": f"{report.seconds:.3f}"}
    root = ElementTree.Element("testsuites", {"name": "whyperf", **shared})
    suite = ElementTree.SubElement(root, "testsuite", {"name": "whyperf", **shared})
    for result in report.results:
        _case(suite, result)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _case(suite: ElementTree.Element, result: Result) -> None:
    named = {"classname": "whyperf", "name": printable(result.benchmark.name), "time": f"{result.seconds:.3f}"}
    case = ElementTree.SubElement(suite, "testcase", named)
    text = "\n".join(printable(line) for line in _lines(result))
    kind = _CHILDREN.get(result.state)
    if kind is None:
        ElementTree.SubElement(case, "system-out").text = text
        return
    message = {"message": printable(f"{result.state.value}: {result.sentence}")}
    if kind != "skipped":
        message["type"] = result.state.value
    ElementTree.SubElement(case, kind, message).text = text


def _lines(result: Result) -> list[str]:
    lines = [result.sentence]
    for cause in result.causes:
        where = f" {cause.file}:{cause.line}" if cause.file else f" in {cause.module}" if cause.module else ""
        lines.append(f"{cause.function}{where}: {percent(cause.share)}. {cause.why}".rstrip())
    return [*lines, *(result.causes[0].diff if result.causes else ()), *result.notes]
