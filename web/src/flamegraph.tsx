import flamegraph, { type FlameGraph as Chart, type Frame } from "d3-flame-graph";
import { select } from "d3-selection";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Context, largestChange } from "./tree";

export type Colouring = "change" | "layer";

interface Props {
  tree: Context; // with widths
  colouring: Colouring;
  search: string;
  focus: number | null; // function to zoom to
  resets: number; // grows when the whole is asked for
  label: string;
  describe: (context: Context) => string;
  onLook: (context: Context) => void;
  onView: (context: Context | null) => void; // what it is zoomed to; null: the whole
}

type Drawn = { chart: Chart<Context>; root: Frame<Context> };

/** The flame graph, reachable by keyboard: arrows walk from frame to frame, Enter zooms, Escape zooms out. */
export function FlameGraph({ tree, colouring, search, focus, resets, label, describe, onLook, onView }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const drawn = useRef<Drawn | null>(null);
  const zoomed = useRef(false);
  const [width, setWidth] = useState(0);
  const [at, setAt] = useState<Frame<Context> | null>(null);

  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setWidth(Math.floor(element.clientWidth)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    if (!box.current || width === 0) return;
    drawn.current = draw(box.current, width, tree, colouring, describe, onLook, onView);
    setAt(null);
    onView(null);
    return () => {
      drawn.current?.chart.destroy();
      drawn.current = null;
    };
  }, [tree, width, colouring, describe, onLook, onView]);

  useEffect(() => {
    if (!drawn.current) return;
    const found = focus === null ? null : heaviest(drawn.current.root, focus);
    if (found) {
      zoomTo(drawn.current, found);
      onLook(found.data);
    } else if (zoomed.current) drawn.current.chart.resetZoom();
    zoomed.current = found !== null;
  }, [focus, tree, width, colouring, onLook]);

  useEffect(() => {
    if (resets > 0) drawn.current?.chart.resetZoom();
  }, [resets]);

  useEffect(() => {
    if (search) drawn.current?.chart.search(search);
    else drawn.current?.chart.clear();
  }, [search, tree, width, colouring]);

  useEffect(() => {
    const frames = select(box.current).selectAll<SVGGElement, Frame<Context>>("g.frame");
    frames.classed("current", (frame) => frame === at);
    if (at) onLook(at.data);
  }, [at, onLook]);

  const walk = (event: KeyboardEvent) => {
    if (!drawn.current) return;
    const here = at ?? drawn.current.root;
    if (event.key === "Enter") zoomTo(drawn.current, here);
    else if (event.key === "Escape") drawn.current.chart.resetZoom();
    else {
      const next = neighbour(here, event.key);
      if (!next) return;
      setAt(next);
    }
    event.preventDefault();
  };
  return (
    <div
      class="flames"
      ref={box}
      role="application"
      aria-label={`${label} Arrow keys walk through it, Enter zooms in, Escape zooms out.`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: keys walk through it
      tabIndex={0}
      onKeyDown={walk}
    />
  );
}

function draw(
  element: HTMLDivElement,
  width: number,
  tree: Context,
  colouring: Colouring,
  describe: (context: Context) => string,
  onLook: (context: Context) => void,
  onView: (context: Context | null) => void,
): Drawn {
  const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  unzoom(tree);
  let most = largestChange(tree);
  const chart = flamegraph<Context>()
    .width(width)
    .cellHeight(20)
    .minFrameSize(1)
    .inverted(true)
    .transitionDuration(still ? 0 : 250)
    .sort((a, b) => b.data.value - a.data.value)
    .setColorMapper((frame) => (frame.highlight ? "var(--found)" : colour(frame.data, colouring, most)))
    .setLabelHandler((frame) => describe(frame.data))
    .setSearchMatch((frame, term) => matches(frame.data, term))
    .setSearchHandler(() => {})
    .onHover((frame) => onLook(frame.data))
    // The library tells so of every zoom, also of those by keyboard and back to the whole.
    .onClick((frame) => {
      onLook(frame.data);
      onView(frame.parent ? frame.data : null);
      const before = most;
      most = largestChange(frame.data);
      if (most !== before) chart.update();
    });
  const selection = select(element).datum(tree);
  chart(selection);
  // So that it can shrink to the width of a sheet of paper.
  const svg = selection.select("svg");
  svg.attr("viewBox", `0 0 ${width} ${svg.attr("height")}`);
  // At once, where the library fades them in: a page that is being printed does not wait.
  const frames = selection.selectAll<SVGGElement, Frame<Context>>("g.frame");
  frames.select("rect").attr("width", (frame) => (frame.x1 - frame.x0) * width);
  frames.select("div").text((frame) => frame.data.name);
  return { chart, root: selection.datum() as unknown as Frame<Context> };
}

/** From wherever it is zoomed to: by itself the library shows nothing of a branch that an earlier zoom hid. */
function zoomTo({ chart, root }: Drawn, frame: Frame<Context>): void {
  unzoom(root.data);
  chart.zoomTo(frame);
}

/** The library keeps in the data what it hides while it is zoomed in. */
function unzoom(tree: Context & { fade?: boolean; hide?: boolean }): void {
  tree.fade = false;
  tree.hide = false;
  tree.children.forEach(unzoom);
}

export function matches(context: Context, term: string): boolean {
  return `${context.name} ${context.module}`.toLowerCase().includes(term.toLowerCase());
}

/** Colours are those of the style sheet, so that they follow its theme. */
function colour(context: Context, colouring: Colouring, most: number): string {
  if (context.layer === "root") return "var(--frame)";
  if (colouring === "layer") return `var(--layer-${context.layer})`;
  const change = context.bad - context.good;
  const strength = most > 0 ? Math.round(100 * Math.min(1, Math.abs(change) / most) ** 0.6) : 0;
  return `color-mix(in oklab, var(--${change > 0 ? "more" : "less"}) ${strength}%, var(--frame))`;
}

function heaviest(root: Frame<Context>, wanted: number): Frame<Context> | null {
  let found: Frame<Context> | null = null;
  const look = (frame: Frame<Context>) => {
    if (frame.data.function === wanted) {
      if (!found || frame.data.value > found.data.value) found = frame;
    } else frame.children?.forEach(look);
  };
  look(root);
  return found;
}

function neighbour(frame: Frame<Context>, key: string): Frame<Context> | null {
  if (key === "ArrowUp") return frame.parent;
  if (key === "ArrowDown") return frame.children?.find((child) => child.data.value > 0) ?? null;
  const among = frame.parent?.children?.filter((one) => one.data.value > 0) ?? [];
  const step = key === "ArrowRight" ? 1 : key === "ArrowLeft" ? -1 : 0;
  return step === 0 ? null : (among[among.indexOf(frame) + step] ?? null);
}
