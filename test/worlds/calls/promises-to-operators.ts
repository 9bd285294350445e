import type { Destination } from '../../../src/calls/model/outcomes.ts';
import { FINAL_STATES } from '../../../src/calls/state/recipient.ts';
import type { NotificationBody } from '../../../src/calls/state/view.ts';
import { idOf, numbersOf, type SentRequest } from './senders.ts';
import { those, WHOLE_NUMBER } from './those.ts';
import type { World } from './world.ts';

// What is promised to those who watch: what they are told of outcomes, of who has something in hand, and of what needs their attention.

const FINAL: ReadonlySet<unknown> = new Set(FINAL_STATES);

/** In such a world a destination may not learn in one try what is published, or the service that it has. */
const isPublishedAgain = ({ mode }: World): boolean =>
  mode.topicFaults > 0 || mode.tableFaults > 0 || mode.outages > 0 || mode.deathsAtRequests > 0;

/** What is broken of what destinations of outcomes are told. */
export const brokenEvents = (world: World): readonly string[] =>
  world.mode.destinations.flatMap((to) => brokenEventsFor(to, world));

/** What is final is published at least once, and once if nothing fails; a repeat has the same id and time. */
const brokenEventsFor = (to: Destination, world: World): readonly string[] => {
  const { senders, mode } = world;
  const published = world.published.filter((event) => event.to === to);
  const ids = new Map<string, string>();
  const broken: string[] = [];
  for (const { id, type, subject, time, data } of published) {
    if (WHOLE_NUMBER.test(JSON.stringify(data))) broken.push(`published: a whole number in ${id}`);
    if (type === 'Notification.RecipientFinal' && !FINAL.has(data['status'])) broken.push(`published as final: ${id}`);
    const what = JSON.stringify({ type, subject, time });
    if ((ids.get(id) ?? what) !== what) broken.push(`two events have the id ${id}`);
    else if (ids.has(id) && !isPublishedAgain(world)) broken.push(`${id} was published twice to the ${to}`);
    ids.set(id, what);
  }
  for (const sent of senders.sent) {
    const id = idOf(sent);
    if (id === undefined) continue;
    const idsOf = (type: (typeof published)[number]['type']) =>
      new Set(published.filter((event) => event.subject === id && event.type === type).map((event) => event.id));
    const [finals, completed] = [idsOf('Notification.RecipientFinal'), idsOf('Notification.Completed')];
    const people = numbersOf(sent.request).length;
    if (finals.size < people)
      broken.push(`${finals.size} of ${people} recipients of ${sent.key} were published to the ${to}`);
    // Who turns out to have heard after all is published again.
    const isImproved = mode.eventDelay > 0;
    if (completed.size !== 1 && !(isImproved && completed.size === 2)) {
      broken.push(`${completed.size} ends of ${sent.key} were published to the ${to}`);
    }
  }
  return broken;
};

/** The last operator that acknowledged a notification has it in hand, and each that had it was told. */
export const brokenAcknowledgements = (
  { key, acknowledgements }: SentRequest,
  { notification_id: id, acknowledged_by: acknowledgedBy }: NotificationBody,
  { mode, published }: World,
): readonly string[] => {
  const asked: readonly unknown[] = acknowledgements.map(({ by }) => by);
  const told = mode.destinations.flatMap((to) => {
    const own = published.filter((event) => event.to === to && event.type === 'Notification.Acknowledged');
    const names = new Set(own.filter(({ subject }) => subject === id).map(({ data }) => data['acknowledged_by']));
    const isRight = acknowledgedBy === undefined ? names.size === 0 : names.has(acknowledgedBy);
    const strange = [...names].filter((name) => !asked.includes(name));
    return isRight && strange.length === 0 ? [] : [`the ${to} is told that ${[...names].join()} has ${key} in hand`];
  });
  return [
    ...told,
    ...those([
      acknowledgedBy !== undefined && !asked.includes(acknowledgedBy) && `${acknowledgedBy} never had ${key} in hand`,
      asked.length > 0 && acknowledgedBy === undefined && `nobody has ${key} in hand`,
      acknowledgements.some(({ by, answers }) => answers.some((answer) => answer !== by)) &&
        `${key} was answered with another name`,
      acknowledgements.some(({ answers: own }) => own.length === 0) && `${key} could not be acknowledged`,
    ]),
  ];
};

/** Whatever has reached too few, and was not stopped, is asked about, and nothing else. */
export const brokenAttention = async (world: World): Promise<readonly string[]> => {
  const asked = new Set((await world.needingAttention()).map((body) => body.notification_id));
  const broken: string[] = [];
  for (const sent of world.senders.sent) {
    const view = await world.viewOf(sent);
    if (view === undefined) continue;
    const isMeant = view.status !== 'stopped' && view.reached < (view.confirmations_needed ?? 1);
    if (asked.has(view.notification_id) !== isMeant)
      broken.push(`${sent.key} ${isMeant ? 'needs attention' : 'needs none'}`);
  }
  return broken;
};
