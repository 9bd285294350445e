import { useRef } from 'preact/hooks';

import { keptName } from '../asking/kept.ts';
import type { Alarms } from '../model/alarms.ts';
import { alertTypeText, markOf, nextOf, recipientsText } from '../model/alerts.ts';
import type { Notification } from '../model/answers.ts';
import type { PageState } from '../model/page-state.ts';
import { linksOf } from '../model/reference.ts';
import { troubleText } from '../model/refresh.ts';
import { agoText, inText } from '../model/times.ts';
import { useSeconds, useShown } from './shown.ts';
import { CameraLink, ViewLink } from './view-link.tsx';
import { Mark, Time } from './words.tsx';

interface AttentionProps {
  readonly alarms: Alarms;
  readonly cameraIds: readonly string[];
  /** Why what somebody wanted to be done to a notification was not done. */
  readonly trouble: PageState['actionTrouble'];
}

/** What somebody has to know of, under the head of the page: nobody has to scroll to see it. */
export const AttentionStrip = ({ alarms: { alerts, seen, noCamera }, cameraIds, trouble }: AttentionProps) => {
  const isCalm = alerts.length === 0 && noCamera === undefined;
  const spoken = [
    ...alerts.map((each) => `${alertTypeText(each.alert_type)}: ${markOf(each).text}.`),
    ...(noCamera === undefined ? [] : ['No camera sends.']),
  ];
  return (
    <>
      {/* Said once: what runs on beside it would be said every second. */}
      <p class="unseen" role="status">
        {spoken.length === 0 ? null : spoken.join(' ')}
      </p>
      {isCalm ? null : (
        <section class="attention" aria-label="Needs attention">
          {noCamera === undefined ? null : <NoCamera since={noCamera.since} />}
          {alerts.map((each) => (
            <Alert key={each.notification_id} of={each} cameraIds={cameraIds} trouble={trouble} />
          ))}
        </section>
      )}
      {seen.length === 0 ? null : (
        <section class="attention seen" aria-label="Seen by somebody">
          {seen.map((each) => (
            <SeenAlert key={each.notification_id} of={each} />
          ))}
        </section>
      )}
    </>
  );
};

/** Leads to what became of a notification: scrolls there, and moves the focus. */
const StoryLink = ({ of: notification }: { readonly of: Notification }) => {
  const { view } = useShown();
  return (
    <ViewLink to={{ ...view, notification: notification.notification_id }} class="id" onFollowed={showStory}>
      <Mark of={markOf(notification)} /> <b>{alertTypeText(notification.alert_type)}</b>
    </ViewLink>
  );
};

const showStory = (): void => {
  const opened = document.querySelector<HTMLElement>('.notification[aria-expanded=true]');
  opened?.scrollIntoView({ block: 'start' });
  opened?.focus({ preventScroll: true });
};

/** What a notification is about: an https address in it is a link, and so is the name of a camera. */
const Reference = ({ of, cameraIds }: { readonly of: string; readonly cameraIds: readonly string[] }) => (
  <bdi class="reference">
    {linksOf(of, cameraIds).map(({ text, to }, index) =>
      to === 'camera' ? (
        <CameraLink key={index} id={text} />
      ) : to === 'address' ? (
        <a key={index} href={text} target="_blank" rel="noopener noreferrer">
          {text}
        </a>
      ) : (
        text
      ),
    )}
  </bdi>
);

const Alert = ({
  of: notification,
  cameraIds,
  trouble,
}: Omit<AttentionProps, 'alarms'> & { readonly of: Notification }) => {
  const now = useSeconds();
  const next = nextOf(notification);
  const { notification_id: id, reference, created_at: at, recipients } = notification;
  return (
    <div class="alert">
      <StoryLink of={notification} />
      {reference === undefined ? null : <Reference of={reference} cameraIds={cameraIds} />}
      <span class="note">
        {recipientsText(recipients)}, {agoText(now - Date.parse(at))}
        {next === undefined ? null : `, ${next.what} ${inText(Date.parse(next.at) - now)}`}
      </span>
      <HaveIt id={id} />
      {trouble?.id === id ? <p class="trouble">That was not done. {troubleText(trouble.trouble)}</p> : null}
    </div>
  );
};

const SeenAlert = ({ of: notification }: { readonly of: Notification }) => {
  const now = useSeconds();
  const { acknowledged_by: by = '', acknowledged_at: at } = notification;
  return (
    <p class="alert">
      <StoryLink of={notification} />{' '}
      <span class="note">
        seen by <bdi>{by}</bdi>
        {at === undefined ? null : ` ${agoText(now - Date.parse(at))}`}
      </span>
    </p>
  );
};

const NoCamera = ({ since }: { readonly since: string | undefined }) => {
  const now = useSeconds();
  return (
    <p class="alert">
      <Mark of={{ text: 'No camera sends', tone: 'bad' }} />
      {since === undefined ? null : (
        <span>
          since <Time at={since} as="moment" /> <span class="note">({agoText(now - Date.parse(since))})</span>
        </span>
      )}
    </p>
  );
};

/** Most signs of a name. */
const MOST_SIGNS = 60;

/** Says for everybody who has seen an alert. It asks for the name each time: the next shift sits at the same screen. */
const HaveIt = ({ id }: { readonly id: string }) => {
  const { actions } = useShown();
  const dialog = useRef<HTMLDialogElement>(null);
  const input = useRef<HTMLInputElement>(null);
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
        <form
          method="dialog"
          onSubmit={() => {
            const by = input.current?.value.trim() ?? '';
            keptName.set(by);
            actions.acknowledge(id, by);
          }}
        >
          <h3>Who has it?</h3>
          <p>Everybody sees the name, and the alert leaves the red strip. Phoning goes on.</p>
          <div class="row">
            <label>
              Name{' '}
              <input
                ref={input}
                required
                pattern=".*\S.*"
                maxLength={MOST_SIGNS}
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
