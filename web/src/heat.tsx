import { useState } from "preact/hooks";
import type { HeatContext, HeatMap, HeatStep } from "./model";
import { percent, seconds } from "./words";

const COLOURS: Record<string, string> = {
  "main binary": "program",
  "own library": "library",
  "third-party library": "system-library",
  "plug-in": "plug-in",
  libc: "libc",
  kernel: "kernel",
};
const OWN = new Set(["main binary", "own library", "plug-in"]);
const NOTICEABLE = 0.01; // of the hottest
const DECADES = 3; // between the hottest cell and the coldest that is not empty

/** Contexts by the latency that they added, a row each: the functions on the way, the hotter, the more of it is theirs. */
export function Heat({ heat }: { heat: HeatMap }) {
  const hottest = Math.max(...heat.rows.flatMap((row) => row.steps.map((step) => step.added)));
  const layers = [...new Set(heat.rows.flatMap((row) => row.steps.map((step) => step.layer)))];
  const amount = (value: number) => (heat.unit === "share" ? percent(value) : seconds(value));
  return (
    <figure class="heat">
      <figcaption>
        Contexts by added {heat.unit === "share" ? "share of the time" : `time per ${heat.unit}`}, from kernel events:
        the hotter a function, the more of it appeared there
      </figcaption>
      <ol>
        {heat.rows.map((row, at) => (
          <li key={`${at} ${row.share}`}>
            <p>
              <strong>{percent(row.share)}</strong> {amount(row.good)} → {amount(row.bad)}
            </p>
            <Steps row={row} hottest={hottest} amount={amount} />
          </li>
        ))}
      </ol>
      <ul class="legend">
        {layers.map((layer) => (
          <li key={layer}>
            <span class="swatch" style={{ background: layerColour(layer) }} aria-hidden="true" />
            {layer}
          </li>
        ))}
      </ul>
    </figure>
  );
}

interface Heated {
  row: HeatContext;
  hottest: number;
  amount: (value: number) => string;
}

/** The way to the hot function; library and kernel code that only passes calls on is folded until it is asked for. */
function Steps({ row, hottest, amount }: Heated) {
  const [all, setAll] = useState(false);
  const isFolded = (at: number) => {
    const step = row.steps[at] as HeatStep;
    const before = row.steps[at - 1];
    const passes = at !== row.hot && at < row.steps.length - 1 && step.added < NOTICEABLE * hottest;
    return passes && !OWN.has(step.layer) && (!before || !OWN.has(before.layer));
  };
  const folded = row.steps.filter((_, at) => isFolded(at)).length;
  return (
    <ol class="steps">
      {row.steps.map(
        (step, at) =>
          (all || !isFolded(at)) && (
            <Step key={`${at} ${step.function}`} step={step} hot={at === row.hot} hottest={hottest} amount={amount} />
          ),
      )}
      {folded > 0 && (
        <li class="folded">
          <button type="button" class="copy" aria-expanded={all} onClick={() => setAll(!all)}>
            {all ? "fold" : `${folded} more`}
          </button>
        </li>
      )}
    </ol>
  );
}

interface Stepped {
  step: HeatStep;
  hot: boolean;
  hottest: number;
  amount: (value: number) => string;
}

function Step({ step, hot, hottest, amount }: Stepped) {
  const heat = step.added > 0 ? Math.max(0.08, 1 + Math.log10(step.added / hottest) / DECADES) : 0;
  return (
    <li class={hot ? "hot" : ""} style={{ "--heat": heat, borderColor: layerColour(step.layer) }}>
      <code title={`${step.function} in ${step.module} (${step.layer})`}>{step.function}</code>
      {step.added > 0 && <span class="spoken"> {amount(step.added)} more</span>}
    </li>
  );
}

function layerColour(layer: string): string {
  return `var(--layer-${COLOURS[layer] ?? "unknown"})`;
}
