import type { CauseRung, CauseStory, Causes } from "./model";
import { Timeline } from "./timeline";
import { capital, seconds } from "./words";

export function CausesSection({ causes }: { causes: Causes }) {
  return (
    <section id="causes" aria-labelledby="causes-title">
      <h2 id="causes-title">Causes</h2>
      <p class="lead">
        Who waited for whom: from the thread that stalled down to the one that should have acted. Arrows lead from a
        waiting thread to the one that it waited for: drawn through where that was seen, broken where it is concluded.
        The blue strip is as long as such a wait normally lasts.
      </p>
      {causes.stories.map((story, number) => (
        <article key={story.rank} class="story" id={`cause-${number}`}>
          <h3>
            <a href={`#suspect-${story.rank}`}>Suspect {story.rank}</a>
          </h3>
          <p>{capital(story.usual)}.</p>
          <Timeline story={story} number={number} />
          <ol>
            {story.rungs.map((rung, at) => (
              <Rung key={`${at} ${rung.did}`} story={story} rung={rung} id={`cause-${number}-${at}`} />
            ))}
          </ol>
        </article>
      ))}
    </section>
  );
}

function Rung({ story, rung, id }: { story: CauseStory; rung: CauseRung; id: string }) {
  return (
    <li>
      <details id={id}>
        <summary>
          <code>{story.lanes[rung.lane]}</code> {rung.did}, {seconds(rung.seconds)}
        </summary>
        <ol class="stack">
          {rung.stack.map((frame, at) => (
            <li key={`${at} ${frame}`}>
              <code>{frame}</code>
            </li>
          ))}
        </ol>
      </details>
      {rung.link && (
        <p class="aside">
          ↓ {rung.link.mechanism}: {rung.link.why} ({rung.link.certainty})
        </p>
      )}
    </li>
  );
}
