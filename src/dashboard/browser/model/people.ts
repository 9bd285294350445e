import { wordingOf } from './alert-state.ts';
import type { Recipient } from './answers.ts';

/** How far the calls to a recipient are. Each has its own shape. Only a pressed key fills a dot: a voicemail hears a message, too. */
export type Dot = 'confirmed' | 'played' | 'calling' | 'open' | 'lost';

const DOTS: ReadonlyMap<string, Dot> = new Map([
  ['confirmed', 'confirmed'],
  ['heard', 'played'],
  ['ringing', 'calling'],
  ['speaking', 'calling'],
  ['not_reached', 'lost'],
  ['failed', 'lost'],
  ['cannot_go', 'lost'],
]);

/** More dots do not fit into the column. */
const MOST_DOTS = 5;

const RANK: readonly Dot[] = ['confirmed', 'played', 'calling', 'open', 'lost'];

type Statuses = readonly Pick<Recipient, 'status'>[];

/** A dot for each recipient, confirmed people first; at most five. */
export const dotsOf = (recipients: Statuses): readonly Dot[] =>
  recipients
    .map(({ status }) => DOTS.get(status) ?? 'open')
    .sort((left, right) => RANK.indexOf(left) - RANK.indexOf(right))
    .slice(0, MOST_DOTS);

/** `1 of 3`: the people who confirmed, of all. `Played to 2`: no person is known to have heard the message. */
export const confirmedText = (recipients: Statuses): string => {
  const count = (of: string): number => recipients.filter(({ status }) => status === of).length;
  const [confirmed, played] = [count('confirmed'), count('heard')];
  return confirmed === 0 && played > 0 ? `Played to ${played}` : `${confirmed} of ${recipients.length}`;
};

/** How many recipients have each status, in the order in which they first occur: `1 not reached, 2 waiting`. */
export const peopleText = (recipients: Statuses): string => {
  const counts = new Map<string, number>();
  for (const { status } of recipients) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [...counts].map(([status, count]) => `${count} ${wordingOf(status).text.toLowerCase()}`).join(', ');
};
