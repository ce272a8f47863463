"""What the page is fed, as JSON: plain data, one class a section. `web/src/model.ts` is made from it.

A section that is None does not appear. Names, paths and sentences may hold anything that the recorded program put
there: `page.py` makes them fit to show, once for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from whyperf.diagnose.origin import ProofFinding
from whyperf.diagnose.verdict import VerdictKind
from whyperf.engines.causes.detail import ShownLink
from whyperf.engines.excess.detail import TimeInside
from whyperf.engines.finding import SourceChange
from whyperf.engines.relations.detail import Distribution, RelationEdge, RelationNode
from whyperf.engines.values.kinds import Dimension

FORMAT = 1
ShownClock = Literal["cpu", "blocked", "peak", "kept"]  # seconds per unit of work; bytes a run


@dataclass(frozen=True)
class SourceLine:
    number: int
    text: str
    share: float  # of what the excerpt is about: added time, or abnormal readings
    decides: bool = False  # that the suspect's hottest line is reached


@dataclass(frozen=True)
class Excerpt:
    file: str
    lines: tuple[SourceLine, ...]  # a jump in their numbers is a gap


@dataclass(frozen=True)
class RunAmounts:
    """One amount a run."""

    good: tuple[float, ...]
    bad: tuple[float, ...]


@dataclass(frozen=True)
class EvidenceRow:
    """That an engine names a suspect."""

    engine: str
    rank: int
    why: str  # empty where the suspect's own sentence says it


@dataclass(frozen=True)
class HopRow:
    function: str
    module: str
    file: str
    line: int
    source: str
    what: str
    good: str
    bad: str
    deep: bool  # a run under Valgrind led here
    differs: bool  # False: nothing shows that good and bad runs differ here


@dataclass(frozen=True)
class OriginRow:
    """Who set what decides, from where time is paid to where the value was made."""

    hops: tuple[HopRow, ...]
    turn: int | None  # the hop where good turns into bad; None: no hop is known to differ
    sentence: str  # why it ends there
    runs: int


@dataclass(frozen=True)
class ProofRow:
    finding: ProofFinding
    sentence: str


@dataclass(frozen=True)
class SuspectRow:
    rank: int
    function: str
    module: str
    file: str
    line: int
    path: tuple[str, ...]
    share: float
    interval: tuple[float, float] | None  # 95%, of the share
    confidence: str
    pattern: str
    why: str
    runs: RunAmounts | None  # seconds per unit of work that it answers for
    inside: tuple[TimeInside, ...]
    excerpt: Excerpt | None
    change: SourceChange | None  # between two builds
    variables: tuple[int, ...]  # numbers in `values.variables`
    relation: int | None  # number in `relations.graphs`
    cause: int | None  # number in `causes.stories`
    frame: int | None  # number in `contexts.functions`
    evidence: tuple[EvidenceRow, ...]
    origin: OriginRow | None
    proofs: tuple[ProofRow, ...]


@dataclass(frozen=True)
class VerdictSection:
    kind: VerdictKind
    headline: str  # why, names in backticks; empty where nobody is suspected
    sentence: str
    symptom: str  # cpu, wait, io, memory, external
    measure: str  # cpu_s, wall_s, instructions ...
    unit: str
    good: float
    bad: float
    runs: RunAmounts
    warnings: tuple[str, ...]
    suspects: tuple[SuspectRow, ...]
    disagreements: tuple[str, ...]  # between engines
    notes: tuple[str, ...]
    next_command: str | None


@dataclass(frozen=True)
class VariableSpread:
    range: str
    typical: str


@dataclass(frozen=True)
class Cells:
    """Shares of the readings. Cells lie between `edges`, or are single values, each with its label."""

    edges: tuple[float, ...]
    labels: tuple[str, ...]
    good: tuple[float, ...]
    bad: tuple[float, ...]


@dataclass(frozen=True)
class RunCourse:
    """One run's readings over time: lowest, middle and highest around each moment."""

    good: bool
    run: int
    seconds: tuple[float, ...]
    low: tuple[float, ...]
    middle: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True)
class VariableRow:
    name: str
    type: str
    function: str  # empty for globals
    module: str
    scope: str
    roles: tuple[str, ...]
    dimension: Dimension
    decides: bool
    sentence: str
    distance: float  # Hellinger, 0 to 1
    p: float | None  # None where whole runs stand apart
    good: VariableSpread
    bad: VariableSpread
    abnormal_share: float  # of the bad runs' readings
    cells: Cells
    courses: tuple[RunCourse, ...]
    excerpt: Excerpt | None


@dataclass(frozen=True)
class ValuesSection:
    variables: tuple[VariableRow, ...]
    compared: int  # variables in all
    abnormal: int


@dataclass(frozen=True)
class FrameFunction:
    name: str
    module: str
    layer: str  # program, library, plug-in, system-library, libc, kernel, unknown


@dataclass(frozen=True)
class ContextTreeColumns:
    """A calling-context tree, a column a field; parents come before children. Seconds are per unit of work."""

    clock: ShownClock
    parent: tuple[int, ...]  # -1 for the outermost
    function: tuple[int, ...]  # number in `functions`; -1: several contexts too small to be shown
    good: tuple[float, ...]  # seconds or bytes in the context itself
    bad: tuple[float, ...]
    left_out: int  # contexts summed up


@dataclass(frozen=True)
class HeatStep:
    """A function on the way to where latency appeared."""

    function: str
    module: str
    layer: str
    added: float  # in its own code


@dataclass(frozen=True)
class HeatContext:
    """A context, by what it added to the bad runs."""

    share: float
    good: float
    bad: float
    steps: tuple[HeatStep, ...]  # outermost first
    hot: int  # the step that answers for it


@dataclass(frozen=True)
class HeatMap:
    unit: str  # what amounts are divided by; `share`: they are shares of the time
    rows: tuple[HeatContext, ...]  # the most added first


@dataclass(frozen=True)
class MemoryOverTime:
    resident: bool  # pages that were there; else what was allocated
    courses: tuple[RunCourse, ...]  # in bytes


@dataclass(frozen=True)
class ContextsSection:
    unit: str
    compared: bool  # False: one kind of runs only, in `bad`
    shown: ShownClock  # what the verdict is about
    functions: tuple[FrameFunction, ...]
    trees: tuple[ContextTreeColumns, ...]
    heat: HeatMap | None  # from kernel events
    memory: MemoryOverTime | None = None  # of recordings of memory


@dataclass(frozen=True)
class CauseRung:
    """What a thread on the causal path did, and for how long."""

    lane: int  # number in `lanes`
    start_s: float  # since the recording began
    seconds: float
    did: str
    stack: tuple[str, ...]  # innermost first
    link: ShownLink | None  # to the next


@dataclass(frozen=True)
class CauseStory:
    """A stall, from the thread that stalled to the one that should have acted."""

    rank: int  # of the suspect
    normal_s: float  # how long such a wait or turn lasts at most
    usual: str  # that in words
    lanes: tuple[str, ...]  # threads, the stalled one first; several that wait alike are one
    rungs: tuple[CauseRung, ...]


@dataclass(frozen=True)
class CausesSection:
    stories: tuple[CauseStory, ...]


@dataclass(frozen=True)
class RelationRow:
    rank: int  # of the suspect
    decision: str
    sentence: str
    good: Distribution | None
    bad: Distribution | None
    nodes: tuple[RelationNode, ...]
    edges: tuple[RelationEdge, ...]


@dataclass(frozen=True)
class RelationsSection:
    graphs: tuple[RelationRow, ...]


@dataclass(frozen=True)
class RecordingRow:
    good: bool | None  # None where nothing is compared
    name: str
    path: str
    command: str
    started: int  # milliseconds since 1970
    host: str
    kernel: str
    cpus: int
    whyperf: str
    sampling: str
    wall_s: float
    window_s: float
    user_s: float
    system_s: float
    cpu_wait_s: float
    memory_bytes: int
    read_bytes: int
    written_bytes: int
    work: float
    unit: str
    samples: int
    threads: int
    processes: int
    ended: str
    overhead_s: float  # inside the program
    recorder_s: float  # CPU time beside it
    lost: tuple[str, ...]


@dataclass(frozen=True)
class RecordingsSection:
    rows: tuple[RecordingRow, ...]


@dataclass(frozen=True)
class PageModel:
    format: int
    title: str
    whyperf: str
    verdict: VerdictSection | None
    values: ValuesSection | None
    contexts: ContextsSection | None
    causes: CausesSection | None
    relations: RelationsSection | None
    recordings: RecordingsSection
