import { alertState, alertTitle, needsPerson } from '../model/alert-state.ts';
import type { Problem } from '../model/freshness.ts';
import { inText } from '../model/times.ts';
import { useSeconds, useShown } from '../parts/shown.ts';
import { JumpLink, TimeWords } from '../parts/words.tsx';

/** Why the page is not current, or a fire could burn unnoticed. */
export const Problems = () => {
  const { health, alerts, actions, view } = useShown();
  const { silence } = health;
  const spoken = [
    ...health.problems.map(({ text }) => text),
    ...(silence === undefined ? [] : [silence]),
    ...alerts.worst.filter(needsPerson).map((each) => `${alertTitle(each)}. ${alertState(each).text}.`),
  ];
  return (
    <>
      {/* Screen readers speak this once. The parts themselves change every second. */}
      <p class="unseen" role="status">
        {spoken.length === 0 ? null : spoken.join(' ')}
      </p>
      {health.problems.length === 0 && silence === undefined ? null : (
        <section class="problems" aria-label="Problems">
          {health.problems.map((problem) => (
            <ProblemLine key={problem.text} of={problem} />
          ))}
          {silence === undefined ? null : (
            <p class="problem">
              <span aria-hidden="true">✕</span> <strong>{silence}</strong>{' '}
              {view.wall ? null : (
                <JumpLink to="cameras" class="screen" onFollow={() => actions.want({ notSending: true })}>
                  Show them
                </JumpLink>
              )}
            </p>
          )}
        </section>
      )}
    </>
  );
};

const ProblemLine = ({ of: { text, asOf, nextAt } }: { readonly of: Problem }) => {
  const { times } = useShown();
  const now = useSeconds();
  return (
    <p class="problem">
      <span aria-hidden="true">✕</span> <strong>{text}</strong>{' '}
      <span>
        {asOf === undefined ? (
          'No data yet.'
        ) : (
          <>
            The page shows data from <TimeWords of={times.moment(asOf)} />.
          </>
        )}
      </span>
      {nextAt === undefined ? null : <span class="note screen"> The page asks again {inText(nextAt - now)}.</span>}
    </p>
  );
};
