import { useCallback, useMemo, useState } from "preact/hooks";
import { OverTime } from "./charts";
import { Choice } from "./choice";
import { type Colouring, FlameGraph, matches } from "./flamegraph";
import { leave, useHash } from "./hash";
import { Heat } from "./heat";
import type { Contexts, ContextTree, MemoryOverTime } from "./model";
import {
  type Context,
  calleesFirst,
  callersFirst,
  largestChange,
  type OwnTime,
  ownTimes,
  type Side,
  widthsBy,
  withoutPlumbing,
} from "./tree";
import { bytes, percent, plural, seconds, signed } from "./words";

const LAYERS: Record<string, string> = {
  program: "the program",
  library: "its libraries",
  "plug-in": "plug-ins",
  "system-library": "system libraries and headers",
  libc: "C library",
  kernel: "kernel",
  unknown: "unknown or too small to show",
};
type Clock = ContextTree["clock"];

const CLOCKS: Record<Clock, string> = { cpu: "on the CPU", blocked: "waiting", peak: "at the peak", kept: "kept" };
const CHOICES: Record<Clock, string> = {
  cpu: "on the CPU",
  blocked: "waiting",
  peak: "memory at the peak",
  kept: "memory never freed",
};
const SHOWN = 12;
const NOTICEABLE = 0.02;
const SPOKEN = 3; // functions in the graph's name

const isMemory = (clock: Clock) => clock === "peak" || clock === "kept";

/** Amounts of a tree in words: seconds, or bytes. */
function amounts(clock: Clock) {
  if (!isMemory(clock)) return { amount: seconds, change: signed };
  return { amount: bytes, change: (value: number) => `${value < 0 ? "−" : "+"}${bytes(Math.abs(value))}` };
}

export function ContextsSection({ contexts }: { contexts: Contexts }) {
  const flames = contexts.trees.length > 0 && <Flames contexts={contexts} />;
  const heat = contexts.heat && <Heat heat={contexts.heat} />;
  // Kernel events show waiting where samples do not: then they come first.
  const isWaiting = contexts.shown === "blocked" && !contexts.trees.some((tree) => tree.clock === "blocked");
  return (
    <section id="contexts" aria-labelledby="contexts-title">
      <h2 id="contexts-title">Contexts</h2>
      {contexts.memory && <Memory memory={contexts.memory} />}
      {isWaiting && heat}
      {flames}
      {!isWaiting && heat}
    </section>
  );
}

function Memory({ memory }: { memory: MemoryOverTime }) {
  const what = memory.resident ? "Resident memory" : "Allocated memory";
  return (
    <figure>
      <figcaption>{what} over time, in bytes, a line a run</figcaption>
      <OverTime courses={memory.courses} what={`${what} over time, in bytes`} />
    </figure>
  );
}

function Flames({ contexts }: { contexts: Contexts }) {
  const [clock, setClock] = useState(
    () => (contexts.trees.find((one) => one.clock === contexts.shown) ?? contexts.trees[0])?.clock ?? "cpu",
  );
  const [plumbing, setPlumbing] = useState<"folded" | "shown">("folded");
  const [order, setOrder] = useState<"callers" | "callees">("callers");
  const [side, setSide] = useState<Side>("bad");
  const [colouring, setColouring] = useState<Colouring>(contexts.compared ? "change" : "layer");
  const [search, setSearch] = useState("");
  const [looked, setLooked] = useState<Context | null>(null);
  const [view, setView] = useState<Context | null>(null);
  const [resets, setResets] = useState(0);
  const look = useCallback((one: Context) => setLooked(one.layer === "root" ? null : one), []);
  const hash = useHash();
  const focus = hash.startsWith("frame-") ? Number(hash.slice("frame-".length)) : null;
  const tree = contexts.trees.find((one) => one.clock === clock) as ContextTree;
  const plain = useMemo(() => withoutPlumbing(contexts, tree), [contexts, tree]);
  const folded = tree.function.length - plain.function.length;
  const whole = useMemo(() => {
    const shown = plumbing === "folded" ? plain : tree;
    return order === "callers" ? callersFirst(contexts, shown) : calleesFirst(contexts, shown);
  }, [contexts, tree, plain, plumbing, order]);
  const flames = useMemo(() => widthsBy(whole, side), [whole, side]);
  const describe = useCallback((one: Context) => description(one, whole, contexts, clock), [whole, contexts, clock]);
  const reorder = (wanted: "callers" | "callees") => {
    // What it was zoomed to is another part of the graph the other way round.
    if (focus !== null) leave();
    setLooked(null);
    setOrder(wanted);
  };
  const zoomOut = () => {
    if (focus !== null) leave();
    setResets(resets + 1);
  };
  const most = largestChange(view ?? flames);
  const offered = Object.fromEntries(contexts.trees.map((one) => [one.clock, CHOICES[one.clock]])) as typeof CHOICES;
  const layers = [...new Set(contexts.functions.map((one) => one.layer))].filter((layer) => layer in LAYERS);
  return (
    <>
      <p class="lead">
        {isMemory(clock)
          ? "Who allocated the memory, by calling context, in a run. Every box is a function called by the one above it, as wide as the memory allocated there"
          : `Where the time went, by calling context, per ${contexts.unit}. Every box is a function called by the one above it, as wide as the time spent there`}
        {colouring === "layer" && ", in the colour of whose code it is."}
        {colouring === "change" &&
          (isMemory(clock)
            ? "; red where the bad runs hold more, blue where they hold less."
            : "; red where the bad runs spend more, blue where they spend less.")}
      </p>
      <div class="tools">
        {contexts.trees.length > 1 && (
          <Choice label={contexts.memory ? "Shown" : "Time"} value={clock} onChange={setClock} options={offered} />
        )}
        <Choice
          label="Order"
          value={order}
          onChange={reorder}
          options={{ callers: "callers first", callees: "inverted" }}
        />
        {contexts.compared && (
          <>
            <Choice label="Widths" value={side} onChange={setSide} options={{ bad: "bad runs", good: "good runs" }} />
            <Choice
              label="Colour"
              value={colouring}
              onChange={setColouring}
              options={{ change: "change", layer: "layer" }}
            />
          </>
        )}
        {folded > 0 && (
          <Choice
            label="Plumbing"
            value={plumbing}
            onChange={setPlumbing}
            options={{ folded: "folded", shown: "shown" }}
          />
        )}
        <label class="search">
          <span>Find</span>
          <input
            type="search"
            value={search}
            placeholder="function or module"
            onInput={(event) => setSearch(event.currentTarget.value)}
          />
        </label>
        {view && (
          <button type="button" class="copy" onClick={zoomOut}>
            whole graph
          </button>
        )}
      </div>
      <p class="looked" aria-live="polite">
        {looked && !search ? (
          <Looked context={looked} describe={describe} />
        ) : (
          found(view ?? flames, search, contexts, clock)
        )}
      </p>
      <FlameGraph
        tree={flames}
        colouring={colouring}
        search={search}
        focus={focus}
        resets={resets}
        label={inWords(contexts, tree)}
        describe={describe}
        onLook={look}
        onView={setView}
      />
      <Legend colouring={colouring} layers={layers} most={most} clock={clock} />
      {tree.left_out > 0 && (
        <p class="aside">{plural(tree.left_out, "context")} too small to be seen are summed up in their callers.</p>
      )}
      <OwnTimes contexts={contexts} tree={tree} />
    </>
  );
}

function Looked({ context, describe }: { context: Context; describe: (context: Context) => string }) {
  const text = describe(context);
  return (
    <>
      <code>{context.name}</code> {text.slice(context.name.length)}
    </>
  );
}

function description(one: Context, whole: Context, contexts: Contexts, clock: Clock): string {
  const { amount, change } = amounts(clock);
  const where = one.module ? ` in ${one.module}` : "";
  if (!contexts.compared) return `${one.name}${where}: ${amount(one.bad)}, ${percent(one.bad / (whole.bad || 1))}`;
  const each = isMemory(clock) ? "" : ` per ${contexts.unit}`;
  return `${one.name}${where}: ${amount(one.good)} → ${amount(one.bad)}${each} (${change(one.bad - one.good)})`;
}

function found(tree: Context, search: string, contexts: Contexts, clock: Clock): string {
  if (!search) return "Click a box to zoom in. By keyboard: arrows, Enter, Escape.";
  let total = 0;
  const look = (one: Context) => {
    if (one.layer !== "root" && matches(one, search)) total += one.value;
    else one.children.forEach(look);
  };
  look(tree);
  const share = percent(total / (tree.value || 1));
  const where = tree.layer === "root" ? "" : ` of ${tree.name}`;
  if (total === 0) return `“${search}” is nowhere${where && ` in${where.slice(3)}`}.`;
  const each = isMemory(clock) ? "" : ` per ${contexts.unit}`;
  return `“${search}”: ${amounts(clock).amount(total)}${each}, ${share}${where}.`;
}

/** The graph in a sentence or two, for those who cannot see it. */
function inWords(contexts: Contexts, tree: ContextTree): string {
  const { amount, change } = amounts(tree.clock);
  const sum = (values: number[]) => amount(values.reduce((total, value) => total + value, 0));
  const name = (one: OwnTime) => contexts.functions[one.function]?.name;
  const first = ownTimes(tree).slice(0, SPOKEN);
  if (!contexts.compared) {
    const parts = first.map((one) => `${name(one)} ${amount(one.bad)}`).join(", ");
    const most = isMemory(tree.clock) ? "most" : "most self time";
    return `Flame graph of ${sum(tree.bad)} ${CLOCKS[tree.clock]}; ${most}: ${parts}.`;
  }
  const changes = first.map((one) => `${name(one)} ${change(one.bad - one.good)}`).join(", ");
  const totals = `${sum(tree.good)} in the good runs, ${sum(tree.bad)} in the bad`;
  const what = isMemory(tree.clock)
    ? `memory ${CLOCKS[tree.clock]}`
    : `time ${CLOCKS[tree.clock]} per ${contexts.unit}`;
  return `Flame graph of ${what}: ${totals}; largest changes: ${changes}.`;
}

function Legend(props: { colouring: Colouring; layers: string[]; most: number; clock: Clock }) {
  const { colouring, layers, most, clock } = props;
  if (colouring === "change") {
    const { change } = amounts(clock);
    return (
      <p class="legend">
        <span>{change(-most)}</span>
        <span class="ramp" aria-hidden="true" />
        <span>{change(most)}</span>
        <span>in the bad runs: the largest change in view has the full colour</span>
      </p>
    );
  }
  return (
    <ul class="legend">
      {layers.map((layer) => (
        <li key={layer}>
          <span class="swatch" style={{ background: `var(--layer-${layer})` }} aria-hidden="true" />
          {LAYERS[layer]}
        </li>
      ))}
    </ul>
  );
}

/** The same in numbers: functions by how much the time in their own code changed. */
function OwnTimes({ contexts, tree }: { contexts: Contexts; tree: ContextTree }) {
  const all = useMemo(() => ownTimes(tree), [tree]);
  const { amount, change: inWords } = amounts(tree.clock);
  const [what, each] = isMemory(tree.clock) ? ["memory", "in a run"] : ["time", `per ${contexts.unit}`];
  const most = Math.max(...all.map((row) => Math.abs(row.bad - row.good)));
  // Beside a large change, changes by a sample or two say nothing.
  const rows = all.filter((row) => Math.abs(row.bad - row.good) >= NOTICEABLE * most).slice(0, SHOWN);
  return (
    <table class="numbers">
      <caption>
        {contexts.compared
          ? `Functions whose own ${what} changed most`
          : `Functions with the most ${what} of their own`}
        , {CLOCKS[tree.clock]}, {each}
      </caption>
      <thead>
        <tr>
          <th scope="col">function</th>
          {contexts.compared && <th scope="col">good</th>}
          <th scope="col">{contexts.compared ? "bad" : what}</th>
          {contexts.compared && (
            <th scope="col" colSpan={2}>
              change
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => {
          const change = row.bad - row.good;
          const { name, module } = contexts.functions[row.function] ?? { name: "", module: "" };
          return (
            <tr key={row.function}>
              <th scope="row">
                <a href={`#frame-${row.function}`}>
                  <code>{name}</code>
                </a>{" "}
                <small>{module}</small>
              </th>
              {contexts.compared && <td>{amount(row.good)}</td>}
              <td>{amount(row.bad)}</td>
              {contexts.compared && (
                <>
                  <td class={change > 0 ? "more" : "less"}>{inWords(change)}</td>
                  <td class="bar">
                    <span
                      class={change > 0 ? "more" : "less"}
                      style={{ width: `${(100 * Math.abs(change)) / most}%` }}
                    />
                  </td>
                </>
              )}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
