"""Verdicts to show, made by the real engine from made recordings."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from tests.engines.contexts.traced import UNINTERRUPTIBLE, Thread, ran, slept, traced, waited
from tests.engines.made import Made, recording
from whyperf.diagnose.diagnosis import diagnose
from whyperf.diagnose.origin import ChainEnd, Hop, HopKind, Origin, Proof, ProofFinding, ProofMeans, Share
from whyperf.diagnose.verdict import Verdict
from whyperf.recording.sealed.manifest import TableFile

_CODE = """\
static int find(struct table *table, const char *name)
{
    struct entry *entry = table->buckets[hash(name) % table->size];
    while (entry != NULL) {
        if (strcmp(entry->name, name) == 0)
            return entry->value;
        entry = entry->next;
    }
    return -1;
}

static void rehash(struct table *table)
{
\tfor (size_t i = 0; i < table->size; i++) { /* a comment so long that it does not fit into eighty columns at all */
\t\tmove(table->buckets[i]);
\t}
}"""
_LONG = "cache::detail::Table<std::basic_string<char>, std::allocator<int> >::insert_with_hint"
_GOOD = [
    (("main@60", "serve@61", "handle@62", "find@40", "libc:strcmp"), 0.6),
    (("main@60", "work@63"), 2.0),
    (("main@60", f"{_LONG}@64"), 0.5),
]
_BAD = [
    (("main@60", "serve@61", "handle@62", "find@40", "libc:strcmp"), 6.0),
    (("main@60", "serve@61", "handle@62", "find@39"), 3.0),
    (("main@60", "work@63"), 2.0),
    (("main@60", f"{_LONG}@64", "rehash@50"), 2.5),
]


def difference() -> Verdict:
    source = {"/src/tool.c": (36, _CODE)}
    decided = {("find", 40): 39, ("rehash", 50): 49}

    def runs(stacks, **more):
        return [
            recording([(words, seconds * noise) for words, seconds in stacks], source=source, decided=decided, **more)
            for noise in (1.0, 1.02, 1.03)
        ]

    return diagnose(runs(_GOOD, also=["rehash"]), runs(_BAD))


def proven() -> Verdict:
    """What decides in the first suspect was followed to where it was made, and forced there."""
    verdict = difference()
    first, second, *rest = verdict.suspects
    hop = partial(Hop, module="tool", file="/src/tool.c")
    hops = (
        hop(HopKind.VARIABLE, "find", line=39, source="", what="entry", good="1", bad="2 to 40", sentence=""),
        hop(
            HopKind.LOADED,
            "find",
            line=38,
            source="    struct entry *entry = table->buckets[hash(name) % table->size];",
            what="table->size",
            good="1,048,576",
            bad="256",
            sentence="",
        ),
        hop(
            HopKind.COMPUTED,
            _LONG,
            line=167,
            source="    bytes = megabytes << 20; /* so long a remark that it does not fit into eighty columns */",
            what="megabytes << 20",
            good="67,108,864",
            bad="0",
            sentence="",
        ),
    )
    origin = Origin(hops, ChainEnd.OUTSIDE, "It comes from outside: strtoul() gives 4,096, was 64.", 2, 8, 31.5)
    suspects = (replace(first, origin=origin, proofs=(proof(),)), second, *rest)
    return replace(verdict, suspects=suspects)


def proof() -> Proof:
    return Proof(
        ProofFinding.PROVEN,
        ProofMeans.VALUE,
        "main",
        "tool",
        "/src/tool.c",
        167,
        "megabytes << 20",
        "67,108,864",
        "0",
        Share(0.98, 0.91, 1.02),
        Share(0.02, -0.04, 0.07),
        Share(1.01, 0.79, 1.5),
        5,
        "cpu_s",
        "Proven: with `megabytes << 20` forced to 67,108,864 in the bad run, 98% of the excess is gone (91 to 102%).",
    )


def two_builds() -> Verdict:
    """The build that is slow neither looks at what was found last nor at all of the table, and logs."""
    found_before = (
        "    const char *now = name; // mostly what was asked for last time, which we would rather not look for again\n"
        "    if (table->last != NULL && strcmp(table->last->name, now) == 0)\n"
        "\treturn table->last->value;\n"
    )
    good = _CODE.replace("{\n    struct", f"{{\n{found_before}    struct")
    bad = _CODE.replace("table->size];", "2];").replace("    return -1;", "    log_line(name);\n    return -1;")
    declared = {name: line for line, name in enumerate(("main", "serve", "handle", "work", _LONG), 1)} | {"find": 36}

    def runs(stacks, folder, text, build):
        return [
            recording(
                [(words, seconds * noise) for words, seconds in stacks],
                folder=folder,
                source={f"{folder}/tool.c": (36, text)},
                declared=declared,
                build=build,
                code={**declared, "find": len(text)},
            )
            for noise in (1.0, 1.02, 1.03)
        ]

    slow = [(("main@60", "serve@61", "handle@62", "find@40", "libc:strcmp"), 6.0), *_GOOD[1:]]
    return diagnose(runs(_GOOD, "/old", good, "aa"), runs(slow, "/new", bad, "bb"))


def waiting() -> Verdict:
    """A traced program with a slow plug-in, deep in calls."""
    deep = "main serve accept_one handle_connection parse_header route"
    spaceless = _LONG.replace(" ", "")

    def runs(delay):
        return [
            traced(
                [
                    Thread(
                        [
                            ran(f"{deep} render", 200 * noise),
                            slept(f"{deep} render plug:compress_response", delay * noise),
                            slept(f"{deep} {spaceless}", delay / 4 * noise),
                            waited("main store libc:fsync kernel:ext4_sync_file", delay / 90 * noise, "fsync"),
                        ],
                        main=True,
                    )
                ]
            )
            for noise in (1.0, 1.02, 1.03)
        ]

    return diagnose(runs(4), runs(900))


def joined() -> Verdict:
    """A traced program that reads a little slower every time, and sleeps long once: each is some engine's first."""

    def runs(read, pause):
        return [
            _with_events(
                traced(
                    [
                        Thread(
                            [
                                *[
                                    waited("main serve load_page", read * noise, "pread64", state=UNINTERRUPTIBLE),
                                    ran("main serve render", 3 * noise),
                                ]
                                * 60,
                                slept("main serve refresh throttle", pause * noise),
                            ],
                            main=True,
                        )
                    ]
                )
            )
            for noise in (1.0, 1.02, 1.03)
        ]

    return diagnose(runs(1, 2), runs(12, 420))


def _with_events(made: Made) -> Made:
    return replace(made, manifest=replace(made.manifest, tables={"events": TableFile(1, 1, 1)}))


def nothing() -> Verdict:
    return diagnose([recording(_GOOD)] * 3, [recording(_GOOD)] * 3)


def hostile() -> Verdict:
    """A program that put escapes, markup and direction changes into every text that it controls."""
    evil = "\x1b[31mred\x1b]0;title\x07\u202e\u2066[bold]x[/bold]\r\n\x9b2J"
    file = f"/src/tool\x1b[2J{evil}"
    stacks = [(("main", f"{evil}@12"), 1.0)]
    slow = [(("main", f"{evil}@12"), 9.0)]
    name = f"tool\x1b[2J{evil}"
    source = {f"/src/{name}.c": (10, f"{evil}\n\x1b[5mblink\n[red]{evil}\x00")}
    assert file in next(iter(source))
    made = [[recording(s, program=name, source=source)] for s in (stacks, slow)]
    return diagnose(made[0], made[1])
