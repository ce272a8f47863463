import { useCallback, useMemo, useState } from "preact/hooks";
import { Choice } from "./choice";
import { type Colouring, FlameGraph, matches } from "./flamegraph";
import { useHash } from "./hash";
import { Heat } from "./heat";
import type { Contexts, ContextTree } from "./model";
import { type Context, calleesFirst, callersFirst, ownTimes, type Side, widthsBy } from "./tree";
import { percent, plural, seconds, signed } from "./words";

const LAYERS: Record<string, string> = {
  program: "the program",
  library: "its libraries",
  "plug-in": "plug-ins",
  "system-library": "system libraries and headers",
  libc: "C library",
  kernel: "kernel",
  unknown: "unknown or too small to show",
};
const CLOCKS = { cpu: "on the CPU", blocked: "waiting" };
const SHOWN = 12;
const NOTICEABLE = 0.02;

export function ContextsSection({ contexts }: { contexts: Contexts }) {
  return (
    <section id="contexts" aria-labelledby="contexts-title">
      <h2 id="contexts-title">Contexts</h2>
      {contexts.trees.length > 0 && <Flames contexts={contexts} />}
      {contexts.heat && <Heat heat={contexts.heat} />}
    </section>
  );
}

function Flames({ contexts }: { contexts: Contexts }) {
  const [clock, setClock] = useState(contexts.trees[0]?.clock ?? "cpu");
  const [order, setOrder] = useState<"callers" | "callees">("callers");
  const [side, setSide] = useState<Side>("bad");
  const [colouring, setColouring] = useState<Colouring>(contexts.compared ? "change" : "layer");
  const [search, setSearch] = useState("");
  const [looked, setLooked] = useState<Context | null>(null);
  const look = useCallback((one: Context) => setLooked(one.layer === "root" ? null : one), []);
  const hash = useHash();
  const focus = hash.startsWith("frame-") ? Number(hash.slice("frame-".length)) : null;
  const tree = contexts.trees.find((one) => one.clock === clock) as ContextTree;
  const whole = useMemo(
    () => (order === "callers" ? callersFirst(contexts, tree) : calleesFirst(contexts, tree)),
    [contexts, tree, order],
  );
  const flames = useMemo(() => widthsBy(whole, side), [whole, side]);
  const describe = useCallback((one: Context) => description(one, whole, contexts), [whole, contexts]);
  const layers = [...new Set(contexts.functions.map((one) => one.layer))].filter((layer) => layer in LAYERS);
  return (
    <>
      <p class="lead">
        Where the time went, by calling context, per {contexts.unit}. Every box is a function called by the one above
        it, as wide as the time spent there
        {colouring === "change"
          ? "; the redder, the more of it the bad runs added, the bluer, the less they need."
          : ", in the colour of whose code it is."}
      </p>
      <div class="tools">
        {contexts.trees.length > 1 && (
          <Choice label="Time" value={clock} onChange={setClock} options={{ cpu: "on the CPU", blocked: "waiting" }} />
        )}
        <Choice
          label="Order"
          value={order}
          onChange={setOrder}
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
        <label class="search">
          <span>Find</span>
          <input
            type="search"
            value={search}
            placeholder="function or module"
            onInput={(event) => setSearch(event.currentTarget.value)}
          />
        </label>
        {focus !== null && (
          <a class="button" href="#contexts">
            whole graph
          </a>
        )}
      </div>
      <p class="looked" aria-live="polite">
        {looked && !search ? <Looked context={looked} describe={describe} /> : found(flames, search, contexts)}
      </p>
      <FlameGraph tree={flames} colouring={colouring} search={search} focus={focus} describe={describe} onLook={look} />
      <Legend colouring={colouring} layers={layers} />
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

function description(one: Context, whole: Context, contexts: Contexts): string {
  const where = one.module ? ` in ${one.module}` : "";
  if (!contexts.compared) return `${one.name}${where}: ${seconds(one.bad)}, ${percent(one.bad / (whole.bad || 1))}`;
  const change = signed(one.bad - one.good);
  return `${one.name}${where}: ${seconds(one.good)} → ${seconds(one.bad)} per ${contexts.unit} (${change})`;
}

function found(tree: Context, search: string, contexts: Contexts): string {
  if (!search) return "Click a box to zoom in. By keyboard: arrows, Enter, Escape.";
  let total = 0;
  const look = (one: Context) => {
    if (one.layer !== "root" && matches(one, search)) total += one.value;
    else one.children.forEach(look);
  };
  look(tree);
  const share = percent(total / (tree.value || 1));
  return total > 0 ? `“${search}”: ${seconds(total)} per ${contexts.unit}, ${share}.` : `“${search}” is nowhere.`;
}

function Legend({ colouring, layers }: { colouring: Colouring; layers: string[] }) {
  if (colouring === "change") {
    return (
      <p class="legend">
        <span class="ramp" aria-hidden="true" />
        less time in the bad runs, the same, more
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
  const most = Math.max(...all.map((row) => Math.abs(row.bad - row.good)));
  // Beside a large change, changes by a sample or two say nothing.
  const rows = all.filter((row) => Math.abs(row.bad - row.good) >= NOTICEABLE * most).slice(0, SHOWN);
  return (
    <table class="numbers">
      <caption>
        {contexts.compared ? "Functions whose own time changed most" : "Functions with the most time of their own"},{" "}
        {CLOCKS[tree.clock]}, per {contexts.unit}
      </caption>
      <thead>
        <tr>
          <th scope="col">function</th>
          {contexts.compared && <th scope="col">good</th>}
          <th scope="col">{contexts.compared ? "bad" : "time"}</th>
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
              {contexts.compared && <td>{seconds(row.good)}</td>}
              <td>{seconds(row.bad)}</td>
              {contexts.compared && (
                <>
                  <td class={change > 0 ? "more" : "less"}>{signed(change)}</td>
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
