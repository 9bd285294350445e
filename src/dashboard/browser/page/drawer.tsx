import { useEffect, useRef } from 'preact/hooks';

import { alertState, alertTitle, alertTypeText, isTaken } from '../model/alert-state.ts';
import type { Notification } from '../model/answers.ts';
import { isPhoneOff, isUnknown, troubleText } from '../model/refresh.ts';
import { nextOf } from '../model/timeline.ts';
import { Button } from '../parts/button.tsx';
import { goTo } from '../parts/view-link.tsx';
import { Reference } from '../parts/reference.tsx';
import { type Shown, usePart, useShown } from '../parts/shown.ts';
import { Distance, Mark, PartNote, Skeleton, Time } from '../parts/words.tsx';
import { Timeline } from './timeline.tsx';

/** The timeline of the open alert, at the side: health bar and alerts stay in sight. The address holds it. */
export const Drawer = () => {
  const { view } = useShown();
  return view.notification === undefined ? null : <Opened key={view.notification} id={view.notification} />;
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
  const { state, freshest } = shown;
  const { note } = usePart('story');
  const of = freshest.get(id);
  const trouble = state.parts.story?.trouble;
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return (
    <div class="drawer" role="dialog" aria-labelledby="story-title">
      <div class="drawer-head">
        <h2 id="story-title" ref={heading} tabIndex={-1}>
          {of === undefined ? 'Alert' : alertTypeText(of.alert_type)}
          {of?.details && <bdi class="place">{of.details}</bdi>}
        </h2>
        <Button look="small" aria-label="Close the alert" onClick={() => closeAlert(shown)}>
          ✕
        </Button>
      </div>
      <PartNote note={of === undefined ? undefined : note} />
      {of !== undefined ? (
        <Story of={of} />
      ) : isUnknown(trouble) ? (
        <p>The service does not know this alert. The link is wrong, or the alert was deleted after its retention.</p>
      ) : isPhoneOff(trouble) ? (
        <p>This service does not phone (PHONE=off).</p>
      ) : trouble !== undefined ? (
        <p class="trouble">{troubleText(trouble)}</p>
      ) : (
        <Skeleton />
      )}
    </div>
  );
};

const Story = ({ of }: { readonly of: Notification }) => {
  const { notification_id: id, alert_type: type, acknowledged_by: owner, acknowledged_at: takenAt, reference } = of;
  const next = nextOf(of);
  return (
    <>
      <p class="story-state">
        <Mark of={alertState(of)} />{' '}
        {of.stopped_at && (
          <span class="note">
            at <Time at={of.stopped_at} as="clock" />
          </span>
        )}
      </p>
      <StoryActions of={of} />
      <dl class="facts">
        <dt>Owner</dt>
        <dd>
          {owner ? <bdi>{owner}</bdi> : 'Nobody has taken it'}
          {takenAt && (
            <span class="note">
              {' '}
              since <Time at={takenAt} as="clock" />
            </span>
          )}
          {of.worsened_since_acknowledged && <b class="bad"> · it has become worse since</b>}
        </dd>
        {next && (
          <>
            <dt>Next</dt>
            <dd>
              {next.what} <Distance at={next.at} as="in" />{' '}
              <span class="note">
                at <Time at={next.at} as="clock" />
              </span>
            </dd>
          </>
        )}
        <dt>Reported</dt>
        <dd>
          <Time at={of.created_at} />{' '}
          <span class="note">
            <Distance at={of.created_at} as="ago" />
          </span>
        </dd>
        {reference && (
          <>
            <dt>Reference</dt>
            <dd>
              <Reference of={reference} />
            </dd>
          </>
        )}
      </dl>
      <Timeline of={of} />
      <p class="note">
        {type}, notification <code>{id}</code>
      </p>
    </>
  );
};

const StoryActions = ({ of }: { readonly of: Notification }) => {
  const { actions, view } = useShown();
  const { stage } = alertState(of);
  const owner = of.acknowledged_by;
  const copy = async (): Promise<void> => {
    const link = `${location.origin}${actions.addressOf({ ...view, wall: false })}`;
    try {
      await navigator.clipboard.writeText(link);
      actions.say({ text: 'The link is copied.', isBad: false });
    } catch (error) {
      // Without https there is no clipboard (TypeError). The reader may forbid it (DOMException).
      if (!(error instanceof TypeError || error instanceof DOMException)) throw error;
      actions.say({ text: 'The browser does not allow it. Copy the address of the page.', isBad: true });
    }
  };
  return (
    <div class="row">
      {stage === 'done' && owner === undefined ? null : (
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
