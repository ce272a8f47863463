import type { Contexts, ContextTree, FrameFunction } from "./model";

/** A frame of a flame graph. Seconds are with everything that it calls (or, inverted, that calls it). */
export interface Context {
  name: string;
  function: number;
  layer: string;
  module: string;
  good: number;
  bad: number;
  value: number; // by which its width goes
  children: Context[];
}

export type Side = "good" | "bad";

const TOO_SMALL: FrameFunction = { name: "…", module: "", layer: "unknown" };

function context(contexts: Contexts, number: number): Context {
  const { name, layer, module } = contexts.functions[number] ?? TOO_SMALL;
  return { name, function: number, layer, module, good: 0, bad: 0, value: 0, children: [] };
}

function root(children: Context[], name: string): Context {
  const sum = (side: Side) => children.reduce((total, child) => total + child[side], 0);
  const [good, bad] = [sum("good"), sum("bad")];
  return { name, function: -2, layer: "root", module: "", good, bad, value: 0, children };
}

const LIBRARIES = new Set(["libc", "system-library", "kernel", "unknown"]);

/**
 * The tree without frames that only pass calls on: library code called by library code or by nobody, without time of
 * its own, that calls one function. What the program itself calls stays, and so does everything with time in it.
 */
export function withoutPlumbing(contexts: Contexts, tree: ContextTree): ContextTree {
  const isLibrary = (node: number) =>
    LIBRARIES.has(contexts.functions[tree.function[node] ?? -1]?.layer ?? TOO_SMALL.layer);
  const callees = new Array<number>(tree.function.length).fill(0);
  for (const caller of tree.parent) if (caller >= 0) callees[caller] = (callees[caller] ?? 0) + 1;
  const kept = tree.function.map((number, at) => {
    const caller = tree.parent[at] ?? -1;
    const passes = number >= 0 && callees[at] === 1 && tree.good[at] === 0 && tree.bad[at] === 0;
    return !(passes && isLibrary(at) && (caller < 0 || isLibrary(caller)));
  });
  const nearest: number[] = []; // by frame, itself or the caller that stands for it, as it is numbered now
  let next = 0;
  kept.forEach((is, at) => {
    const above = nearest[tree.parent[at] ?? -1] ?? -1;
    nearest.push(is ? next++ : above);
  });
  const left = <Value>(values: Value[]) => values.filter((_, at) => kept[at]);
  return {
    ...tree,
    parent: left(tree.parent.map((caller) => nearest[caller] ?? -1)),
    function: left(tree.function),
    good: left(tree.good),
    bad: left(tree.bad),
  };
}

/** By how much time changed in the frame that it changed most in: what full colour stands for. */
export function largestChange(tree: Context): number {
  const own = tree.layer === "root" ? 0 : Math.abs(tree.bad - tree.good);
  return tree.children.reduce((most, child) => Math.max(most, largestChange(child)), own);
}

/** Callers above what they call. */
export function callersFirst(contexts: Contexts, tree: ContextTree): Context {
  const frames = tree.function.map((number) => context(contexts, number));
  const outermost: Context[] = [];
  for (let at = frames.length - 1; at >= 0; at--) {
    const frame = frames[at] as Context;
    frame.good += tree.good[at] ?? 0;
    frame.bad += tree.bad[at] ?? 0;
    const caller = frames[tree.parent[at] ?? -1];
    if (caller) {
      caller.good += frame.good;
      caller.bad += frame.bad;
      caller.children.push(frame);
    } else outermost.push(frame);
  }
  return root(outermost, "all");
}

/** Functions in which time is spent, above those that call them. */
export function calleesFirst(contexts: Contexts, tree: ContextTree): Context {
  const all = root([], "all");
  const known = new Map<Context, Map<number, Context>>();
  const below = (frame: Context, number: number): Context => {
    const children = known.get(frame) ?? new Map<number, Context>();
    known.set(frame, children);
    let child = children.get(number);
    if (!child) {
      child = context(contexts, number);
      children.set(number, child);
      frame.children.push(child);
    }
    return child;
  };
  tree.function.forEach((_, at) => {
    const [good, bad] = [tree.good[at] ?? 0, tree.bad[at] ?? 0];
    if (good === 0 && bad === 0) return;
    let frame = all;
    for (let node = at; node >= 0; node = tree.parent[node] ?? -1) {
      frame.good += good;
      frame.bad += bad;
      frame = below(frame, tree.function[node] ?? -1);
    }
    frame.good += good;
    frame.bad += bad;
  });
  return all;
}

/** The same tree with widths by one kind of runs. */
export function widthsBy(tree: Context, side: Side): Context {
  return { ...tree, value: tree[side], children: tree.children.map((child) => widthsBy(child, side)) };
}

export interface OwnTime {
  function: number;
  good: number;
  bad: number;
}

/** Functions by how much their own time changed, the most first. */
export function ownTimes(tree: ContextTree): OwnTime[] {
  const times = new Map<number, OwnTime>();
  tree.function.forEach((number, at) => {
    const own = times.get(number) ?? { function: number, good: 0, bad: 0 };
    own.good += tree.good[at] ?? 0;
    own.bad += tree.bad[at] ?? 0;
    times.set(number, own);
  });
  const change = (one: OwnTime) => Math.abs(one.bad - one.good);
  return [...times.values()]
    .filter((one) => one.function >= 0 && (change(one) > 0 || one.bad > 0))
    .sort((a, b) => change(b) - change(a));
}
