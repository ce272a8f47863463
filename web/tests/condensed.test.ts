import assert from "node:assert/strict";
import { test } from "node:test";
import { condensed } from "../src/condensed.ts";
import type { Relation, RelationEdge, RelationNode } from "../src/model.ts";

const node = (name: string, kind: string): RelationNode => ({
  name,
  kind,
  function: "",
  file: "",
  line: 0,
  good: 1,
  bad: 1,
});
const edge = (start: number, end: number, good = 1, bad = 1, changed = false): RelationEdge => ({
  start,
  end,
  kind: "contains",
  good,
  bad,
  changed,
});
const graph = (nodes: RelationNode[], edges: RelationEdge[]): Relation => ({
  rank: 1,
  decision: "",
  sentence: "",
  good: null,
  bad: null,
  nodes,
  edges,
});

test("branches that are passed once are left out, and what is around them is joined", () => {
  const nodes = [node("main", "call"), node("main", "branch"), node("main", "branch"), node("find", "call")];
  const found = condensed(graph(nodes, [edge(0, 1), edge(1, 2), edge(2, 3, 5, 50, true)]));
  assert.deepEqual(
    found.nodes.map((one) => one.name),
    ["main", "find"],
  );
  assert.deepEqual(found.edges, [edge(0, 1, 5, 50, true)]);
});

test("what changed, what repeats and what values lead to stays", () => {
  const nodes = [node("main", "call"), node("main", "iteration"), node("main", "branch"), node("set", "line")];
  const edges = [edge(0, 1, 1, 9), edge(1, 2, 1, 1, true), { ...edge(3, 2, 0, 1, true), kind: "value" as const }];
  const found = condensed(graph(nodes, edges));
  assert.deepEqual(found.nodes, nodes);
  assert.deepEqual(found.edges, edges);
});
