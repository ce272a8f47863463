import * as Plot from "@observablehq/plot";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Cells, RunAmounts, RunCourse } from "./model";
import { OPENED_FOR_PRINT } from "./print";
import { measured, percent, short } from "./words";

export const COLOUR = { good: "var(--good)", bad: "var(--bad)" };
const SIDES = ["good", "bad"] as const;
const NARROWEST = 120; // pixels; less is a box that is just being opened
const SPOKEN = 5; // values in a chart's name
const FEW = 24; // readings of a run up to which each is shown as a dot

interface Drawing<Data> {
  data: Data;
  draw: (data: Data, width: number) => Element;
  label: string;
  role?: "img" | "group"; // a group has links in it
}

/** A chart that is drawn anew when its width changes, and not otherwise as long as `data` and `draw` are the same. */
export function Chart<Data>({ data, draw, label, role = "img" }: Drawing<Data>) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    let drawn = 0;
    const drawAnew = () => {
      const width = Math.floor(element.clientWidth);
      if (width >= NARROWEST && width !== drawn) {
        drawn = width;
        element.replaceChildren(unnamed(draw(data, width)));
      }
    };
    const observer = new ResizeObserver(drawAnew);
    observer.observe(element);
    window.addEventListener(OPENED_FOR_PRINT, drawAnew);
    return () => {
      observer.disconnect();
      window.removeEventListener(OPENED_FOR_PRINT, drawAnew);
    };
  }, [data, draw]);
  // biome-ignore lint/a11y/useAriaPropsSupportedByRole: both roles have names
  return <div class="chart" ref={box} role={role} aria-label={label} />;
}

/** The library names its parts where names are not allowed; the style sheet still finds them by `data-part`. */
function unnamed(drawn: Element): Element {
  for (const part of drawn.querySelectorAll<SVGElement>("g[aria-label]")) {
    part.dataset.part = part.getAttribute("aria-label") ?? "";
    part.removeAttribute("aria-label");
  }
  return drawn;
}

/** Every run a dot, good above bad. */
export function Runs({ runs, measure }: { runs: RunAmounts; measure: string }) {
  const data = useMemo(() => ({ runs, measure }), [runs, measure]);
  const spoken = SIDES.map((side) => `${side} runs ${runs[side].map((one) => measured(measure, one)).join(", ")}`);
  return <Chart data={data} draw={strip} label={spoken.join("; ")} />;
}

function strip({ runs, measure }: { runs: RunAmounts; measure: string }, width: number): Element {
  const dots = SIDES.flatMap((side) => runs[side].map((amount, at) => ({ side, amount, run: at + 1 })));
  const format = (amount: number) => measured(measure, amount);
  return Plot.plot({
    width,
    height: 96,
    marginLeft: 44,
    marginRight: 24,
    marginBottom: 28,
    x: { domain: [0, Math.max(...dots.map((dot) => dot.amount)) * 1.04], tickFormat: format, ticks: 5, label: null },
    y: { domain: SIDES, label: null, tickSize: 0 },
    marks: [
      Plot.ruleY(SIDES, { stroke: "var(--rule)" }),
      Plot.dot(dots, { x: "amount", y: "side", fill: (dot) => COLOUR[dot.side as "good"], r: 5, fillOpacity: 0.75 }),
      Plot.tip(
        dots,
        Plot.pointer({ x: "amount", y: "side", title: (dot) => `${dot.side} run ${dot.run}: ${format(dot.amount)}` }),
      ),
    ],
  });
}

export function Distribution({ cells, what }: { cells: Cells; what: string }) {
  const draw = cells.labels.length > 0 ? named : histogram;
  const spoken = SIDES.map((side) => `${side} runs ${commonest(cells, side)}`);
  return <Chart data={cells} draw={draw} label={`${what}: ${spoken.join("; ")}`} />;
}

/** The values that were read most often, with how often. */
function commonest({ labels, edges, ...shares }: Cells, side: "good" | "bad"): string {
  const name = (at: number) => labels[at] ?? `${short(edges[at] ?? 0)} to ${short(edges[at + 1] ?? 0)}`;
  const order = shares[side].map((share, at) => ({ share, at })).sort((a, b) => b.share - a.share);
  const told = order.filter(({ share }) => share > 0).slice(0, SPOKEN);
  return told.map(({ share, at }) => `${name(at)} in ${percent(share)}`).join(", ") || "none";
}

function histogram({ edges, good, bad }: Cells, width: number): Element {
  const first = edges[0] ?? 0;
  const last = edges.at(-1) ?? 1;
  const rows = (shares: number[]) => shares.map((share, at) => ({ x1: edges[at], x2: edges[at + 1], share }));
  const side = (shares: number[], fill: string) =>
    Plot.rectY(rows(shares), { x1: "x1", x2: "x2", y: "share", fill, fillOpacity: 0.55, inset: 0 });
  return Plot.plot({
    width,
    height: 168,
    marginLeft: 40,
    marginRight: 16,
    marginBottom: 28,
    x: { type: first > 0 && last > 1000 * first ? "log" : "linear", tickFormat: short, ticks: width / 70, label: null },
    y: { tickFormat: percent, ticks: 3, grid: true, label: null },
    marks: [side(good, COLOUR.good), side(bad, COLOUR.bad), Plot.ruleY([0], { stroke: "var(--quiet)" })],
  });
}

/** Few different values: a pair of bars each. */
function named({ labels, good, bad }: Cells, width: number): Element {
  const shares = { good, bad };
  const rows = labels.flatMap((label, at) => SIDES.map((side) => ({ label, side, share: shares[side][at] ?? 0 })));
  const shown = rows.filter((row) => row.share > 0);
  return Plot.plot({
    width,
    height: Math.max(90, labels.length * 26 + 30),
    marginLeft: Math.min(width / 3, 12 + 7.4 * Math.max(...labels.map((label) => label.length))),
    marginRight: 44,
    marginTop: 4,
    marginBottom: 26,
    x: { domain: [0, 1], tickFormat: percent, ticks: 4, label: null },
    y: { axis: null, domain: SIDES, padding: 0.1 },
    fy: { domain: labels, label: null, padding: 0.3 },
    marks: [
      Plot.axisFy({ anchor: "left", label: null, textAnchor: "end", dx: -6 }),
      Plot.ruleX([0], { stroke: "var(--quiet)" }),
      Plot.barX(shown, { fy: "label", y: "side", x: "share", fill: (row) => COLOUR[row.side as "good"] }),
    ],
  });
}

export function OverTime({ courses, what = "What it held over time" }: { courses: RunCourse[]; what?: string }) {
  const spoken = courses.map((course) => {
    const [low, high] = [Math.min(...course.low), Math.max(...course.high)];
    const last = course.middle.at(-1) ?? 0;
    return `${course.good ? "good" : "bad"} run ${course.run} ${short(low)} to ${short(high)}, ${short(last)} at the end`;
  });
  return <Chart data={courses} draw={lines} label={`${what}: ${spoken.join("; ")}`} />;
}

function lines(courses: RunCourse[], width: number): Element {
  const points = courses.flatMap((course) =>
    course.seconds.map((time, at) => ({
      time,
      low: course.low[at],
      middle: course.middle[at],
      high: course.high[at],
      run: `${course.good ? "good" : "bad"} ${course.run}`,
      colour: course.good ? COLOUR.good : COLOUR.bad,
      sparse: course.seconds.length <= FEW,
    })),
  );
  return Plot.plot({
    width,
    height: 168,
    marginLeft: 48,
    marginRight: 16,
    marginBottom: 28,
    x: { tickFormat: (time: number) => `${short(time)} s`, ticks: width / 80, label: null },
    y: { tickFormat: short, ticks: 4, nice: true, grid: true, label: null },
    marks: [
      Plot.areaY(points, { x: "time", y1: "low", y2: "high", z: "run", fill: "colour", fillOpacity: 0.14 }),
      Plot.lineY(points, {
        x: "time",
        y: "middle",
        z: "run",
        stroke: "colour",
        strokeWidth: 1.25,
        strokeOpacity: 0.85,
      }),
      Plot.dot(
        points.filter((point) => point.sparse),
        { x: "time", y: "middle", fill: "colour", r: 2 },
      ),
    ],
  });
}
