import { useRef, useState } from 'preact/hooks';

import { alertTypeText, markOf, recipientsText, unreachedOf, wavesOf, wordingOf } from '../model/alerts.ts';
import type { Attempt, Notification, Recipient } from '../model/answers.ts';
import { isBusy, LIMITS, type PageState } from '../model/page-state.ts';
import { type Trouble, troubleText } from '../model/refresh.ts';
import { DataTable } from './data-table.tsx';
import { useShown } from './shown.ts';
import { Mark, numbers, PartNote, Time } from './words.tsx';

interface NotificationsProps {
  readonly state: PageState;
  /** Why the list, and why what is open, is not current. */
  readonly note: string | undefined;
  readonly storyNote: string | undefined;
}

/** The newest notifications; for the one that is open, every attempt to reach every person. */
export const Notifications = ({ state, note, storyNote }: NotificationsProps) => {
  const { view, actions } = useShown();
  const { notifications: panel, story, attention } = state.panels;
  const refresh = state.refreshes.notifications;
  const { answer } = panel;
  const limit = state.wants.notifications;
  const [onlyUnreached, setOnlyUnreached] = useState(false);
  const all = answer?.notifications ?? [];
  const listed = all.filter((each) => !onlyUnreached || unreachedOf(each) > 0);
  // A link may lead to one that is older than the list.
  const { notification: open } = view;
  const isOpen = (each: Notification): boolean => each.notification_id === open;
  const opened = listed.some(isOpen) ? undefined : (story.answer ?? attention.answer?.notifications.find(isOpen));
  const shown = opened === undefined ? listed : [opened, ...listed];
  const off = refresh?.phase === 'off' ? refresh.detail || 'This service lists no notifications.' : undefined;
  const wantMore = (): void => {
    if (limit < LIMITS.most.notifications) actions.want({ notifications: LIMITS.most.notifications });
  };
  return (
    <section class="card" aria-labelledby="notifications-title" aria-busy={isBusy(state, 'notifications')}>
      <div class="head">
        <h2 id="notifications-title">
          Recent notifications <PartNote note={note} />
        </h2>
        {off === undefined ? (
          <label>
            <input
              type="checkbox"
              checked={onlyUnreached}
              onChange={({ currentTarget: { checked } }) => {
                setOnlyUnreached(checked);
                wantMore();
              }}
            />{' '}
            Not reached
          </label>
        ) : null}
      </div>
      {off === undefined ? null : <p class="note">{off}</p>}
      {answer === undefined || shown.length > 0 ? null : (
        <p class="empty">{onlyUnreached ? 'Everybody was reached.' : 'Nobody has been phoned yet.'}</p>
      )}
      <ul class="notifications">
        {shown.map((each) => (
          <Item key={each.notification_id} notification={each} isOpen={isOpen(each)} note={storyNote} state={state} />
        ))}
      </ul>
      {all.length >= limit && limit < LIMITS.most.notifications ? (
        <button type="button" class="button small" onClick={wantMore}>
          Show {LIMITS.most.notifications}
        </button>
      ) : null}
    </section>
  );
};

interface ItemProps {
  readonly notification: Notification;
  readonly isOpen: boolean;
  readonly note: string | undefined;
  readonly state: PageState;
}

const Item = ({ notification, isOpen, note, state }: ItemProps) => {
  const { view, actions } = useShown();
  const { panels, refreshes, keyHeld, actionTrouble } = state;
  const { story } = panels;
  const button = useRef<HTMLButtonElement>(null);
  const { notification_id: id, alert_type: type, reference, recipients, created_at: at } = notification;
  return (
    <li>
      <button
        type="button"
        class="notification"
        ref={button}
        aria-expanded={isOpen}
        onClick={() => actions.show({ ...view, notification: isOpen ? undefined : id })}
      >
        <span class="what">{alertTypeText(type)}</span>
        <Mark of={markOf(notification)} />
        {reference === undefined ? null : <bdi class="reference">{reference}</bdi>}
        <span class="who">{recipientsText(recipients)}</span>
        <span class="when">
          <Time at={at} />
        </span>
      </button>
      {!isOpen ? null : (
        <div class="story" aria-busy={isBusy(state, 'story')}>
          <PartNote note={note} />
          {story.answer === undefined ? (
            refreshes.story?.phase === 'failing' ? null : (
              <p class="note">Asking the service…</p>
            )
          ) : (
            <>
              {keyHeld && story.answer.status === 'in_progress' ? (
                <StopButton
                  key={id}
                  id={id}
                  trouble={actionTrouble?.id === id ? actionTrouble.trouble : undefined}
                  onStopped={() => button.current?.focus()}
                />
              ) : null}
              <Story of={story.answer} />
            </>
          )}
        </div>
      )}
    </li>
  );
};

interface StopButtonProps {
  readonly id: string;
  readonly trouble: Trouble | undefined;
  /** The button that has the focus will be gone. */
  readonly onStopped: () => void;
}

/** Stops a notification, after asking: nobody else is phoned then. */
const StopButton = ({ id, trouble, onStopped }: StopButtonProps) => {
  const { actions } = useShown();
  const dialog = useRef<HTMLDialogElement>(null);
  const cancel = useRef<HTMLButtonElement>(null);
  return (
    <>
      <button
        type="button"
        class="button stop"
        onClick={() => {
          dialog.current?.showModal();
          cancel.current?.focus();
        }}
      >
        Stop…
      </button>
      <p class="trouble" role="alert">
        {trouble === undefined ? null : `It was not stopped. ${troubleText(trouble)}`}
      </p>
      <dialog ref={dialog} aria-labelledby="stop-title">
        <h3 id="stop-title">Stop this notification?</h3>
        <p>
          Nobody else is phoned, and phones that ring fall silent. Who is being spoken to hears the message to its end.
        </p>
        <div class="row">
          <button
            type="button"
            class="button stop"
            onClick={() => {
              dialog.current?.close();
              onStopped();
              actions.stopNotification(id);
            }}
          >
            Stop it
          </button>
          {/* Whoever presses Enter at once stops nothing. */}
          <button type="button" class="button" ref={cancel} onClick={() => dialog.current?.close()}>
            Go on phoning
          </button>
        </div>
      </dialog>
    </>
  );
};

/** What became of a notification, wave after wave: every person, and every attempt to reach them. */
const Story = ({ of: notification }: { readonly of: Notification }) => (
  <>
    {notification.details === undefined ? null : <p>“{notification.details}”</p>}
    {notification.acknowledged_by === undefined ? null : (
      <p>
        Seen by <bdi>{notification.acknowledged_by}</bdi>
        {notification.acknowledged_at === undefined ? null : (
          <>
            {' '}
            at <Time at={notification.acknowledged_at} as="clock" />
          </>
        )}
      </p>
    )}
    {wavesOf(notification).map(({ wave, shown, folded }) => (
      <section key={wave ?? 0} aria-label={wave === undefined ? 'People' : `Wave ${wave}`}>
        {wave === undefined ? null : <h3>Wave {wave}</h3>}
        <Recipients of={shown} />
        {folded.length === 0 ? null : (
          <details>
            <summary>{recipientsText(folded)}: as expected</summary>
            <Recipients of={folded} />
          </details>
        )}
      </section>
    ))}
    <details class="codes">
      <summary>Codes and ids</summary>
      <p class="note">
        Notification <code>{notification.notification_id}</code>
      </p>
      <DataTable
        title="Attempts"
        rows={notification.recipients.flatMap((recipient) =>
          recipient.attempts.map((attempt) => ({ recipient, attempt })),
        )}
        rowKey={(_, index) => index}
        columns={[
          { name: 'Recipient', value: ({ recipient }) => recipient.recipient },
          { name: 'Placed', value: ({ attempt }) => attempt.placed_at ?? '' },
          { name: 'Ended', value: ({ attempt }) => attempt.ended_at ?? '' },
          { name: 'Outcome', value: ({ attempt }) => attempt.outcome ?? '' },
          {
            name: 'Code',
            value: ({ attempt: { code, sub_code: sub } }) =>
              [code, sub].filter((each) => each !== undefined).join(' / '),
          },
          { name: 'Call', value: ({ attempt }) => attempt.call_connection_id ?? '' },
        ]}
      />
    </details>
  </>
);

const Recipients = ({ of }: { readonly of: readonly Recipient[] }) => (
  <ol class="recipients">
    {of.map((recipient, index) => (
      // The same masked number may be there twice: only the position tells them apart.
      <li key={index}>
        <RecipientStory recipient={recipient} />
      </li>
    ))}
  </ol>
);

const RecipientStory = ({
  recipient: { recipient, status, attempts, next_attempt_at: next },
}: {
  readonly recipient: Recipient;
}) => (
  <>
    <p class="recipient">
      <b>{recipient}</b> <Mark of={status} />
    </p>
    {attempts.length === 0 ? <p class="note">{status === 'waiting' ? 'Not called yet.' : 'Not called.'}</p> : null}
    <ol class="attempts">
      {attempts.map((attempt, index) => (
        <li key={index}>
          <AttemptLine attempt={attempt} />
        </li>
      ))}
    </ol>
    {next === undefined ? null : (
      <p class="note">
        Next attempt at <Time at={next} as="clock" />
      </p>
    )}
  </>
);

const UNDER_WAY = { text: 'Under way', tone: 'pending' } as const;

const AttemptLine = ({
  attempt: { outcome, reason, placed_at: placed, ended_at: ended },
}: {
  readonly attempt: Attempt;
}) => {
  const mark = outcome === undefined ? UNDER_WAY : wordingOf(outcome);
  return (
    <>
      <Mark of={mark} />
      {/* Why, where that says more than the mark. */}
      {reason === undefined || reason.toLowerCase() === mark.text.toLowerCase() ? null : <span> {reason}</span>}{' '}
      <span class="note">
        {placed === undefined ? null : <Time at={placed} as="clock" />}
        {placed === undefined || ended === undefined ? null : ', '}
        {ended === undefined ? null : (
          <time dateTime={ended}>
            {placed === undefined ? 'ended' : lasted(Date.parse(ended) - Date.parse(placed))}
          </time>
        )}
      </span>
    </>
  );
};

const lasted = (milliseconds: number): string => {
  const seconds = Math.max(0, Math.round(milliseconds / 1_000));
  return seconds < 60 ? `${seconds} s` : `${numbers.count(Math.floor(seconds / 60))} min ${seconds % 60} s`;
};
