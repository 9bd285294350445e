import { wordingOf } from '../model/alert-state.ts';
import type { Attempt, Notification, Recipient } from '../model/answers.ts';
import { lengthText } from '../model/times.ts';
import { wavesOf } from '../model/timeline.ts';
import { Distance, Mark, Time, Tip } from '../parts/words.tsx';

/** Each person of an alert, wave after wave, with every call. */
export const Timeline = ({ of }: { readonly of: Notification }) => (
  <>
    {wavesOf(of).map(({ number, startedAt, recipients }) => (
      <section key={number ?? 0} class="wave" aria-label={number === undefined ? 'People' : `Wave ${number}`}>
        {number === undefined ? null : <WaveTitle number={number} startedAt={startedAt} />}
        <ol class="recipients">
          {recipients.map((recipient, index) => (
            // Two recipients may have the same masked number.
            <Person key={index} of={recipient} />
          ))}
        </ol>
      </section>
    ))}
  </>
);

const WaveTitle = ({ number, startedAt }: { readonly number: number; readonly startedAt: string | undefined }) => (
  <h3>
    Wave {number}{' '}
    <span class="note">
      {startedAt === undefined ? 'not called yet' : ['first called at ', <Time key="at" at={startedAt} as="clock" />]}
    </span>{' '}
    {number > 1 ? null : (
      <Tip about="Wave">
        People are called in waves. The next wave is called if too few people of the earlier waves confirm in time.
      </Tip>
    )}
  </h3>
);

const Person = ({ of }: { readonly of: Recipient }) => {
  const { name, recipient, status, reason, since, attempts, next_attempt_at: next, confirmed_at: confirmed } = of;
  const isWaiting = status === 'waiting';
  return (
    <li>
      <p class="person row">
        <b>{name === undefined ? 'Unnamed' : <bdi>{name}</bdi>}</b> <span class="note">{recipient}</span>
        <Mark of={status} />
        {confirmed && (
          <span class="note">
            <Time at={confirmed} as="clock" />
          </span>
        )}
      </p>
      <ol class="attempts">
        {attempts.map((attempt, index) => (
          <AttemptLine key={index} of={attempt} />
        ))}
        {attempts.length > 0 ? null : <li class="note">{isWaiting ? 'Not called yet' : 'Not called'}</li>}
        {!isWaiting || (next === undefined && reason === undefined) ? null : (
          <li class="note">
            {next && (
              <>
                Next call <Distance at={next} as="in" /> at <Time at={next} as="clock" />.{' '}
              </>
            )}
            {reason && since && (
              <>
                Waiting since <Time at={since} as="clock" />: {reason}.
              </>
            )}
          </li>
        )}
      </ol>
    </li>
  );
};

/** The words of these outcomes say as much as the service's reason. */
const SAID: ReadonlySet<string> = new Set(['unconfirmed', 'no_answer', 'busy']);

const AttemptLine = ({ of }: { readonly of: Attempt }) => {
  const { outcome, reason, code, sub_code: sub, placed_at: placed, ended_at: ended } = of;
  const mark = outcome === undefined ? ({ text: 'Call under way', tone: 'pending' } as const) : wordingOf(outcome);
  const isSaid = reason === undefined || SAID.has(outcome ?? '') || reason.toLowerCase() === mark.text.toLowerCase();
  return (
    <li>
      {placed && (
        <span class="note">
          <Time at={placed} as="clock" />
        </span>
      )}{' '}
      <Mark of={mark} />
      {isSaid ? null : <span>: {reason}</span>}
      <span class="note">
        {placed && ended && `, ${lengthText(Date.parse(ended) - Date.parse(placed))}`}
        {code === undefined ? null : `, network code ${[code, sub].filter((each) => each !== undefined).join('/')}`}
      </span>
    </li>
  );
};
