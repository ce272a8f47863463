import type { Recording } from "./model";
import { bytes, count, plural, seconds } from "./words";

/** Facts that are worth telling once if they are the same for all recordings. */
const SHARED: [string, (row: Recording) => string][] = [
  ["command", (row) => row.command],
  ["machine", (row) => `${row.host}, ${plural(row.cpus, "CPU")}`],
  ["kernel", (row) => row.kernel],
  ["sampled", (row) => row.sampling],
  ["ended", (row) => row.ended],
  ["whyperf", (row) => row.whyperf],
];
const COLUMNS: [string, (row: Recording) => string][] = [
  ["time", (row) => seconds(row.wall_s)],
  ["CPU user", (row) => seconds(row.user_s)],
  ["CPU system", (row) => seconds(row.system_s)],
  ["waited for CPU", (row) => seconds(row.cpu_wait_s)],
  ["memory", (row) => (row.memory_bytes > 0 ? bytes(row.memory_bytes) : "unknown")],
  ["read", (row) => bytes(row.read_bytes)],
  ["written", (row) => bytes(row.written_bytes)],
  ["work", (row) => plural(row.work, row.unit)],
  ["samples", (row) => count(row.samples)],
  ["threads", (row) => count(row.threads)],
  ["overhead inside", (row) => seconds(row.overhead_s)],
  ["beside", (row) => seconds(row.recorder_s)],
];

export function RecordingsSection({ rows }: { rows: Recording[] }) {
  return (
    <section id="recordings" aria-labelledby="recordings-title">
      <h2 id="recordings-title">Recordings</h2>
      <dl class="facts">
        {SHARED.map(([name, of]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              {kinds(rows, of).map(([text, sides]) => (
                <div key={text}>
                  <code>{text}</code> {sides && <span class="aside">{sides}</span>}
                </div>
              ))}
            </dd>
          </div>
        ))}
      </dl>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
      <section class="wide" tabIndex={0} aria-label="What every run used">
        <table class="numbers">
          <caption>What every run used, and what recording it cost</caption>
          <thead>
            <tr>
              <th scope="col">recording</th>
              {COLUMNS.map(([name]) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.path} class={row.good === null ? "" : row.good ? "good" : "bad"}>
                <th scope="row">
                  <code title={row.path}>{row.name}</code> <small>{moment(row.started)}</small>
                </th>
                {COLUMNS.map(([name, of]) => (
                  <td key={name} data-name={name}>
                    {of(row)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <Lost rows={rows} />
    </section>
  );
}

/** The different answers, each with whose it is; without that where all give the same. */
function kinds(rows: Recording[], of: (row: Recording) => string): [string, string][] {
  const found = new Map<string, string[]>();
  for (const row of rows) found.set(of(row), [...(found.get(of(row)) ?? []), row.name]);
  return [...found].map(([text, names]) => [text, found.size > 1 ? names.join(", ") : ""]);
}

function Lost({ rows }: { rows: Recording[] }) {
  const lost = rows.filter((row) => row.lost.length > 0);
  if (lost.length === 0) return <p class="aside">Nothing was lost.</p>;
  return (
    <>
      <h3>What was lost</h3>
      <dl class="facts">
        {lost.map((row) => (
          <div key={row.path}>
            <dt>{row.name}</dt>
            <dd>
              {row.lost.map((what) => (
                <p key={what}>{what}</p>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}

function moment(milliseconds: number): string {
  return milliseconds > 0
    ? new Date(milliseconds).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" })
    : "";
}
