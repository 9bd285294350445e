import type { Destination } from '../../../src/calls/model/outcome-events.ts';
import { FINAL_STATES } from '../../../src/calls/state/recipient.ts';
import type { NotificationView } from '../../../src/calls/state/view.ts';
import { idOf, type SentRequest } from './senders.ts';
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
    const people = sent.request.waves.flat().length;
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

/** The first who has a notification in hand stays, and everybody is told of them and of nobody else. */
export const brokenAcknowledgements = (
  { key, acknowledgements }: SentRequest,
  { id, acknowledgedBy }: NotificationView,
  { mode, published }: World,
): readonly string[] => {
  const answers = acknowledgements.flatMap(({ answers: own }) => own);
  const asked: readonly unknown[] = acknowledgements.map(({ by }) => by);
  const isInHand = acknowledgedBy !== undefined;
  const told = mode.destinations.flatMap((to) => {
    const own = published.filter((event) => event.to === to && event.type === 'Notification.Acknowledged');
    const names = new Set(own.filter(({ subject }) => subject === id).map(({ data }) => data['acknowledged_by']));
    const isRight = isInHand ? names.size === 1 && names.has(acknowledgedBy) : names.size === 0;
    return isRight ? [] : [`the ${to} is told that ${[...names].join()} has ${key} in hand, not ${acknowledgedBy}`];
  });
  const others = answers.filter((by) => by !== acknowledgedBy);
  return [
    ...told,
    ...those([
      others.length > 0 && `${others.join()} has ${key} in hand, and then ${acknowledgedBy}`,
      isInHand && !asked.includes(acknowledgedBy) && `${acknowledgedBy} never had ${key} in hand`,
      acknowledgements.some(({ answers: own }) => own.length === 0) && `${key} could not be acknowledged`,
    ]),
  ];
};

/** Whatever has reached too few, and was not stopped, is asked about, and nothing else. */
export const brokenAttention = async (world: World): Promise<readonly string[]> => {
  const asked = new Set((await world.needingAttention()).map(({ id }) => id));
  const broken: string[] = [];
  for (const sent of world.senders.sent) {
    const view = await world.viewOf(sent);
    if (view === undefined) continue;
    const isMeant = view.status !== 'stopped' && view.reached < (view.confirmationsNeeded ?? 1);
    if (asked.has(view.id) !== isMeant) broken.push(`${sent.key} ${isMeant ? 'needs attention' : 'needs none'}`);
  }
  return broken;
};
