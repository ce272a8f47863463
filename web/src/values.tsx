import { Distribution, OverTime } from "./charts";
import type { Values, Variable } from "./model";
import { Prose } from "./prose";
import { Source } from "./source";
import { plural } from "./words";

const DIMENSIONS = {
  value: "How often each value was read",
  delta: "How often it changed by so much from sample to sample",
  duration: "For how many samples it stayed the same",
};
const OPEN = 4;

export function ValuesSection({ values }: { values: Values }) {
  return (
    <section id="values" aria-labelledby="values-title">
      <h2 id="values-title">Values</h2>
      <p class="lead">
        {plural(values.compared, "variable was", "variables were")} read often enough to compare;{" "}
        {values.abnormal === 1 ? "one holds" : `${values.abnormal} hold`} something else in the{" "}
        <span class="bad">bad runs</span> than in the <span class="good">good runs</span>
        {values.variables.length < values.abnormal && `, of which ${values.variables.length} are shown`}.
      </p>
      {values.variables.map((variable, number) => (
        <VariableDetails key={number} variable={variable} number={number} open={number < OPEN} />
      ))}
    </section>
  );
}

function VariableDetails({ variable, number, open }: { variable: Variable; number: number; open: boolean }) {
  return (
    <details class="variable" id={`variable-${number}`} open={open}>
      <summary>
        <h3>
          <code>{variable.name}</code>
        </h3>
        <span class="type">
          <code>{variable.type}</code>
          {variable.function ? (
            <>
              {" "}
              in <code>{variable.function}</code>
            </>
          ) : (
            ", a global variable"
          )}
        </span>
      </summary>
      <Evidence variable={variable} />
    </details>
  );
}

function Evidence({ variable }: { variable: Variable }) {
  return (
    <>
      <p>
        <Prose text={variable.sentence} variables={[variable.name]} functions={[]} />{" "}
        <span class="aside">{certainty(variable)}</span>
      </p>
      <div class="pair">
        <figure>
          <figcaption>{DIMENSIONS[variable.dimension]}</figcaption>
          <Distribution cells={variable.cells} what={DIMENSIONS[variable.dimension]} />
          <Spreads variable={variable} />
        </figure>
        {variable.courses.length > 0 && (
          <figure>
            <figcaption>What it held over time, a line a run</figcaption>
            <OverTime courses={variable.courses} />
          </figure>
        )}
      </div>
      {variable.excerpt && (
        <Source excerpt={variable.excerpt} what={`share of the abnormal readings of ${variable.name}`} />
      )}
    </>
  );
}

function Spreads({ variable }: { variable: Variable }) {
  return (
    <dl class="spreads">
      {(["good", "bad"] as const).map((side) => {
        const { range, typical } = variable[side];
        return (
          <div key={side} class={side}>
            <dt>{side}</dt>
            <dd>
              {range}
              {typical !== range && `, typically ${typical}`}
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

function certainty({ distance, p, roles }: Variable): string {
  const far = `Distance ${distance.toFixed(2)} of 1`;
  const sure = p === null ? "whole runs stand apart" : `p = ${p < 1e-4 ? p.toExponential(0) : p.toPrecision(2)}`;
  const used = roles.length > 0 ? `; used as ${roles.join(", ")}` : "";
  return `${far}, ${sure}${used}.`;
}
