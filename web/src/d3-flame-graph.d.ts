declare module "d3-flame-graph" {
  import type { Selection } from "d3-selection";

  export interface Frame<Data> {
    id: number;
    data: Data;
    depth: number;
    parent: Frame<Data> | null;
    children?: Frame<Data>[];
    x0: number;
    x1: number;
    highlight?: boolean;
  }

  export interface FlameGraph<Data> {
    (selection: Selection<HTMLDivElement, Data, null, undefined>): void;
    width(pixels: number): this;
    cellHeight(pixels: number): this;
    minFrameSize(pixels: number): this;
    inverted(rootOnTop: boolean): this;
    transitionDuration(milliseconds: number): this;
    sort(order: (a: Frame<Data>, b: Frame<Data>) => number): this;
    setColorMapper(mapper: (frame: Frame<Data>, original: string) => string): this;
    setLabelHandler(label: (frame: Frame<Data>) => string): this;
    setSearchMatch(match: (frame: Frame<Data>, term: string) => boolean): this;
    setSearchHandler(handler: (found: Frame<Data>[], sum: number, total: number) => void): this;
    onHover(handler: (frame: Frame<Data>) => void): this;
    onClick(handler: (frame: Frame<Data>) => void): this;
    search(term: string): void;
    clear(): void;
    zoomTo(frame: Frame<Data>): void;
    resetZoom(): void;
    update(): void;
    destroy(): void;
  }

  export default function flamegraph<Data>(): FlameGraph<Data>;
}
