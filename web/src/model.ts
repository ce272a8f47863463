/** What the page is fed. Made from `report/html/model.py`, where the fields are explained, by `tools/page_model.py`. */

export interface RunAmounts {
  good: number[];
  bad: number[];
}

export interface TimeInside {
  function: string;
  module: string;
  share: number;
}

export interface SourceLine {
  number: number;
  text: string;
  share: number;
  decides: boolean;
}

export interface Excerpt {
  file: string;
  lines: SourceLine[];
}

export interface ChangedLine {
  build: "good" | "bad" | "both";
  line: number;
  text: string;
}

export interface SourceChange {
  hunks: ChangedLine[][];
  more: number;
}

export interface Evidence {
  engine: string;
  rank: number;
  why: string;
}

export interface Hop {
  function: string;
  module: string;
  file: string;
  line: number;
  source: string;
  what: string;
  good: string;
  bad: string;
  deep: boolean;
  differs: boolean;
}

export interface Origin {
  hops: Hop[];
  turn: number | null;
  sentence: string;
  runs: number;
}

export interface Proof {
  finding: "proven" | "supported" | "refuted" | "trigger" | "not-testable";
  sentence: string;
}

export interface Suspect {
  rank: number;
  function: string;
  module: string;
  file: string;
  line: number;
  path: string[];
  share: number;
  interval: [number, number] | null;
  confidence: string;
  pattern: string;
  why: string;
  runs: RunAmounts | null;
  inside: TimeInside[];
  excerpt: Excerpt | null;
  change: SourceChange | null;
  variables: number[];
  relation: number | null;
  cause: number | null;
  frame: number | null;
  evidence: Evidence[];
  origin: Origin | null;
  proofs: Proof[];
}

export interface Verdict {
  kind: "difference" | "none" | "more-work" | "insufficient";
  headline: string;
  sentence: string;
  symptom: string;
  measure: string;
  unit: string;
  good: number;
  bad: number;
  runs: RunAmounts;
  warnings: string[];
  suspects: Suspect[];
  disagreements: string[];
  notes: string[];
  next_command: string | null;
}

export interface VariableSpread {
  range: string;
  typical: string;
}

export interface Cells {
  edges: number[];
  labels: string[];
  good: number[];
  bad: number[];
}

export interface RunCourse {
  good: boolean;
  run: number;
  seconds: number[];
  low: number[];
  middle: number[];
  high: number[];
}

export interface Variable {
  name: string;
  type: string;
  function: string;
  module: string;
  scope: string;
  roles: string[];
  dimension: "value" | "delta" | "duration";
  decides: boolean;
  sentence: string;
  distance: number;
  p: number | null;
  good: VariableSpread;
  bad: VariableSpread;
  abnormal_share: number;
  cells: Cells;
  courses: RunCourse[];
  excerpt: Excerpt | null;
}

export interface Values {
  variables: Variable[];
  compared: number;
  abnormal: number;
}

export interface FrameFunction {
  name: string;
  module: string;
  layer: string;
}

export interface ContextTree {
  clock: "cpu" | "blocked" | "peak" | "kept";
  parent: number[];
  function: number[];
  good: number[];
  bad: number[];
  left_out: number;
}

export interface HeatStep {
  function: string;
  module: string;
  layer: string;
  added: number;
}

export interface HeatContext {
  share: number;
  good: number;
  bad: number;
  steps: HeatStep[];
  hot: number;
}

export interface HeatMap {
  unit: string;
  rows: HeatContext[];
}

export interface MemoryOverTime {
  resident: boolean;
  courses: RunCourse[];
}

export interface Contexts {
  unit: string;
  compared: boolean;
  shown: "cpu" | "blocked" | "peak" | "kept";
  functions: FrameFunction[];
  trees: ContextTree[];
  heat: HeatMap | null;
  memory: MemoryOverTime | null;
}

export interface ShownLink {
  mechanism: string;
  certainty: string;
  why: string;
}

export interface CauseRung {
  lane: number;
  start_s: number;
  seconds: number;
  did: string;
  stack: string[];
  link: ShownLink | null;
}

export interface CauseStory {
  rank: number;
  normal_s: number;
  usual: string;
  lanes: string[];
  rungs: CauseRung[];
}

export interface Causes {
  stories: CauseStory[];
}

export interface Distribution {
  instances: number;
  mean: number;
  quantiles: number[];
}

export interface RelationNode {
  name: string;
  kind: string;
  function: string;
  file: string;
  line: number;
  good: number;
  bad: number;
}

export interface RelationEdge {
  start: number;
  end: number;
  kind: "contains" | "value";
  good: number;
  bad: number;
  changed: boolean;
}

export interface Relation {
  rank: number;
  decision: string;
  sentence: string;
  good: Distribution | null;
  bad: Distribution | null;
  nodes: RelationNode[];
  edges: RelationEdge[];
}

export interface Relations {
  graphs: Relation[];
}

export interface Recording {
  good: boolean | null;
  name: string;
  path: string;
  command: string;
  started: number;
  host: string;
  kernel: string;
  cpus: number;
  whyperf: string;
  sampling: string;
  wall_s: number;
  window_s: number;
  user_s: number;
  system_s: number;
  cpu_wait_s: number;
  memory_bytes: number;
  read_bytes: number;
  written_bytes: number;
  work: number;
  unit: string;
  samples: number;
  threads: number;
  processes: number;
  ended: string;
  overhead_s: number;
  recorder_s: number;
  lost: string[];
}

export interface Recordings {
  rows: Recording[];
}

export interface PageModel {
  format: number;
  title: string;
  whyperf: string;
  verdict: Verdict | null;
  values: Values | null;
  contexts: Contexts | null;
  causes: Causes | null;
  relations: Relations | null;
  recordings: Recordings;
}
