import type { HeatMap, HeatStep } from "./model";
import { percent, seconds } from "./words";

const COLOURS: Record<string, string> = {
  "main binary": "program",
  "own library": "library",
  "third-party library": "system-library",
  "plug-in": "plug-in",
  libc: "libc",
  kernel: "kernel",
};
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
            <ol class="steps">
              {row.steps.map((step, number) => (
                <Step key={`${number} ${step.function}`} step={step} hot={number === row.hot} hottest={hottest} />
              ))}
            </ol>
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

function Step({ step, hot, hottest }: { step: HeatStep; hot: boolean; hottest: number }) {
  const heat = step.added > 0 ? Math.max(0.08, 1 + Math.log10(step.added / hottest) / DECADES) : 0;
  return (
    <li class={hot ? "hot" : ""} style={{ "--heat": heat, borderColor: layerColour(step.layer) }}>
      <code title={`${step.function} in ${step.module} (${step.layer})`}>{step.function}</code>
    </li>
  );
}

function layerColour(layer: string): string {
  return `var(--layer-${COLOURS[layer] ?? "unknown"})`;
}
