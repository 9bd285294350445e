import type { Attempt, Notification, Recipient } from '../model/answers.ts';
import { wordingOf } from '../model/call-words.ts';
import type { Panel } from '../model/page-state.ts';
import { StatusMark } from './status-mark.tsx';
import { Time } from './time.tsx';
import { TroubleNote } from './trouble-note.tsx';

/** What became of a notification: every person, and every attempt to reach them. */
export const NotificationStory = ({ panel: { answer, trouble } }: { readonly panel: Panel<Notification> }) => (
  <div class="story" aria-busy={answer === undefined && trouble === undefined}>
    <TroubleNote trouble={trouble} />
    {answer === undefined && trouble === undefined ? <p class="note">Asking the service…</p> : null}
    {answer === undefined ? null : (
      <>
        <ol class="recipients">
          {answer.recipients.map((recipient, index) => (
            // The same masked number may be there twice: only the position tells them apart.
            <li key={index}>
              <RecipientStory recipient={recipient} />
            </li>
          ))}
        </ol>
        <p class="note">
          Notification <code>{answer.notification_id}</code>
        </p>
      </>
    )}
  </div>
);

const RecipientStory = ({ recipient }: { readonly recipient: Recipient }) => (
  <>
    <p class="recipient">
      <b>{recipient.recipient}</b> <StatusMark status={recipient.status} />
      <Reason reason={recipient.reason} status={recipient.status} />
    </p>
    {recipient.attempts.length === 0 ? <p class="note">Not called yet.</p> : null}
    <ol class="attempts">
      {recipient.attempts.map((attempt, index) => (
        <li key={index}>
          <AttemptLine attempt={attempt} />
        </li>
      ))}
    </ol>
    {recipient.next_attempt_at === undefined ? null : (
      <p class="note">
        Next attempt at <Time at={recipient.next_attempt_at} />
      </p>
    )}
  </>
);

/** Why, where that says more than the status beside it. */
const Reason = ({ reason, status }: { readonly reason: string | undefined; readonly status: string | undefined }) =>
  reason === undefined || reason.toLowerCase() === wordingOf(status ?? '').text.toLowerCase() ? null : (
    <span class="reason"> {reason}</span>
  );

const AttemptLine = ({ attempt }: { readonly attempt: Attempt }) => {
  const codes = [attempt.code, attempt.sub_code].filter((code) => code !== undefined).join(' / ');
  return (
    <>
      {attempt.outcome === undefined ? (
        <span class="status pending">
          <span aria-hidden="true">…</span> Under way
        </span>
      ) : (
        <StatusMark status={attempt.outcome} />
      )}
      <Reason reason={attempt.reason} status={attempt.outcome} />
      <dl>
        {attempt.placed_at === undefined ? null : (
          <div>
            <dt>Placed</dt>
            <dd>
              <Time at={attempt.placed_at} />
            </dd>
          </div>
        )}
        {attempt.ended_at === undefined ? null : (
          <div>
            <dt>Ended</dt>
            <dd>
              <Time at={attempt.ended_at} />
            </dd>
          </div>
        )}
        {codes === '' ? null : (
          <div>
            <dt>Code</dt>
            <dd>{codes}</dd>
          </div>
        )}
        {attempt.call_connection_id === undefined ? null : (
          <div>
            <dt>Call</dt>
            <dd>
              <code>{attempt.call_connection_id}</code>
            </dd>
          </div>
        )}
      </dl>
    </>
  );
};
