import { useState } from 'preact/hooks';

import { alertState, alertTitle, alertTypeText, isDrill, isTaken, needsPerson } from '../model/alert-state.ts';
import type { Notification } from '../model/answers.ts';
import { dotsOf, peopleText, reachedText } from '../model/people.ts';
import { isPhoneOff } from '../model/refresh.ts';
import { nextOf } from '../model/timeline.ts';
import { numbers } from '../parts/numbers.ts';
import { Reference } from '../parts/reference.tsx';
import { usePart, useShown } from '../parts/shown.ts';
import { ViewLink } from '../parts/view-link.tsx';
import { Distance, Mark, PartNote, Time } from '../parts/words.tsx';

/** All alerts of 24 hours, in three sections with the same columns. On a phone, each alert is a card. */
export const AlertsTable = () => {
  const { alerts, state, view } = useShown();
  const { answer, busy, note } = usePart('attention');
  const list = usePart('notifications');
  const [isOpen, setOpen] = useState(false);
  const { needsYou, running, rest } = alerts;
  const isCalm = needsYou.length === 0 && running.length === 0;
  const hasNoPhone = isPhoneOff(state.parts.attention?.trouble) && answer === undefined;
  return (
    <section id="alerts" class="card alerts" aria-label="Alerts" aria-busy={busy} tabIndex={-1}>
      <PartNote note={note ?? list.note} />
      {!isCalm ? null : (
        <p class="calm">
          {busy
            ? 'Loading the alerts…'
            : hasNoPhone
              ? 'This service does not phone: there are no alerts (PHONE=off).'
              : 'No alert needs you.'}
        </p>
      )}
      {isCalm && rest.length === 0 ? null : (
        <table role="table" aria-label="Alerts">
          <thead role="rowgroup" class={isCalm && !isOpen ? 'unseen' : ''}>
            <tr role="row">
              {['State', 'What and where', 'People', 'Since', 'Owner'].map((name) => (
                <th key={name} scope="col" role="columnheader">
                  {name}
                </th>
              ))}
              {view.wall ? null : (
                <th scope="col" role="columnheader">
                  <span class="unseen">Actions</span>
                </th>
              )}
            </tr>
          </thead>
          <Section name="Needs you" of={needsYou} />
          <Section name="Running" of={running} />
          {view.wall || rest.length === 0 ? null : (
            <tbody role="rowgroup">
              <tr role="row" class="section">
                <th scope="rowgroup" role="rowheader" colSpan={6}>
                  <button type="button" class="link" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
                    <span aria-hidden="true">{isOpen ? '▾' : '▸'}</span> Taken and resolved{' '}
                    <span class="note">
                      {numbers.count(rest.length)}
                      {rest.length >= 100 ? ' or more' : ''} in 24 h
                    </span>
                  </button>
                </th>
              </tr>
              {isOpen ? rest.map((each) => <Row key={each.notification_id} of={each} />) : null}
            </tbody>
          )}
        </table>
      )}
    </section>
  );
};

const Section = ({ name, of }: { readonly name: string; readonly of: readonly Notification[] }) => {
  const { view } = useShown();
  if (of.length === 0) return null;
  const drills = of.filter(isDrill).length;
  const others = of.length - drills;
  return (
    <tbody role="rowgroup">
      <tr role="row" class="section">
        <th scope="rowgroup" role="rowheader" colSpan={view.wall ? 5 : 6}>
          {name}{' '}
          <span class="note">
            {[
              ...(others > 0 ? [others] : []),
              ...(drills > 0 ? [drills === 1 ? '1 drill' : `${drills} drills`] : []),
            ].join(' · ')}
          </span>
        </th>
      </tr>
      {of.map((each) => (
        <Row key={each.notification_id} of={each} />
      ))}
    </tbody>
  );
};

/** Red: its calls failed. Amber: a fire without owner. Violet: a drill. Otherwise without color. */
const toneOf = (of: Notification): string => {
  if (isDrill(of)) return 'drill';
  if (!needsPerson(of)) return isTaken(of) ? 'taken' : '';
  return alertState(of).stage === 'failed' ? 'urgent' : 'open';
};

const Row = ({ of }: { readonly of: Notification }) => {
  const { alerts, view } = useShown();
  const { notification_id: id, alert_type: type, details, reference, created_at: at, recipients } = of;
  const next = nextOf(of);
  const isUnseen = alerts.unseen.has(id);
  const people = peopleText(recipients);
  return (
    <tr role="row" class={`alert ${toneOf(of)}`} data-alert={id} aria-current={view.notification === id}>
      <td role="cell" class="state">
        {isUnseen ? <span class="new">New</span> : null} <Mark of={alertState(of)} />
        {of.worsened_since_acknowledged === true ? <span class="note"> It has become worse</span> : null}
      </td>
      <td role="cell" class="what">
        <ViewLink to={{ ...view, notification: id }} class="alert-link" id={`alert-${id}`}>
          <b>{alertTypeText(type)}</b>
          {details === undefined ? null : <bdi> {details}</bdi>}
        </ViewLink>
        <span class="note more">
          {reference === undefined ? null : <Reference of={reference} />}
          {next === undefined ? null : (
            <span>
              {next.what} <Distance at={next.at} as="in" />
            </span>
          )}
        </span>
      </td>
      <td role="cell" class="people" title={people}>
        <span class="dots" aria-hidden="true">
          {dotsOf(recipients).map((dot, index) => (
            <i key={index} class={dot} />
          ))}
        </span>{' '}
        {reachedText(of)}
        <span class="unseen"> reached: {people}</span>
      </td>
      <td role="cell" class="since">
        <span title={at}>
          <Distance at={at} as="length" />
          <span class="paper">
            {' '}
            (<Time at={at} />)
          </span>
        </span>
      </td>
      <td role="cell" class="owner">
        {of.acknowledged_by === undefined ? <span class="note">Nobody</span> : <bdi>{of.acknowledged_by}</bdi>}
      </td>
      {view.wall ? null : (
        <td role="cell" class="actions">
          <RowActions of={of} />
        </td>
      )}
    </tr>
  );
};

/** Only what the row needs: a taken alert is taken over in its drawer. */
const RowActions = ({ of }: { readonly of: Notification }) => {
  const { alerts, actions } = useShown();
  const { notification_id: id, status } = of;
  const title = alertTitle(of);
  const { stage } = alertState(of);
  const canTake = !isTaken(of) && stage !== 'done';
  const see = (): void => {
    actions.see([id]);
    actions.say({ text: `Seen: ${title}`, isBad: false, undo: () => actions.unsee(id) });
  };
  return (
    <>
      {canTake ? (
        <button
          type="button"
          class={needsPerson(of) ? 'button small primary' : 'button small'}
          aria-label={`Take: ${title}`}
          onClick={() => actions.openDialog({ kind: 'take', of })}
        >
          Take
        </button>
      ) : null}
      {alerts.unseen.has(id) && stage === 'done' ? (
        <button type="button" class="button small" aria-label={`Seen: ${title}`} onClick={see}>
          Seen
        </button>
      ) : null}
      {status === 'in_progress' ? (
        <button
          type="button"
          class="button small"
          aria-label={`Stop: ${title}`}
          onClick={() => actions.openDialog({ kind: 'stop', of })}
        >
          Stop
        </button>
      ) : null}
    </>
  );
};
