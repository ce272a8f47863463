import { graphlib, layout } from "@dagrejs/dagre";
import { useMemo } from "preact/hooks";
import { condensed } from "./condensed";
import type { Distribution, Relation, RelationEdge, RelationNode, Relations } from "./model";
import { capital, count, percent, place } from "./words";

const LETTER = 7.3; // width of one, in the graph's type
const LINE = 17;
const PAD = 12;
const QUANTILES = ["least", "¼", "½", "¾", "most"];

export function RelationsSection({ relations }: { relations: Relations }) {
  return (
    <section id="relations" aria-labelledby="relations-title">
      <h2 id="relations-title">Relations</h2>
      <p class="lead">
        How often events happen within one another, from the start of the program down to the symptom. Numbers are{" "}
        <span class="good">good</span> → <span class="bad">bad</span>; changed relations are drawn heavy. A dashed arrow
        leads from where a value was made to the decision that looked at it.
      </p>
      {relations.graphs.map((graph, number) => (
        <article key={graph.rank} class="relation" id={`relation-${number}`}>
          <h3>
            <a href={`#suspect-${graph.rank}`}>Suspect {graph.rank}</a> <code>{graph.decision}</code>
          </h3>
          {graph.sentence && <p>{capital(graph.sentence)}.</p>}
          {graph.good && graph.bad && <HowMany good={graph.good} bad={graph.bad} />}
          {graph.nodes.length > 0 && <Drawn graph={condensed(graph)} />}
        </article>
      ))}
    </section>
  );
}

function HowMany({ good, bad }: { good: Distribution; bad: Distribution }) {
  return (
    <table class="numbers several">
      <thead>
        <tr>
          <th scope="col">how many each time</th>
          <th scope="col">times</th>
          <th scope="col">mean</th>
          {QUANTILES.map((name) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {[["good", good] as const, ["bad", bad] as const].map(([side, one]) => (
          <tr key={side} class={side}>
            <th scope="row">{side} runs</th>
            <td data-name="times">{count(one.instances)}</td>
            <td data-name="mean">{count(one.mean)}</td>
            {one.quantiles.map((value, at) => (
              <td key={at} data-name={QUANTILES[at]}>
                {count(value)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface Placed {
  width: number;
  height: number;
  nodes: (RelationNode & { x: number; y: number; width: number; height: number; lines: string[] })[];
  edges: (RelationEdge & { path: string; x: number; y: number; label: string })[];
}

function Drawn({ graph }: { graph: Relation }) {
  const placed = useMemo(() => arrange(graph), [graph]);
  const spoken = graph.edges.filter((edge) => edge.changed).map((edge) => inWords(graph, edge));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it
    <section class="graph" tabIndex={0} aria-label={`Relations of suspect ${graph.rank} as a graph`}>
      <svg
        width={placed.width}
        height={placed.height}
        viewBox={`0 0 ${placed.width} ${placed.height}`}
        role="img"
        aria-label={spoken.join("; ") || "No relation on this way changed"}
      >
        <defs>
          {["same", "changed"].map((kind) => (
            <marker
              key={kind}
              id={`arrow-${kind}-${graph.rank}`}
              class={kind}
              viewBox="0 0 8 8"
              refX="7"
              refY="4"
              markerWidth="8"
              markerHeight="8"
              markerUnits="userSpaceOnUse"
              orient="auto-start-reverse"
            >
              <path d="M0 0L8 4L0 8z" />
            </marker>
          ))}
        </defs>
        {placed.edges.map((edge) => (
          <g key={`${edge.start}-${edge.end}`} class={`edge ${edge.kind} ${edge.changed ? "changed" : "same"}`}>
            <path d={edge.path} marker-end={`url(#arrow-${edge.changed ? "changed" : "same"}-${graph.rank})`} />
            <text x={edge.x} y={edge.y}>
              {edge.label}
            </text>
          </g>
        ))}
        {placed.nodes.map((node, at) => (
          <g
            key={at}
            class={`node ${node.kind}`}
            transform={`translate(${node.x - node.width / 2},${node.y - node.height / 2})`}
          >
            <rect width={node.width} height={node.height} rx="3" />
            {node.lines.map((line, row) => (
              <text key={line} class={row === 0 ? "name" : ""} x={PAD} y={PAD + 11 + row * LINE}>
                {line}
              </text>
            ))}
          </g>
        ))}
      </svg>
    </section>
  );
}

function arrange(graph: Relation): Placed {
  const drawn = new graphlib.Graph({ multigraph: false });
  drawn.setGraph({ rankdir: "TB", nodesep: 40, ranksep: 34, marginx: 8, marginy: 8 });
  drawn.setDefaultEdgeLabel(() => ({}));
  const nodes = graph.nodes.map((node) => {
    const lines = nodeLines(node);
    const width = 2 * PAD + LETTER * Math.max(...lines.map((line) => line.length));
    return { ...node, lines, width, height: 2 * PAD + LINE * lines.length - 4, x: 0, y: 0 };
  });
  nodes.forEach((node, at) => {
    drawn.setNode(String(at), { width: node.width, height: node.height });
  });
  const symptom = graph.nodes.findIndex((node) => node.kind === "symptom");
  const edges = graph.edges.map((edge) => ({ ...edge, label: edgeLabel(edge, symptom), path: "", x: 0, y: 0 }));
  for (const edge of edges) {
    const size = { width: LETTER * edge.label.length + 8, height: LINE, labelpos: "r", labeloffset: 6 };
    drawn.setEdge(String(edge.start), String(edge.end), size);
  }
  layout(drawn);
  nodes.forEach((node, at) => {
    const { x, y } = drawn.node(String(at));
    Object.assign(node, { x, y });
  });
  for (const edge of edges) {
    const found = drawn.edge(String(edge.start), String(edge.end));
    const points: { x: number; y: number }[] = found.points ?? [];
    const path = points.map(({ x, y }, at) => `${at ? "L" : "M"}${x} ${y}`).join("");
    Object.assign(edge, { path, x: found.x, y: found.y });
  }
  const { width = 0, height = 0 } = drawn.graph();
  return { width, height, nodes, edges };
}

function nodeLines(node: RelationNode): string[] {
  const named = node.kind === "call" || node.kind === "symptom" || node.kind === node.name;
  const what = named ? node.name : `${node.kind} in ${node.name}`;
  const where = node.file ? [place(node.file, node.line)] : [];
  return [what, ...where, node.kind === "symptom" ? change(node) : times(node)];
}

function edgeLabel({ end, kind, good, bad }: RelationEdge, symptom: number): string {
  if (end === symptom) return ""; // the symptom itself says how much of it there is
  return kind === "value" ? `${percent(good)} → ${percent(bad)} of tests` : `${change({ good, bad })} each`;
}

function change({ good, bad }: { good: number; bad: number }): string {
  return good === bad ? count(bad) : `${count(good)} → ${count(bad)}`;
}

function times(node: RelationNode): string {
  return node.good === 1 && node.bad === 1 ? "once" : `${change(node)} times`;
}

function inWords(graph: Relation, edge: RelationEdge): string {
  return `${graph.nodes[edge.start]?.name} to ${graph.nodes[edge.end]?.name}: ${edgeLabel(edge, -1)}`;
}
