import { useEffect, useState } from "preact/hooks";
import { CausesSection } from "./causes";
import { ContextsSection } from "./contexts";
import { reveal, useHash } from "./hash";
import type { PageModel } from "./model";
import { openForPrint } from "./print";
import { RecordingsSection } from "./recordings";
import { RelationsSection } from "./relations";
import { ThemeButton } from "./theme";
import { ValuesSection } from "./values";
import { VerdictSection } from "./verdict";

export function Page({ model }: { model: PageModel }) {
  const { verdict, values, contexts, causes, relations, recordings } = model;
  const hash = useHash();
  useEffect(() => reveal(hash), [hash]);
  useEffect(openForPrint, []);
  const reading = useReading();
  const sections = [
    verdict && (["verdict", "Verdict"] as const),
    causes && (["causes", "Causes"] as const),
    values && (["values", "Values"] as const),
    contexts && (["contexts", "Contexts"] as const),
    relations && (["relations", "Relations"] as const),
    ["recordings", "Recordings"] as const,
  ].filter((section) => section !== null);
  return (
    <>
      <nav aria-label="Sections">
        <span class="wordmark">whyperf</span>
        <ul>
          {sections.map(([id, name]) => (
            <li key={id}>
              <a href={`#${id}`} aria-current={id === reading ? "true" : undefined}>
                {name}
              </a>
            </li>
          ))}
        </ul>
        <ThemeButton />
      </nav>
      <main>
        {verdict ? <VerdictSection model={model} verdict={verdict} /> : <h1>What was recorded of {model.title}</h1>}
        {/* Where there is a stall, who waited for whom is what the verdict rests on. */}
        {causes && <CausesSection causes={causes} />}
        {values && <ValuesSection values={values} />}
        {contexts && <ContextsSection contexts={contexts} />}
        {relations && <RelationsSection relations={relations} />}
        <RecordingsSection rows={recordings.rows} />
        <footer>
          Made by whyperf {model.whyperf}. This page holds names, paths, source lines and values of the recorded
          program.
        </footer>
      </main>
    </>
  );
}

/** The section that is being read. */
function useReading(): string {
  const [reading, setReading] = useState("");
  useEffect(() => {
    const observer = new IntersectionObserver(
      (entries) => {
        for (const entry of entries) if (entry.isIntersecting) setReading(entry.target.id);
      },
      { rootMargin: "-20% 0px -75% 0px" },
    );
    for (const section of document.querySelectorAll("main > section")) observer.observe(section);
    return () => observer.disconnect();
  }, []);
  return reading;
}
