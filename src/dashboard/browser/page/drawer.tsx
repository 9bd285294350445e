import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

import { alertState, alertTitle, alertTypeText, isTaken } from '../model/alert-state.ts';
import type { Notification } from '../model/answers.ts';
import { isPhoneOff, isUnknown, troubleText } from '../model/refresh.ts';
import { nextOf } from '../model/timeline.ts';
import { Button } from '../parts/button.tsx';
import { Reference } from '../parts/reference.tsx';
import { type Shown, usePart, useShown } from '../parts/shown.ts';
import { goTo } from '../parts/view-link.tsx';
import { Distance, Mark, PartNote, Skeleton, Time } from '../parts/words.tsx';
import { Timeline } from './timeline.tsx';

/** The open alert with its timeline, at the side: health bar and alerts stay in sight. The address holds it. */
export const Drawer = () => {
  const { notification: id } = useShown().view;
  return id === undefined ? null : <Opened key={id} id={id} />;
};

/** Closes the open alert, if any. Its row has the focus then. */
export const closeAlert = ({ view, actions }: Pick<Shown, 'view' | 'actions'>): void => {
  const { notification: id } = view;
  if (id === undefined) return;
  actions.show({ ...view, notification: undefined });
  goTo(document.getElementById(`alert-${id}`) ?? document.getElementById('alerts'));
};

const Opened = ({ id }: { readonly id: string }) => {
  const shown = useShown();
  const of = shown.freshest.get(id);
  const { note } = usePart('opened');
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return (
    <div class="drawer" role="dialog" aria-labelledby="drawer-title">
      <div class="drawer-head row">
        <h2 id="drawer-title" ref={heading} tabIndex={-1}>
          {of === undefined ? 'Alert' : alertTypeText(of.alert_type)}
          {of?.details && <bdi class="place">{of.details}</bdi>}
        </h2>
        <Button look="small" aria-label="Close the alert" onClick={() => closeAlert(shown)}>
          ✕
        </Button>
      </div>
      {of === undefined ? <Missing /> : <Details of={of} note={note} />}
    </div>
  );
};

/** In place of an alert that no answer has. */
const Missing = () => {
  const trouble = useShown().state.parts.opened?.trouble;
  if (trouble === undefined) return <Skeleton />;
  if (isPhoneOff(trouble)) return <p>This service does not phone (PHONE=off).</p>;
  if (!isUnknown(trouble)) return <p class="trouble">{troubleText(trouble)}</p>;
  return <p>The service does not know this alert. The link is wrong, or the alert was deleted after its retention.</p>;
};

const Fact = ({ name, children }: { readonly name: string; readonly children: ComponentChildren }) => (
  <>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </>
);

const Details = ({ of, note }: { readonly of: Notification; readonly note: string | undefined }) => {
  const { acknowledged_by: owner, acknowledged_at: takenAt, stopped_at: stoppedAt, reference } = of;
  const next = nextOf(of);
  return (
    <>
      <PartNote note={note} />
      <p>
        <Mark of={alertState(of)} />{' '}
        {stoppedAt && (
          <span class="note">
            at <Time at={stoppedAt} as="clock" />
          </span>
        )}
      </p>
      <DrawerActions of={of} />
      <dl class="facts">
        <Fact name="Owner">
          {owner ? <bdi>{owner}</bdi> : 'Nobody has taken it'}
          {takenAt && (
            <span class="note">
              {' '}
              since <Time at={takenAt} as="clock" />
            </span>
          )}
          {of.worsened_since_acknowledged && <b class="bad"> · it has become worse since</b>}
        </Fact>
        {next && (
          <Fact name="Next">
            {next.what} <Distance at={next.at} as="in" />{' '}
            <span class="note">
              at <Time at={next.at} as="clock" />
            </span>
          </Fact>
        )}
        <Fact name="Reported">
          <Time at={of.created_at} />{' '}
          <span class="note">
            <Distance at={of.created_at} as="ago" />
          </span>
        </Fact>
        {reference && (
          <Fact name="Reference">
            <Reference of={reference} />
          </Fact>
        )}
      </dl>
      <Timeline of={of} />
      <p class="note">
        {of.alert_type}, notification <code>{of.notification_id}</code>
      </p>
    </>
  );
};

const DrawerActions = ({ of }: { readonly of: Notification }) => {
  const { actions, view } = useShown();
  const owner = of.acknowledged_by;
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(`${location.origin}${actions.addressOf({ ...view, wall: false })}`);
      actions.say({ text: 'The link is copied.', isBad: false });
    } catch (error) {
      // Without https there is no clipboard (TypeError). The reader may forbid it (DOMException).
      if (!(error instanceof TypeError || error instanceof DOMException)) throw error;
      actions.say({ text: 'The browser does not allow it. Copy the address of the page.', isBad: true });
    }
  };
  return (
    <div class="row">
      {alertState(of).stage === 'done' && owner === undefined ? null : (
        <Button look={isTaken(of) ? 'small' : 'small primary'} onClick={() => actions.openDialog({ kind: 'take', of })}>
          {owner === undefined ? 'Take' : `Take over from ${owner}`}
        </Button>
      )}
      {of.status === 'in_progress' ? (
        <Button
          look="small stop"
          aria-label={`Stop: ${alertTitle(of)}`}
          onClick={() => actions.openDialog({ kind: 'stop', of })}
        >
          Stop…
        </Button>
      ) : null}
      <Button look="small" onClick={() => void copy()}>
        Copy link
      </Button>
    </div>
  );
};
