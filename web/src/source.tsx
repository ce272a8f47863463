import type { ElementContent, RootContent } from "hast";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import go from "highlight.js/lib/languages/go";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import { createLowlight } from "lowlight";
import type { ComponentChild } from "preact";
import { Copy } from "./copy";
import { editorLink, fileLink } from "./links";
import type { Excerpt, SourceLine } from "./model";
import { fileName, percent } from "./words";

const lowlight = createLowlight({ c, cpp, go, python, rust });
const LANGUAGES: Record<string, string> = { c: "c", go: "go", py: "python", rs: "rust" };
const HOT = 0.005;

interface Token {
  text: string;
  style: string;
}

/** An excerpt with the weight of each line beside it. `what` says of what the shares are; `of` tells excerpts of the same lines apart. */
export function Source({ excerpt, what, of = "" }: { excerpt: Excerpt; what: string; of?: string }) {
  const language = languageOf(excerpt.file);
  const indent = Math.min(...excerpt.lines.filter((line) => line.text.trim()).map((line) => indentation(line.text)));
  const width = String(excerpt.lines.at(-1)?.number ?? 0).length;
  const spoken = `${excerpt.file}, lines ${excerpt.lines[0]?.number} to ${excerpt.lines.at(-1)?.number}: ${what}${of && ` of ${of}`}`;
  return (
    <figure class="source">
      <figcaption>
        <span class="path">
          <File path={excerpt.file} /> <Copy text={excerpt.file} what={`the path of ${fileName(excerpt.file)}`} />
        </span>
        <span class="what">{what}</span>
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
      <section class="code" tabIndex={0} aria-label={spoken}>
        {pieces(excerpt.lines).map((lines) => (
          <Piece
            key={lines[0]?.number}
            file={excerpt.file}
            lines={lines}
            language={language}
            indent={indent}
            width={width}
          />
        ))}
      </section>
    </figure>
  );
}

function File({ path }: { path: string }): ComponentChild {
  const link = fileLink(path, window.location.protocol);
  return link ? <a href={link}>{path}</a> : path;
}

interface Lines {
  file: string;
  lines: SourceLine[];
  language: string;
  indent: number;
  width: number;
}

function Piece({ file, lines, ...shape }: Lines) {
  const text = lines.map((line) => line.text.slice(Math.min(shape.indent, indentation(line.text)))).join("\n");
  const tokens = highlighted(text, shape.language);
  return (
    <pre>
      {lines.map((line, at) => (
        <div key={line.number} class={line.share >= HOT ? "line hot" : "line"} style={{ "--share": line.share }}>
          <span class="number">
            <Numbered file={file} line={line} width={shape.width} />
          </span>
          <code>
            {tokens[at]?.map((token, n) => (
              <span key={n} class={token.style}>
                {token.text}
              </span>
            ))}
          </code>
          {line.share >= HOT && <span class="share">{percent(line.share)}</span>}
          {line.decides && line.share < HOT && <span class="decides">decides</span>}
        </div>
      ))}
    </pre>
  );
}

/** The numbers of lines that matter open the editor. */
function Numbered({ file, line, width }: { file: string; line: SourceLine; width: number }): ComponentChild {
  const link = line.share >= HOT || line.decides ? editorLink(file, line.number) : null;
  const shown = String(line.number).padStart(width);
  return link ? <a href={link}>{shown}</a> : shown;
}

export function languageOf(file: string): string {
  return LANGUAGES[file.slice(file.lastIndexOf(".") + 1)] ?? "cpp";
}

export function indentation(text: string): number {
  return text.length - text.trimStart().length;
}

/** Runs of adjacent lines. */
function pieces(lines: SourceLine[]): SourceLine[][] {
  const found: SourceLine[][] = [];
  for (const line of lines) {
    const last = found.at(-1);
    if (last?.at(-1)?.number === line.number - 1) last.push(line);
    else found.push([line]);
  }
  return found;
}

/** Tokens line by line: text and class only, so that source can never become markup. */
export function highlighted(text: string, language: string): Token[][] {
  const lines: Token[][] = [[]];
  const walk = (nodes: (RootContent | ElementContent)[], style: string) => {
    for (const node of nodes) {
      if (node.type === "element") walk(node.children, String((node.properties.className as string[])[0] ?? style));
      else if (node.type === "text") {
        node.value.split("\n").forEach((part, at) => {
          if (at > 0) lines.push([]);
          if (part) lines.at(-1)?.push({ text: part, style });
        });
      }
    }
  };
  walk(lowlight.highlight(language, text).children, "");
  return lines;
}
