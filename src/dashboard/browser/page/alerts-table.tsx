import type { ComponentChildren } from 'preact';
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
import { useNote, usePart, useShown } from '../parts/shown.ts';
import { ViewLink } from '../parts/view-link.tsx';
import { Distance, Mark, PartNote, Time } from '../parts/words.tsx';

/** More rows would push figures and plot off a wall. */
const MOST_ON_WALL = 5;

const COLUMNS = ['State', 'What and where', 'People', 'Since', 'Owner', 'Actions'];

/** All alerts of 24 hours, in three sections with the same columns. On a phone, each alert is a card. */
export const AlertsTable = () => {
  const { alerts, state, view } = useShown();
  const { busy } = usePart('attention');
  const note = useNote('attention', 'notifications');
  const [isOpen, setOpen] = useState(false);
  const { needsYou, running, rest, worst } = alerts;
  const shown = new Set(view.wall ? worst.slice(0, MOST_ON_WALL) : worst);
  const more = worst.filter((each) => !shown.has(each));
  const fires = more.filter(isFire).length;
  const isCut = (state.parts.notifications?.answer?.notifications.length ?? 0) >= MOST_NOTIFICATIONS;
  const isCalm = isOpening(state) || worst.length === 0;
  const isEmpty = isOpening(state) || (isCalm && (rest.length === 0 || view.wall));
  return (
    <section id="alerts" class="card alerts" aria-label="Alerts" aria-busy={busy} tabIndex={-1}>
      <PartNote note={note} />
      {isCalm ? <Calm note={note} /> : null}
      {isEmpty ? null : (
        // A display other than a table's would take the roles away.
        <table role="table" aria-label="Alerts">
          <thead role="rowgroup" class={isCalm && !isOpen ? 'unseen' : ''}>
            <tr role="row">
              {COLUMNS.map((name) => (
                <th key={name} scope="col" role="columnheader" class={name.toLowerCase()}>
                  {name === 'Actions' ? <span class="unseen">{name}</span> : name}
                </th>
              ))}
            </tr>
          </thead>
          <OpenSection name="Needs you" of={needsYou} shown={shown} />
          <OpenSection name="Running" of={running} shown={shown} />
          {view.wall || rest.length === 0 ? null : (
            <Section of={isOpen ? rest : []}>
              <button type="button" class="link" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
                <span aria-hidden="true">{isOpen ? '▾' : '▸'}</span> Taken and resolved{' '}
                <span class="note">
                  {numbers.count(rest.length)}
                  {isCut ? ' or more' : ''} in 24 h
                </span>
              </button>
            </Section>
          )}
        </table>
      )}
      {more.length === 0 ? null : (
        <p class="calm">{`+${more.length} more${fires === 0 ? '' : `, of them ${counted(fires, 'fire')}`}`}</p>
      )}
    </section>
  );
};

/** In place of rows. It never says that all is well while the page cannot know. */
const Calm = ({ note }: { readonly note: string | undefined }) => {
  const { state } = useShown();
  const { answer, busy } = usePart('attention');
  const wordsNow = (): string => {
    if (busy || isOpening(state)) return 'Loading the alerts…';
    if (isPhoneOff(state.parts.attention?.trouble) && !state.sawPhone) {
      return 'This service does not phone: there are no alerts (PHONE=off).';
    }
    if (answer === undefined) return 'The page cannot tell whether there are alerts.';
    return note === undefined ? 'No alert needs you.' : 'No alert needed you then.';
  };
  return <p class="calm">{wordsNow()}</p>;
};

/** `children`: the head. */
const Section = ({ of, children }: { readonly of: readonly Notification[]; readonly children: ComponentChildren }) => (
  <tbody role="rowgroup">
    <tr role="row" class="section">
      <th scope="rowgroup" role="rowheader" colSpan={COLUMNS.length}>
        {children}
      </th>
    </tr>
    {of.map((each) => (
      <Row key={each.notification_id} of={each} />
    ))}
  </tbody>
);

interface OpenSectionProps {
  readonly name: string;
  readonly of: readonly Notification[];
  /** The alerts of both sections that have a row. */
  readonly shown: ReadonlySet<Notification>;
}

const OpenSection = ({ name, of, shown }: OpenSectionProps) => {
  const { alerts, view, actions } = useShown();
  const rows = of.filter((each) => shown.has(each));
  if (rows.length === 0) return null;
  const drills = of.filter(isDrill).length;
  const counts = [of.length > drills ? of.length - drills : [], drills > 0 ? counted(drills, 'drill') : []].flat();
  const over = of.filter((each) => isSeeable(each, alerts));
  return (
    <Section of={rows}>
      {name} <span class="note">{counts.join(' · ')}</span>{' '}
      {over.length < 2 || view.wall ? null : (
        <Button look="small" onClick={() => actions.see(over)}>
          Seen: all {over.length} that are over
        </Button>
      )}
    </Section>
  );
};

/** Whether a reader only has to see the alert: it is new, and its calls have succeeded or were stopped. */
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
  const people = peopleText(recipients);
  return (
    <tr role="row" class={`alert ${toneOf(of)}`} data-alert={id} aria-current={view.notification === id}>
      <td role="cell" class="state">
        {alerts.unseen.has(id) && <span class="new">New</span>} <Mark of={alertState(of)} />
        {of.worsened_since_acknowledged && <span class="note"> It has become worse</span>}
      </td>
      <td role="cell" class="what">
        <ViewLink to={{ ...view, notification: id }} class="alert-link" id={`alert-${id}`}>
          <b>{alertTypeText(type)}</b> {details && <bdi>{details}</bdi>}
        </ViewLink>
        <span class="note row more">
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
      <td role="cell" class="actions">
        {view.wall ? null : <RowActions of={of} />}
      </td>
    </tr>
  );
};

/** Only the actions that the row needs: a taken alert is taken over in its drawer. */
const RowActions = ({ of }: { readonly of: Notification }) => {
  const { alerts, actions } = useShown();
  const button = (words: string, onClick: () => void, look = '') => (
    <Button look={`small ${look}`} aria-label={`${words}: ${alertTitle(of)}`} onClick={onClick}>
      {words}
    </Button>
  );
  const open = (kind: 'take' | 'stop') => () => actions.openDialog({ kind, of });
  return (
    <>
      {!isTaken(of) &&
        alertState(of).stage !== 'done' &&
        button('Take', open('take'), needsPerson(of) ? 'primary' : '')}
      {isSeeable(of, alerts) && button('Seen', () => actions.see([of]))}
      {of.status === 'in_progress' && button('Stop', open('stop'))}
    </>
  );
};
