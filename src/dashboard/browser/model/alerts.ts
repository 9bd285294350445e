import type { Notification, Recipient } from './answers.ts';

/** How a status or an outcome is shown: a word, and a tone that says the same. */
export interface Wording {
  readonly text: string;
  readonly tone: 'good' | 'pending' | 'bad' | 'neutral';
}

const WORDS: ReadonlyMap<string, Wording> = new Map([
  ['in_progress', { text: 'In progress', tone: 'pending' }],
  ['completed', { text: 'Completed', tone: 'neutral' }],
  ['stopped', { text: 'Stopped', tone: 'neutral' }],
  ['waiting', { text: 'Waiting', tone: 'pending' }],
  ['ringing', { text: 'Ringing', tone: 'pending' }],
  ['speaking', { text: 'Speaking', tone: 'pending' }],
  ['heard', { text: 'Heard', tone: 'good' }],
  ['confirmed', { text: 'Confirmed', tone: 'good' }],
  ['unconfirmed', { text: 'Heard, not confirmed', tone: 'bad' }],
  ['cannot_go', { text: 'Cannot go', tone: 'bad' }],
  ['not_reached', { text: 'Not reached', tone: 'bad' }],
  ['failed', { text: 'Failed', tone: 'bad' }],
  ['cut_short', { text: 'Cut short by the callee', tone: 'neutral' }],
  ['no_answer', { text: 'No answer', tone: 'bad' }],
  ['busy', { text: 'Busy', tone: 'bad' }],
  ['declined', { text: 'Declined', tone: 'bad' }],
  ['refused', { text: 'Refused', tone: 'bad' }],
  ['unknown', { text: 'Unknown', tone: 'neutral' }],
]);

/** The words of a status or an outcome; one that is new is shown as the service writes it. */
export const wordingOf = (status: string): Wording => WORDS.get(status) ?? { text: status, tone: 'neutral' };

/** `ConfirmedFire` → `Confirmed fire`. */
export const alertTypeText = (alertType: string): string => {
  const words = alertType.replace(/([a-z])(?=[A-Z])/g, '$1 ').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/** How many recipients have each status, in the order in which they first occur: `2 heard, 1 not reached`. */
export const recipientsText = (recipients: readonly Pick<Recipient, 'status'>[]): string => {
  const counts = new Map<string, number>();
  for (const { status } of recipients) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [...counts].map(([status, count]) => `${count} ${wordingOf(status).text.toLowerCase()}`).join(', ');
};

const UNREACHED: ReadonlySet<string> = new Set(['not_reached', 'failed', 'cannot_go']);

type Reached = Pick<Notification, 'status' | 'recipients' | 'confirmations_needed'>;

const confirmedOf = ({ recipients }: Pick<Notification, 'recipients'>): readonly Recipient[] =>
  recipients.filter((each) => each.status === 'confirmed');

/** How many people of a notification were not reached; nobody of one that as many as needed have confirmed, or that was stopped. */
export const unreachedOf = (notification: Reached): number =>
  notification.status === 'stopped' || confirmedOf(notification).length >= (notification.confirmations_needed ?? 1)
    ? 0
    : notification.recipients.filter((each) => UNREACHED.has(each.status)).length;

/** What became of a notification, by its people: that nobody was reached must not hide behind "completed". */
export const markOf = (notification: Reached): Wording => {
  const { status, recipients, confirmations_needed: needed = 1 } = notification;
  const [confirmed, ...others] = confirmedOf(notification);
  if (confirmed !== undefined && others.length + 1 < needed && status !== 'stopped') {
    return {
      text: `Confirmed by ${others.length + 1} of ${needed}`,
      tone: status === 'in_progress' ? 'pending' : 'bad',
    };
  }
  if (confirmed !== undefined) {
    const by = others.length === 0 ? confirmed.recipient : `${others.length + 1} people`;
    return { text: `Confirmed by ${by}`, tone: 'good' };
  }
  if (status === 'in_progress' || status === 'stopped') return wordingOf(status);
  const unreached = unreachedOf(notification);
  if (unreached > 0) return { text: `${unreached} not reached`, tone: 'bad' };
  const allHeard = recipients.length > 0 && recipients.every((each) => each.status === 'heard');
  return allHeard ? { text: 'All heard', tone: 'good' } : wordingOf(status);
};

/** What comes next for a notification, and when (ISO 8601): the next attempt to reach somebody, or the next wave. */
export const nextOf = ({
  status,
  recipients,
  next_wave_at: wave,
}: Pick<Notification, 'status' | 'recipients' | 'next_wave_at'>): { what: string; at: string } | undefined => {
  if (status !== 'in_progress') return undefined;
  const [attempt] = recipients.flatMap(({ next_attempt_at: at }) => at ?? []).sort();
  if (wave !== undefined && (attempt === undefined || wave <= attempt)) return { what: 'next wave', at: wave };
  return attempt === undefined ? undefined : { what: 'next attempt', at: attempt };
};

/** Lists of so many people are shown wholly. */
const SHORT_LIST = 8;

/** Whether nothing happened to a person that has to be read: heard at the first attempt, or never called. */
const isUneventful = ({ status, attempts }: Recipient): boolean =>
  (status === 'heard' && attempts.length === 1) ||
  ((status === 'waiting' || status === 'stopped') && attempts.length === 0);

/** One wave of a notification; people of whom there is nothing to tell are folded, where there are many people. */
export interface Wave {
  /** Undefined where the notification has no waves. */
  readonly wave: number | undefined;
  readonly shown: readonly Recipient[];
  readonly folded: readonly Recipient[];
}

/** The people of a notification, wave after wave, in the order of the request. */
export const wavesOf = ({ recipients }: Pick<Notification, 'recipients'>): readonly Wave[] => {
  const folds = recipients.length > SHORT_LIST;
  const numbers = [...new Set(recipients.map(({ wave }) => wave))].sort((a, b) => (a ?? 0) - (b ?? 0));
  return numbers.map((wave) => {
    const people = recipients.filter((each) => each.wave === wave);
    return {
      wave,
      shown: people.filter((each) => !folds || !isUneventful(each)),
      folded: people.filter((each) => folds && isUneventful(each)),
    };
  });
};
