import type { Relation, RelationNode } from "./model";

/** Without branches and iterations that are passed exactly once on the way: they say nothing. */
export function condensed({ nodes, edges, ...rest }: Relation): Relation {
  const passed = (at: number) => {
    const [into, ...more] = edges.filter((edge) => edge.end === at);
    const out = edges.filter((edge) => edge.start === at);
    const plain = ["branch", "iteration", "loop"].includes(nodes[at]?.kind ?? "");
    return plain && more.length === 0 && out.length === 1 && !into?.changed && into?.good === 1 && into.bad === 1;
  };
  const kept = nodes.map((_, at) => at).filter((at) => !passed(at));
  const from = (at: number): number =>
    kept.includes(at) ? at : from(edges.find((edge) => edge.end === at)?.start ?? 0);
  const number = new Map(kept.map((at, place) => [at, place]));
  return {
    ...rest,
    nodes: kept.map((at) => nodes[at] as RelationNode),
    edges: edges
      .filter((edge) => number.has(edge.end))
      .map((edge) => ({ ...edge, start: number.get(from(edge.start)) ?? 0, end: number.get(edge.end) ?? 0 })),
  };
}
