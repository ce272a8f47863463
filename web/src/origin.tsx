import type { Hop, Origin, Proof } from "./model";
import { Place } from "./place";
import { Quoted } from "./prose";
import { highlighted, languageOf } from "./source";
import { plural } from "./words";

/** Who set what decides, from where time is paid to where the value was made. */
export function Chain({ origin }: { origin: Origin }) {
  return (
    <figure class="origin">
      <figcaption>
        Where it comes from {origin.runs > 0 && <small>followed in {plural(origin.runs, "run")}</small>}
      </figcaption>
      <ol>
        {origin.hops.map((hop, at) => (
          <Step key={at} hop={hop} turns={at > 0 && at === origin.turn} />
        ))}
      </ol>
      <p>
        <Quoted text={origin.sentence} />
      </p>
    </figure>
  );
}

function Step({ hop, turns }: { hop: Hop; turns: boolean }) {
  return (
    <li class={turns ? "turns" : undefined}>
      <p>
        <code>{hop.function}</code>{" "}
        <span class="where">{hop.file ? <Place file={hop.file} line={hop.line} /> : hop.module}</span>
        {turns && <strong> good turns into bad here</strong>}
      </p>
      <p class="value">
        <code>{hop.what}</code>: <span class="bad">{hop.bad}</span>, {hop.differs ? "was" : "and"}{" "}
        <span class="good">{hop.good}</span>
        {!hop.differs && " in good runs: no difference shown"}
        {hop.deep && " (by a run under Valgrind)"}
      </p>
      {hop.source && (
        <code class="text">
          {highlighted(hop.source, languageOf(hop.file))[0]?.map((token, n) => (
            <span key={n} class={token.style}>
              {token.text}
            </span>
          ))}
        </code>
      )}
    </li>
  );
}

/** What forcing a value or a function showed. */
export function Proofs({ proofs }: { proofs: Proof[] }) {
  return (
    <ul class="proofs" aria-label="What forcing it showed">
      {proofs.map((proof) => (
        <li key={proof.sentence} class={proof.finding}>
          <Quoted text={proof.sentence} />
        </li>
      ))}
    </ul>
  );
}
