import { useRef } from 'preact/hooks';

import { keptName } from '../asking/kept.ts';
import { alertTypeText, markOf, nextOf, progressText } from '../model/alerts.ts';
import type { Notification } from '../model/answers.ts';
import { isRed } from '../model/attention.ts';
import type { Problem } from '../model/page-status.ts';
import { troubleText } from '../model/refresh.ts';
import { agoText, inText } from '../model/times.ts';
import { goTo, useSeconds, useShown } from './shown.ts';
import { CameraLink, ViewLink } from './view-link.tsx';
import { Mark, Time, TimeWords } from './words.tsx';

/** The strip under the head: problems of the page, a silent network, and every alert. */
export const AttentionStrip = () => {
  const { attention, status } = useShown();
  const { problems } = status;
  const { alerts, redCount, noCameraSince } = attention;
  const isAnythingRed = redCount > 0 || problems.length > 0 || noCameraSince !== undefined;
  const spoken = [
    ...problems.map(({ text }) => text),
    ...(noCameraSince === undefined ? [] : ['No camera is sending.']),
    ...alerts.filter(isRed).map((each) => `${alertTypeText(each.alert_type)}: ${markOf(each).text}.`),
  ];
  return (
    <>
      {/* Screen readers speak this once. The strip itself changes every second. */}
      <p class="unseen" role="status">
        {spoken.length === 0 ? null : spoken.join(' ')}
      </p>
      {!isAnythingRed && alerts.length === 0 ? null : (
        <section
          id="attention"
          class={isAnythingRed ? 'attention' : 'attention calm'}
          aria-label="Needs attention"
          tabIndex={-1}
        >
          {problems.map((problem) => (
            <ProblemLine key={problem.text} of={problem} />
          ))}
          {noCameraSince === undefined ? null : <NoCamera since={noCameraSince} />}
          <ul>
            {alerts.map((each) => (
              <Alert key={each.notification_id} of={each} />
            ))}
          </ul>
        </section>
      )}
    </>
  );
};

const ProblemLine = ({ of: { text, parts, asOf, nextAt } }: { readonly of: Problem }) => {
  const { times } = useShown();
  const now = useSeconds();
  return (
    <p class="alert problem">
      <span aria-hidden="true">✕</span> <strong>{text}</strong>{' '}
      <span>
        {parts.length === 0 ? null : `Not current: ${parts.join(', ')}. `}
        {asOf === undefined ? (
          'No data yet.'
        ) : (
          <>
            The page shows data from <TimeWords of={times.moment(asOf)} />.
          </>
        )}
      </span>
      {nextAt === undefined ? null : <span class="note">Next try {inText(nextAt - now)}.</span>}
    </p>
  );
};

const StoryLink = ({ of: notification }: { readonly of: Notification }) => {
  const { view } = useShown();
  const { notification_id: id } = notification;
  return (
    <ViewLink
      to={{ ...view, notification: id }}
      class="id"
      id={lineId(id)}
      onFollowed={() => goTo(document.querySelector<HTMLElement>('.notification[aria-expanded=true]'))}
    >
      <Mark of={markOf(notification)} /> <b>{alertTypeText(notification.alert_type)}</b>
    </ViewLink>
  );
};

const lineId = (notificationId: string): string => `alert-${notificationId}`;

/** An https address in a reference is a link, the id of a known camera also. */
const Reference = ({ of }: { readonly of: string }) => {
  const { cameraIds } = useShown();
  return (
    <bdi class="reference">
      {of.split(/(\s+)/).map((text, index) =>
        cameraIds.includes(text) ? (
          <CameraLink key={index} id={text} />
        ) : isAddress(text) ? (
          <a key={index} href={text} target="_blank" rel="noopener noreferrer">
            {text}
          </a>
        ) : (
          text
        ),
      )}
    </bdi>
  );
};

/** Another scheme might run code. An address with a password may deceive. */
const isAddress = (text: string): boolean => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url?.protocol === 'https:' && url.username === '' && url.password === '';
};

const Alert = ({ of: notification }: { readonly of: Notification }) => {
  const { actionTrouble: trouble } = useShown().state;
  const now = useSeconds();
  const next = nextOf(notification);
  const { notification_id: id, reference, details, created_at: at, acknowledged_by: by } = notification;
  const ago = (time: string): string => agoText(now - Date.parse(time));
  return (
    <li class={isRed(notification) ? 'alert' : 'alert taken'}>
      <StoryLink of={notification} />
      {details === undefined ? null : <bdi>{details}</bdi>}
      {reference === undefined ? null : <Reference of={reference} />}
      <span class="note">
        {progressText(notification)}
        {next === undefined ? null : `, ${next.what} ${inText(Date.parse(next.at) - now)}`}, {ago(at)}
      </span>
      {by === undefined ? null : (
        <span>
          <HasIt by={by} />{' '}
          <span class="note">{notification.acknowledged_at && ago(notification.acknowledged_at)}</span>
          {notification.worsened_since_acknowledged === true ? (
            <b class="bad">, and it has become worse since</b>
          ) : null}
        </span>
      )}
      <IHaveIt id={id} />
      {trouble?.id === id ? <p class="trouble">The action failed. {troubleText(trouble.trouble)}</p> : null}
    </li>
  );
};

export const HasIt = ({ by }: { readonly by: string }) => (
  <b>
    <bdi>{by}</bdi> has it
  </b>
);

const NoCamera = ({ since }: { readonly since: string }) => (
  <p class="alert">
    <Mark of={{ text: 'No camera has sent', tone: 'bad' }} /> since <Time at={since} />{' '}
    <span class="note">({agoText(useSeconds() - Date.parse(since))})</span>
  </p>
);

/** The service's limit. */
const MOST_CHARACTERS = 60;

/** Acknowledges an alert. It asks for the name each time: the next shift uses the same screen. */
const IHaveIt = ({ id }: { readonly id: string }) => {
  const { actions } = useShown();
  const dialog = useRef<HTMLDialogElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const submit = (): void => {
    const by = input.current?.value.trim() ?? '';
    keptName.set(by);
    // The line may have moved, and the focus with it.
    void actions.acknowledge(id, by).then(() => document.getElementById(lineId(id))?.focus());
  };
  return (
    <>
      <button
        type="button"
        class="button small"
        onClick={() => {
          dialog.current?.showModal();
          input.current?.select();
        }}
      >
        I have it
      </button>
      <dialog ref={dialog} aria-label="Who has it?">
        <form method="dialog" onSubmit={submit}>
          <h3>Who has it?</h3>
          <p>
            Every reader sees the name. The alert turns gray, and red again if its outcome becomes worse. Calls
            continue.
          </p>
          <div class="row">
            <label>
              Name{' '}
              <input
                ref={input}
                required
                pattern=".*\S.*"
                maxLength={MOST_CHARACTERS}
                autocomplete="off"
                defaultValue={keptName.get()}
              />
            </label>
            <button type="submit" class="button primary">
              I have it
            </button>
            <button type="button" class="button" onClick={() => dialog.current?.close()}>
              Cancel
            </button>
          </div>
        </form>
      </dialog>
    </>
  );
};
