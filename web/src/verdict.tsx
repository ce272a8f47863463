import type { ComponentChildren } from "preact";
import { Differences } from "./changed";
import { Runs } from "./charts";
import { Copy } from "./copy";
import type { PageModel, Suspect, Variable, Verdict } from "./model";
import { Chain, Proofs } from "./origin";
import { Place } from "./place";
import { Prose, Quoted } from "./prose";
import { Source } from "./source";
import { capital, percent, place, plural, seconds } from "./words";

const SYMPTOMS: Record<string, string> = {
  cpu: "on the CPU",
  wait: "waiting",
  io: "waiting for input and output",
  memory: "memory",
  external: "outside of the program",
};
const PATTERNS: Record<string, string> = {
  "wrong-constraint": "a condition or a bound holds a wrong value",
  "missing-constraint": "a bound is missing",
  scalability: "the work grows with the data",
  "new-path": "the good runs never come here",
  "long-wait": "it waits",
  "long-run": "it runs long",
  leak: "memory is no longer freed",
  growth: "more memory is kept",
  waste: "memory is allocated and never used",
  churn: "memory is allocated and freed more often",
  deadlock: "threads wait for each other in a circle",
  external: "the cause is outside of the program",
};
const MEASURES: Record<string, string> = {
  cpu_s: "CPU time",
  wall_s: "Time",
  own_s: "Time without the run queue",
  latency_p50_s: "Median latency",
  latency_p99_s: "p99 latency",
  peak_bytes: "Peak memory",
  allocated_bytes: "Allocated memory",
};
const OPEN = 3; // suspects shown with their source

export function VerdictSection({ model, verdict }: { model: PageModel; verdict: Verdict }) {
  const { suspects } = verdict;
  const known = new Set(model.contexts?.functions.map((one) => one.name));
  const plumbing = libraryNames(model);
  const compared = [model.recordings.rows.filter((row) => row.good), model.recordings.rows.filter((row) => !row.good)];
  const [good, bad] = compared.map((rows) => rows.length);
  return (
    <section id="verdict" class={`verdict ${verdict.kind}`} aria-labelledby="verdict-title">
      <p class="overline">
        {model.title} <span>·</span>{" "}
        {good ? `${plural(good, "good run")} and ${plural(bad ?? 0, "bad run")}` : plural(bad ?? 0, "recording")}
        {verdict.kind === "difference" && verdict.measure.endsWith("_s") && (
          <>
            {" "}
            <span>·</span> {SYMPTOMS[verdict.symptom] ?? verdict.symptom}
          </>
        )}
      </p>
      <h1 id="verdict-title">{verdict.headline ? <Quoted text={verdict.headline} /> : verdict.sentence}</h1>
      {verdict.headline && (
        <p class="symptom">
          {verdict.sentence} <span class="aside">{capital(suspects[0]?.confidence ?? "")} confidence.</span>
        </p>
      )}
      {verdict.warnings.map((warning) => (
        <p key={warning} class="warning">
          {warning}
        </p>
      ))}
      {verdict.runs.bad.length > 0 && (
        <figure class="runs">
          <Runs runs={verdict.runs} measure={verdict.measure} />
          <figcaption>
            {MEASURES[verdict.measure] ?? verdict.measure} per {verdict.unit}, a dot a run.{" "}
            <a href="#recordings">The recordings</a>
          </figcaption>
        </figure>
      )}
      {suspects.length > 1 && <Overview suspects={suspects} />}
      {verdict.disagreements.map((sentence) => (
        <p key={sentence} class="warning">
          {sentence}
        </p>
      ))}
      {suspects.map((suspect) => (
        <SuspectArticle
          key={suspect.rank}
          suspect={suspect}
          unit={verdict.unit}
          whole={good ? "the difference" : "the stall"}
          known={known}
          plumbing={plumbing}
          variables={suspect.variables.map((number) => [number, model.values?.variables[number] as Variable])}
        />
      ))}
      <Notes verdict={verdict} />
    </section>
  );
}

function Overview({ suspects }: { suspects: Suspect[] }) {
  return (
    <ol class="overview" aria-label="Suspects">
      {suspects.map((suspect) => (
        <li key={suspect.rank}>
          <a href={`#suspect-${suspect.rank}`}>
            <span class="rank">{suspect.rank}</span>
            <code>{suspect.function}</code>
            <span class="where">{suspect.file ? place(suspect.file, suspect.line) : suspect.module}</span>
            <span class="bar">
              <span style={{ width: percent(suspect.share) }} />
            </span>
            <span class="share">{percent(suspect.share)}</span>
            <span class="confidence">{suspect.confidence}</span>
          </a>
        </li>
      ))}
    </ol>
  );
}

interface Shown {
  suspect: Suspect;
  unit: string;
  whole: string; // what shares are of
  known: Set<string>; // names of functions
  plumbing: Set<string>; // of those, libraries'
  variables: [number, Variable][];
}

function SuspectArticle({ suspect, unit, whole, known, plumbing, variables }: Shown) {
  return (
    <article class="suspect" id={`suspect-${suspect.rank}`} aria-labelledby={`suspect-${suspect.rank}-title`}>
      <header>
        <span class="rank" aria-hidden="true">
          {suspect.rank}
        </span>
        <h2 id={`suspect-${suspect.rank}-title`}>
          <code>{suspect.function}</code>
        </h2>
        <p class="where">
          {suspect.file && <Place file={suspect.file} line={suspect.line} />} in {suspect.module}
        </p>
      </header>
      <p class="why">
        <Prose
          text={suspect.why}
          variables={variables.map(([, one]) => one.name)}
          functions={[suspect.function, ...suspect.path, ...mentioned(suspect.why, known)]}
        />
      </p>
      {suspect.pattern in PATTERNS && (
        <p class="pattern">
          <strong>{suspect.pattern}</strong>: {PATTERNS[suspect.pattern]}
        </p>
      )}
      <Facts suspect={suspect} unit={unit} whole={whole} plumbing={plumbing} />
      {suspect.origin && <Chain origin={suspect.origin} />}
      {suspect.proofs.length > 0 && <Proofs proofs={suspect.proofs} />}
      {variables.length > 0 && <Changed variables={variables} />}
      {suspect.excerpt && (
        <details open={suspect.rank <= OPEN}>
          <summary>The lines</summary>
          <Source excerpt={suspect.excerpt} what="share of the added cost" of={suspect.function} />
        </details>
      )}
      {suspect.change && (
        <details open={suspect.rank <= OPEN}>
          <summary>What differs in its source</summary>
          <Differences change={suspect.change} file={suspect.file} />
        </details>
      )}
    </article>
  );
}

/** Names of library functions: what starts a program or a thread is no part of the way that a reader looks for. */
function libraryNames({ contexts }: PageModel): Set<string> {
  const functions = contexts?.functions.filter((one) => one.layer === "libc") ?? [];
  const steps = contexts?.heat?.rows.flatMap((row) => row.steps.filter((step) => step.layer === "libc")) ?? [];
  return new Set([...functions.map((one) => one.name), ...steps.map((one) => one.function)]);
}

/** Of the functions that are known, those that the sentence could speak of. */
function mentioned(why: string, known: Set<string>): string[] {
  return (why.match(/[\w:~$.+]*[\w$]/g) ?? []).filter((word) => known.has(word));
}

type FactsShown = Pick<Shown, "suspect" | "unit" | "whole" | "plumbing">;

function Facts({ suspect, unit, whole, plumbing }: FactsShown) {
  const { interval, runs, inside, evidence } = suspect;
  const path = suspect.path.slice(suspect.path.findIndex((name) => !plumbing.has(name)));
  const deciding = suspect.excerpt?.lines.find((line) => line.decides);
  return (
    <dl class="facts">
      <Fact name="share">
        <strong>{percent(suspect.share)}</strong> of {whole}
        {interval && ` (95% interval ${percent(interval[0])} to ${percent(interval[1])})`}, {suspect.confidence}{" "}
        confidence
      </Fact>
      {path.length > 1 && (
        <Fact name="path">
          <span class="path">
            {path.slice(0, -1).map((name, at) => (
              <span key={at}>
                <code>{name}</code> ›{" "}
              </span>
            ))}
            <code>{path.at(-1)}</code>
          </span>
        </Fact>
      )}
      {deciding && (
        <Fact name="decided at">
          line {deciding.number}: <code>{deciding.text.trim()}</code>
        </Fact>
      )}
      {runs && (
        <Fact name="run by run">
          <span class="good">{runs.good.map(seconds).join(", ")}</span> →{" "}
          <span class="bad">{runs.bad.map(seconds).join(", ")}</span> per {unit}
        </Fact>
      )}
      {inside.length > 1 && (
        <Fact name="spent in">
          {inside.map((one, at) => (
            <span key={`${one.function} ${one.module}`}>
              {at > 0 && ", "}
              <code>{one.function}</code> {percent(one.share)}
            </span>
          ))}
        </Fact>
      )}
      {evidence.length > 1 && (
        <Fact name="named by">
          {evidence.map(({ engine, rank, why }, at) => (
            <span key={engine}>
              {at > 0 && ", "}
              {engine} <small>#{rank}</small>
              {why && `: ${why}`}
            </span>
          ))}
        </Fact>
      )}
      {(suspect.frame !== null || suspect.relation !== null || suspect.cause !== null) && (
        <Fact name="see also">
          {suspect.frame !== null && <a href={`#frame-${suspect.frame}`}>its calls in the flame graph</a>}
          {suspect.cause !== null && <a href={`#cause-${suspect.cause}`}>who waited for whom</a>}
          {suspect.relation !== null && <a href={`#relation-${suspect.relation}`}>its relations as a graph</a>}
        </Fact>
      )}
    </dl>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** The variables that went wrong, one line each, with the way to all that is known of them. */
function Changed({ variables }: { variables: [number, Variable][] }) {
  return (
    <table class="changed">
      <thead>
        <tr>
          <th scope="col">its data</th>
          <th scope="col">good runs</th>
          <th scope="col">bad runs</th>
        </tr>
      </thead>
      <tbody>
        {variables.map(([number, one]) => (
          <tr key={number}>
            <th scope="row">
              <a href={`#variable-${number}`}>
                <code>{one.name}</code>
              </a>
              {one.dimension !== "value" && <small> {one.dimension === "delta" ? "change" : "stay"}</small>}
            </th>
            <td class="good">{one.good.range}</td>
            <td class="bad">{one.bad.range}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Lines end between its words only: never after a hyphen, where `--bad` would become two. */
function Command({ text }: { text: string }) {
  return (
    <code>
      {text.split(/(?<= )/).map((word, at) => (
        <span key={`${at} ${word}`} class="word">
          {word}
        </span>
      ))}
    </code>
  );
}

function Notes({ verdict }: { verdict: Verdict }) {
  if (verdict.notes.length === 0 && !verdict.next_command) return null;
  return (
    <aside class="notes" id="notes" aria-label="Next, and notes">
      {verdict.next_command && (
        <p class="next">
          Next: <Command text={verdict.next_command} /> <Copy text={verdict.next_command} what="the next command" />
        </p>
      )}
      {verdict.notes.length > 0 && (
        <>
          <h2 id="notes-title">What could not be judged, and what else there is to know</h2>
          <ul>
            {verdict.notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        </>
      )}
    </aside>
  );
}
