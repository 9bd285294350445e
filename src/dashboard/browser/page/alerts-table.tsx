import { useState } from 'preact/hooks';

import { type Alerts, counted } from '../model/alert-order.ts';
import { alertState, alertTitle, alertTypeText, isDrill, isFire, isTaken, needsPerson } from '../model/alert-state.ts';
import type { Notification } from '../model/answers.ts';
import { isOpening } from '../model/page-state.ts';
import { confirmedText, dotsOf, peopleText } from '../model/people.ts';
import { MOST_NOTIFICATIONS } from '../model/questions.ts';
import { isPhoneOff } from '../model/refresh.ts';
import { nextOf } from '../model/timeline.ts';
import { Button } from '../parts/button.tsx';
import { numbers } from '../parts/numbers.ts';
import { Reference } from '../parts/reference.tsx';
import { usePart, useShown } from '../parts/shown.ts';
import { ViewLink } from '../parts/view-link.tsx';
import { Distance, Mark, PartNote, Time } from '../parts/words.tsx';

/** More rows would push figures and plot off a wall. */
const MOST_ON_WALL = 5;

const COLUMNS = ['State', 'What and where', 'People', 'Since', 'Owner'];

/** All alerts of 24 hours, in three sections with the same columns. On a phone, each alert is a card. */
export const AlertsTable = () => {
  const { alerts, state, view } = useShown();
  const { busy } = usePart('attention');
  const note = useNote();
  const [isOpen, setOpen] = useState(false);
  const { needsYou, running, rest, worst } = alerts;
  const shown = view.wall ? worst.slice(0, MOST_ON_WALL) : worst;
  const more = worst.slice(shown.length);
  const fires = more.filter(isFire).length;
  const isCalm = isOpening(state) || worst.length === 0;
  return (
    <section id="alerts" class="card alerts" aria-label="Alerts" aria-busy={busy} tabIndex={-1}>
      <PartNote note={note} />
      {isCalm ? <Calm /> : null}
      {isOpening(state) || (isCalm && rest.length === 0) ? null : (
        <table role="table" aria-label="Alerts">
          <thead role="rowgroup" class={isCalm && !isOpen ? 'unseen' : ''}>
            <tr role="row">
              {COLUMNS.map((name) => (
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
          <Section name="Needs you" of={needsYou} shown={shown} />
          <Section name="Running" of={running} shown={shown} />
          {view.wall || rest.length === 0 ? null : (
            <tbody role="rowgroup">
              <tr role="row" class="section">
                <th scope="rowgroup" role="rowheader" colSpan={6}>
                  <button type="button" class="link" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
                    <span aria-hidden="true">{isOpen ? '▾' : '▸'}</span> Taken and resolved{' '}
                    <span class="note">
                      {numbers.count(rest.length)}
                      {rest.length >= MOST_NOTIFICATIONS ? ' or more' : ''} in 24 h
                    </span>
                  </button>
                </th>
              </tr>
              {isOpen ? rest.map((each) => <Row key={each.notification_id} of={each} />) : null}
            </tbody>
          )}
        </table>
      )}
      {more.length === 0 ? null : (
        <p class="calm">{`+${more.length} more${fires === 0 ? '' : `, of them ${counted(fires, 'fire')}`}`}</p>
      )}
    </section>
  );
};

/** The time of the alerts, if they are not current. The alerts come from two answers: the note of either is shown. */
const useNote = (): string | undefined => {
  const [attention, list] = [usePart('attention').note, usePart('notifications').note];
  return attention ?? list;
};

/** In place of rows. It never says that all is well while the page cannot know. */
const Calm = () => {
  const { state } = useShown();
  const { answer, busy } = usePart('attention');
  const note = useNote();
  const isUnused = isPhoneOff(state.parts.attention?.trouble) && !state.sawPhone;
  const words =
    busy || isOpening(state)
      ? 'Loading the alerts…'
      : isUnused
        ? 'This service does not phone: there are no alerts (PHONE=off).'
        : answer === undefined
          ? 'The page cannot tell whether there are alerts.'
          : note === undefined
            ? 'No alert needs you.'
            : 'No alert needed you then.';
  return <p class="calm">{words}</p>;
};

interface SectionProps {
  readonly name: string;
  readonly of: readonly Notification[];
  /** The alerts of all sections that have a row. */
  readonly shown: readonly Notification[];
}

const Section = ({ name, of, shown }: SectionProps) => {
  const { alerts, view, actions } = useShown();
  const rows = of.filter((each) => shown.includes(each));
  if (rows.length === 0) return null;
  const drills = of.filter(isDrill).length;
  const others = of.length - drills;
  const over = of.filter((each) => isSeeable(each, alerts));
  return (
    <tbody role="rowgroup">
      <tr role="row" class="section">
        <th scope="rowgroup" role="rowheader" colSpan={view.wall ? 5 : 6}>
          {name}{' '}
          <span class="note">
            {[...(others > 0 ? [others] : []), ...(drills > 0 ? [counted(drills, 'drill')] : [])].join(' · ')}
          </span>{' '}
          {over.length < 2 || view.wall ? null : (
            <Button look="small" onClick={() => actions.see(over)}>
              Seen: all {over.length} that are over
            </Button>
          )}
        </th>
      </tr>
      {rows.map((each) => (
        <Row key={each.notification_id} of={each} />
      ))}
    </tbody>
  );
};

/** It only has to be seen. */
const isSeeable = (of: Notification, { unseen }: Alerts): boolean =>
  unseen.has(of.notification_id) && alertState(of).stage === 'done';

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
        {of.worsened_since_acknowledged && <span class="note"> It has become worse</span>}
      </td>
      <td role="cell" class="what">
        <ViewLink to={{ ...view, notification: id }} class="alert-link" id={`alert-${id}`}>
          <b>{alertTypeText(type)}</b> {details && <bdi>{details}</bdi>}
        </ViewLink>
        <span class="note more">
          {reference && <Reference of={reference} />}
          {next && (
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
        {confirmedText(recipients)}
        <span class="unseen">: {people}</span>
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
        {of.acknowledged_by ? <bdi>{of.acknowledged_by}</bdi> : <span class="note">Nobody</span>}
      </td>
      {view.wall ? null : (
        <td role="cell" class="actions">
          <RowActions of={of} />
        </td>
      )}
    </tr>
  );
};

/** Only the actions that the row needs: a taken alert is taken over in its drawer. */
const RowActions = ({ of }: { readonly of: Notification }) => {
  const { alerts, actions } = useShown();
  const title = alertTitle(of);
  return (
    <>
      {!isTaken(of) && alertState(of).stage !== 'done' ? (
        <Button
          look={needsPerson(of) ? 'small primary' : 'small'}
          aria-label={`Take: ${title}`}
          onClick={() => actions.openDialog({ kind: 'take', of })}
        >
          Take
        </Button>
      ) : null}
      {isSeeable(of, alerts) ? (
        <Button look="small" aria-label={`Seen: ${title}`} onClick={() => actions.see([of])}>
          Seen
        </Button>
      ) : null}
      {of.status === 'in_progress' ? (
        <Button look="small" aria-label={`Stop: ${title}`} onClick={() => actions.openDialog({ kind: 'stop', of })}>
          Stop
        </Button>
      ) : null}
    </>
  );
};
