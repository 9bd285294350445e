import { useRef } from 'preact/hooks';

import { canBeKey } from '../asking/kept.ts';
import { alertTypeText, markOf, recipientsText, wavesOf, wordingOf } from '../model/alerts.ts';
import type { Attempt, Notification, Recipient } from '../model/answers.ts';
import { LIMITS } from '../model/page-state.ts';
import { isPhoneOff, troubleText } from '../model/refresh.ts';
import { lengthText } from '../model/times.ts';
import { HasIt } from './attention.tsx';
import { usePart, useShown } from './shown.ts';
import { Card, Mark, PartNote, Time } from './words.tsx';

/** The newest notifications, and every attempt of the open notification. */
export const Notifications = () => {
  const { state, view, freshest, actions } = useShown();
  const { answer, busy, note } = usePart('notifications');
  const { parts, wants } = state;
  const listed = (answer?.notifications ?? []).map((each) => freshest.get(each.notification_id) ?? each);
  // A link may lead to a notification that is older than the list.
  const { notification: openId } = view;
  const older = listed.some(({ notification_id: id }) => id === openId) ? undefined : freshest.get(openId ?? '');
  const shown = older === undefined ? listed : [older, ...listed];
  return (
    <Card id="notifications" title="Recent notifications" note={note} busy={busy}>
      {isPhoneOff(parts.notifications?.trouble) ? <p class="note">This service does not phone (PHONE=off).</p> : null}
      {answer === undefined || shown.length > 0 ? null : <p class="empty">No person has been called yet.</p>}
      <ul class="notifications">
        {shown.map((each) => (
          <Item key={each.notification_id} of={each} />
        ))}
      </ul>
      {listed.length >= wants.notifications && wants.notifications < LIMITS.most.notifications ? (
        <button
          type="button"
          class="button small"
          onClick={() => actions.want({ notifications: LIMITS.most.notifications })}
        >
          Show {LIMITS.most.notifications}
        </button>
      ) : null}
    </Card>
  );
};

const Item = ({ of: notification }: { readonly of: Notification }) => {
  const { view, actions } = useShown();
  const { note } = usePart('story');
  const button = useRef<HTMLButtonElement>(null);
  const { notification_id: id, alert_type: type, reference, details, recipients, created_at: at } = notification;
  const isOpen = view.notification === id;
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
        {details === undefined ? null : <bdi class="reference">{details}</bdi>}
        {reference === undefined ? null : <bdi class="reference">{reference}</bdi>}
        <span class="who">{recipientsText(recipients)}</span>
        <span class="when">
          <Time at={at} />
        </span>
      </button>
      {!isOpen ? null : (
        <div class="story">
          <PartNote note={note} />
          {notification.status === 'in_progress' ? (
            <StopButton id={id} onStopped={() => button.current?.focus()} />
          ) : null}
          <Story of={notification} />
        </div>
      )}
    </li>
  );
};

/** `onStopped` moves the focus: this button will be gone. */
const StopButton = ({ id, onStopped }: { readonly id: string; readonly onStopped: () => void }) => {
  const { actions, state } = useShown();
  const trouble = state.actionTrouble?.id === id ? state.actionTrouble.trouble : undefined;
  const dialog = useRef<HTMLDialogElement>(null);
  const cancel = useRef<HTMLButtonElement>(null);
  const key = useRef<HTMLInputElement>(null);
  const stop = (): void => {
    const given = key.current?.value.trim() ?? '';
    dialog.current?.close();
    onStopped();
    if (canBeKey(given)) actions.giveKey(given);
    void actions.stopNotification(id);
  };
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
        {trouble === undefined ? null : `The action failed. ${troubleText(trouble)}`}
      </p>
      <dialog ref={dialog} aria-labelledby="stop-title">
        <h3 id="stop-title">Stop this notification?</h3>
        <p>
          The service calls no more people and cancels ringing calls. A person who is listening hears the message to its
          end.
        </p>
        {state.keyHeld ? null : (
          <p>
            <label>
              Function key, if this service demands one <input ref={key} type="password" autocomplete="off" />
            </label>
          </p>
        )}
        <div class="row">
          <button type="button" class="button stop" onClick={stop}>
            Stop it
          </button>
          {/* It has the focus: Enter stops nothing. */}
          <button type="button" class="button" ref={cancel} onClick={() => dialog.current?.close()}>
            Continue phoning
          </button>
        </div>
      </dialog>
    </>
  );
};

const Story = ({ of: notification }: { readonly of: Notification }) => {
  const { notification_id: id, acknowledged_by: by, acknowledged_at: at } = notification;
  return (
    <>
      {by === undefined || at === undefined ? null : (
        <p>
          <HasIt by={by} /> since <Time at={at} as="clock" />
        </p>
      )}
      {Array.from(wavesOf(notification), ([wave, recipients]) => (
        <section key={wave ?? 0} aria-label={wave === undefined ? 'People' : `Wave ${wave}`}>
          {wave === undefined ? null : <h3>Wave {wave}</h3>}
          <ol class="recipients">
            {recipients.map((recipient, index) => (
              // Two recipients may have the same masked number.
              <RecipientStory key={index} of={recipient} />
            ))}
          </ol>
        </section>
      ))}
      <p class="note">
        Notification <code>{id}</code>
      </p>
    </>
  );
};

const RecipientStory = ({ of }: { readonly of: Recipient }) => {
  const { name, recipient, status, reason, since, attempts, next_attempt_at: next } = of;
  const isWaiting = status === 'waiting';
  return (
    <li>
      <p class="recipient">
        {name === undefined ? null : <bdi>{name}</bdi>} <b>{recipient}</b> <Mark of={status} />
      </p>
      {attempts.length === 0 ? <p class="note">{isWaiting ? 'Not called yet.' : 'Not called.'}</p> : null}
      <ol class="attempts">
        {attempts.map((attempt, index) => (
          <AttemptLine key={index} of={attempt} />
        ))}
      </ol>
      {!isWaiting || reason === undefined || since === undefined ? null : (
        <p class="note">
          Waiting since <Time at={since} as="clock" />: {reason}.
        </p>
      )}
      {!isWaiting || next === undefined ? null : (
        <p class="note">
          Next attempt at <Time at={next} as="clock" />
        </p>
      )}
    </li>
  );
};

const AttemptLine = ({ of }: { readonly of: Attempt }) => {
  const { outcome, reason, code, sub_code: sub, placed_at: placed, ended_at: ended } = of;
  const codes = [code, sub].filter((each) => each !== undefined);
  const mark = outcome === undefined ? ({ text: 'Under way', tone: 'pending' } as const) : wordingOf(outcome);
  const isSaid = reason === undefined || reason.toLowerCase() === mark.text.toLowerCase();
  return (
    <li>
      <Mark of={mark} />
      {isSaid ? null : <span> {reason}</span>}{' '}
      <span class="note">
        {placed === undefined ? null : <Time at={placed} as="clock" />}
        {placed === undefined || ended === undefined ? null : `, ${lengthText(Date.parse(ended) - Date.parse(placed))}`}
        {codes.length === 0 ? null : `, code ${codes.join('/')}`}
      </span>
    </li>
  );
};
