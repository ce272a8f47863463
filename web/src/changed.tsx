import type { ChangedLine, SourceChange } from "./model";
import { highlighted, indentation, languageOf } from "./source";
import { plural } from "./words";

const SIGNS: Record<ChangedLine["build"], string> = { good: "-", bad: "+", both: " " };
const SPOKEN: Record<ChangedLine["build"], string> = { good: "good build only", bad: "bad build only", both: "both" };

/** What differs in a function's source between two builds; `file` tells the language. */
export function Differences({ change, file }: { change: SourceChange; file: string }) {
  const lines = change.hunks.flat();
  const indent = Math.min(...lines.map((line) => indentation(line.text)));
  const width = Math.max(...lines.map((line) => String(line.line).length));
  return (
    <figure class="source differences">
      <figcaption>
        <span>
          <span class="good">- good build only</span> <span class="bad">+ bad build only</span>
        </span>
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
      <section class="code" tabIndex={0} aria-label="What differs in its source">
        {change.hunks.map((hunk, at) => (
          <pre key={at}>
            {hunk.map((line) => (
              <div key={`${line.build} ${line.line}`} class={`line in-${line.build}`}>
                <span class="number">{String(line.line).padStart(width)}</span>
                <code>
                  <span class="sign" title={SPOKEN[line.build]}>
                    {SIGNS[line.build]}{" "}
                  </span>
                  {highlighted(line.text.slice(indent), languageOf(file))[0]?.map((token, n) => (
                    <span key={n} class={token.style}>
                      {token.text}
                    </span>
                  ))}
                </code>
              </div>
            ))}
          </pre>
        ))}
      </section>
      {change.more > 0 && <p class="more">{plural(change.more, "more line differs", "more lines differ")}</p>}
    </figure>
  );
}
