import * as Plot from "@observablehq/plot";
import { useMemo } from "preact/hooks";
import { Chart, COLOUR } from "./charts";
import type { CauseStory } from "./model";
import { seconds, short } from "./words";

const LETTER = 7; // width of one at most, in the lanes' names
const CULPRIT = "color-mix(in oklab, var(--bad) 45%, var(--paper))";

interface Told {
  story: CauseStory;
  number: number;
}

/** Lanes of threads, a bar what each did; what is normal in the stalled one's. */
export function Timeline({ story, number }: Told) {
  const told = useMemo(() => ({ story, number }), [story, number]);
  const spoken = story.rungs.map((rung) => `${story.lanes[rung.lane]} ${rung.did} for ${seconds(rung.seconds)}`);
  const usual = `normally ${seconds(story.normal_s)}`;
  return (
    <Chart
      data={told}
      draw={drawLanes}
      role="group"
      label={`Who waited for whom, ${usual}: ${spoken.join("; then ")}`}
    />
  );
}

function drawLanes({ story, number }: Told, width: number): Element {
  const { rungs, lanes } = story;
  const start = Math.min(...rungs.map((rung) => rung.start_s));
  const end = Math.max(...rungs.map((rung) => rung.start_s + rung.seconds));
  const bars = rungs.map((rung, at) => ({
    ...rung,
    lane: lanes[rung.lane],
    end: rung.start_s + rung.seconds,
    href: `#cause-${number}-${at}`,
    last: at === rungs.length - 1,
  }));
  const labels = [...new Map(bars.map((bar) => [bar.lane, bar])).values()]; // of several in a lane the last
  const links = bars.slice(0, -1).map((bar, at) => ({
    x: Math.min(bar.end, bars[at + 1]?.end ?? end) - ((at + 1) * (end - start)) / 60,
    from: bar.lane,
    to: bars[at + 1]?.lane,
    certain: bar.link?.certainty === "strong",
  }));
  const arrows = (certain: boolean) =>
    Plot.link(
      links.filter((link) => link.certain === certain && link.from !== link.to),
      {
        x: "x",
        y1: "from",
        y2: "to",
        stroke: "var(--ink)",
        strokeWidth: 1.5,
        strokeDasharray: certain ? undefined : "4 3",
        markerEnd: "arrow",
      },
    );
  const room = Math.min(width * 0.4, 16 + LETTER * Math.max(...lanes.map((lane) => lane.length)));
  const fits = Math.floor((room - 16) / LETTER);
  const drawn = Plot.plot({
    width,
    height: 46 * lanes.length + 36,
    marginLeft: room,
    marginRight: 20,
    marginBottom: 28,
    x: { domain: [start, end], tickFormat: (time: number) => `${short(time)} s`, ticks: width / 90, label: null },
    y: {
      domain: lanes,
      label: null,
      tickSize: 0,
      padding: 0.35,
      tickFormat: (lane: string) => (lane.length > fits ? `…${lane.slice(1 - fits)}` : lane),
    },
    marks: [
      Plot.barX(bars, {
        x1: "start_s",
        x2: "end",
        y: "lane",
        href: "href",
        fill: (bar) => (bar.last ? CULPRIT : "var(--frame)"),
      }),
      Plot.barX([bars[0]], {
        x1: "start_s",
        x2: Math.min(end, start + story.normal_s),
        y: "lane",
        fill: COLOUR.good,
        insetBottom: 19,
      }),
      Plot.text(labels, { x: "start_s", y: "lane", text: "did", textAnchor: "start", dx: 8, fill: "var(--ink)" }),
      arrows(true),
      arrows(false),
    ],
  });
  drawn.querySelectorAll("a").forEach((link, at) => {
    const bar = bars[at];
    link.setAttribute("aria-label", `${bar?.lane} ${bar?.did}, ${seconds(bar?.seconds ?? 0)}`);
  });
  return drawn;
}
