import assert from "node:assert/strict";
import { test } from "node:test";
import type { Contexts, ContextTree } from "../src/model.ts";
import {
  type Context,
  calleesFirst,
  callersFirst,
  largestChange,
  ownTimes,
  widthsBy,
  withoutPlumbing,
} from "../src/tree.ts";

// main calls parse and find; both call compare, find much more often in the bad runs.
const names = ["main", "parse", "find", "compare"];
const functions = names.map((name) => ({ name, module: "tool", layer: "program" }));
const tree: ContextTree = {
  clock: "cpu",
  parent: [-1, 0, 0, 1, 2],
  function: [0, 1, 2, 3, 3],
  good: [1, 2, 0, 1, 1],
  bad: [1, 2, 0, 1, 9],
  left_out: 0,
};
const contexts: Contexts = {
  unit: "run",
  compared: true,
  shown: "cpu",
  functions,
  trees: [tree],
  heat: null,
  memory: null,
};

const shape = (one: Context): unknown => [one.name, one.good, one.bad, one.children.map(shape)];
const sorted = (one: Context): Context => ({
  ...one,
  children: one.children.map(sorted).sort((a, b) => a.name.localeCompare(b.name)),
});

test("callers hold what they call", () => {
  assert.deepEqual(shape(sorted(callersFirst(contexts, tree))), [
    "all",
    5,
    13,
    [
      [
        "main",
        5,
        13,
        [
          ["find", 1, 9, [["compare", 1, 9, []]]],
          ["parse", 3, 3, [["compare", 1, 1, []]]],
        ],
      ],
    ],
  ]);
});

test("inverted, the functions in which time is spent hold their callers", () => {
  const found = sorted(calleesFirst(contexts, tree));
  assert.deepEqual([found.good, found.bad], [5, 13]);
  assert.deepEqual(
    found.children.map((child) => [child.name, child.good, child.bad]),
    [
      ["compare", 2, 10],
      ["main", 1, 1],
      ["parse", 2, 2],
    ],
  );
  assert.deepEqual(shape(found.children[0] as Context), [
    "compare",
    2,
    10,
    [
      ["find", 1, 9, [["main", 1, 9, []]]],
      ["parse", 1, 1, [["main", 1, 1, []]]],
    ],
  ]);
});

test("widths are those of one kind of runs, in either order", () => {
  for (const whole of [callersFirst(contexts, tree), calleesFirst(contexts, tree)]) {
    for (const side of ["good", "bad"] as const) {
      const check = (one: Context) => {
        assert.equal(one.value, one[side]);
        assert.ok(one.children.reduce((sum, child) => sum + child.value, 0) <= one.value + 1e-9);
        one.children.forEach(check);
      };
      check(widthsBy(whole, side));
    }
  }
});

test("own times come with what changed most first, without those that have none", () => {
  assert.deepEqual(ownTimes(tree)[0], { function: 3, good: 2, bad: 10 });
  assert.deepEqual(
    ownTimes(tree)
      .map((one) => one.function)
      .sort(),
    [0, 1, 3],
  );
});

test("frames that only pass calls on are folded, what the program calls and what takes time stays", () => {
  // _start > __libc_start_main > main > usleep > nanosleep > clock_nanosleep, and main > qsort > msort > compare.
  const layers: [string, string][] = [
    ["_start", "libc"],
    ["__libc_start_main", "libc"],
    ["main", "program"],
    ["usleep", "libc"],
    ["nanosleep", "libc"],
    ["clock_nanosleep", "libc"],
    ["qsort", "libc"],
    ["msort", "libc"],
    ["compare", "program"],
  ];
  const own = [0, 0, 1, 0, 0, 5, 0, 2, 3];
  const deep: ContextTree = {
    clock: "cpu",
    parent: [-1, 0, 1, 2, 3, 4, 2, 6, 7],
    function: layers.map((_, at) => at),
    good: own,
    bad: own,
    left_out: 0,
  };
  const whole: Contexts = {
    ...contexts,
    functions: layers.map(([name, layer]) => ({ name, layer, module: "" })),
    trees: [deep],
  };
  const folded = withoutPlumbing(whole, deep);
  assert.deepEqual(
    folded.function.map((number, at) => [
      layers[number]?.[0],
      layers[folded.function[folded.parent[at] ?? -1] ?? -1]?.[0],
    ]),
    [
      ["main", undefined],
      ["usleep", "main"],
      ["clock_nanosleep", "usleep"],
      ["qsort", "main"],
      ["msort", "qsort"],
      ["compare", "msort"],
    ],
  );
  const sum = (values: number[]) => values.reduce((a, b) => a + b, 0);
  assert.equal(sum(folded.bad), sum(own));
});

test("colours scale by the largest change in view, also where totals are equal", () => {
  const moved: ContextTree = { ...tree, good: [0, 6, 0, 0, 2], bad: [0, 2, 0, 0, 6] };
  const whole = callersFirst(contexts, moved);
  assert.equal(whole.good, whole.bad);
  assert.equal(largestChange(whole), 4);
  const main = whole.children[0] as Context;
  assert.equal(largestChange({ ...main, children: [] }), 0);
});
