import { wordingOf } from './alert-state.ts';
import type { Notification, Recipient } from './answers.ts';

/** How far the calls to a recipient are: a filled, half, crossed or empty dot. */
export type Dot = 'reached' | 'calling' | 'lost' | 'open';

const DOTS: ReadonlyMap<string, Dot> = new Map([
  ['heard', 'reached'],
  ['confirmed', 'reached'],
  ['ringing', 'calling'],
  ['speaking', 'calling'],
  ['not_reached', 'lost'],
  ['failed', 'lost'],
  ['cannot_go', 'lost'],
]);

/** More dots do not fit into the column. */
const MOST_DOTS = 6;

const RANK: readonly Dot[] = ['reached', 'calling', 'open', 'lost'];

/** A dot for each recipient, reached people first; at most six. */
export const dotsOf = (recipients: readonly Pick<Recipient, 'status'>[]): readonly Dot[] =>
  recipients
    .map(({ status }) => DOTS.get(status) ?? 'open')
    .sort((left, right) => RANK.indexOf(left) - RANK.indexOf(right))
    .slice(0, MOST_DOTS);

/** `1 of 3`: the people reached, of all. */
export const reachedText = ({ reached, recipients }: Pick<Notification, 'reached' | 'recipients'>): string =>
  `${reached} of ${recipients.length}`;

/** How many recipients have each status, in the order in which they first occur: `1 not reached, 2 waiting`. */
export const peopleText = (recipients: readonly Pick<Recipient, 'status'>[]): string => {
  const counts = new Map<string, number>();
  for (const { status } of recipients) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [...counts].map(([status, count]) => `${count} ${wordingOf(status).text.toLowerCase()}`).join(', ');
};
