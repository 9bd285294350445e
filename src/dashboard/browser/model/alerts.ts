import type { Notification, Recipient } from './answers.ts';

/** A status or an outcome in words; the tone picks its sign and its color. */
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

/** The words of a status or an outcome; a new one is shown as the service writes it. */
export const wordingOf = (status: string): Wording => WORDS.get(status) ?? { text: status, tone: 'neutral' };

/** `ConfirmedFire` → `Confirmed fire`. */
export const alertTypeText = (alertType: string): string => {
  const words = alertType.replace(/([a-z])(?=[A-Z])/g, '$1 ').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
};

const recipientText = ({ recipient, name }: Pick<Recipient, 'recipient' | 'name'>): string =>
  name === undefined ? recipient : `${name} (${recipient})`;

/** How many recipients have each status, in the order in which they first occur: `2 heard, 1 not reached`. */
export const recipientsText = (recipients: readonly Pick<Recipient, 'status'>[]): string => {
  const counts = new Map<string, number>();
  for (const { status } of recipients) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [...counts].map(([status, count]) => `${count} ${wordingOf(status).text.toLowerCase()}`).join(', ');
};

type Outcome = Pick<Notification, 'status' | 'reached' | 'recipients' | 'confirmations_needed'>;

const withStatus = (recipients: readonly Recipient[], ...statuses: readonly string[]): readonly Recipient[] =>
  recipients.filter(({ status }) => statuses.includes(status));

/**
 * The outcome of a notification, by its recipients: `completed` alone would hide a failure. Only a notification that reached too few is
 * bad: the strip lists the same notifications.
 */
export const markOf = ({ status, reached, recipients, confirmations_needed: needed = 1 }: Outcome): Wording => {
  const confirmed = withStatus(recipients, 'confirmed');
  const [first] = confirmed;
  if (first !== undefined && confirmed.length < needed && status !== 'stopped') {
    return {
      text: `Confirmed by ${confirmed.length} of ${needed}`,
      tone: status === 'in_progress' ? 'pending' : 'bad',
    };
  }
  if (first !== undefined) {
    const by = confirmed.length === 1 ? recipientText(first) : `${confirmed.length} people`;
    return { text: `Confirmed by ${by}`, tone: 'good' };
  }
  if (status === 'in_progress' || status === 'stopped') return wordingOf(status);
  const unreached = withStatus(recipients, 'not_reached', 'failed', 'cannot_go');
  if (unreached.length > 0) {
    return { text: `${unreached.length} not reached`, tone: reached < needed ? 'bad' : 'neutral' };
  }
  return recipients.length > 0 && recipients.every((each) => each.status === 'heard')
    ? { text: 'All heard', tone: 'good' }
    : wordingOf(status);
};

/** `1 of 3 reached, 1 waiting, 1 ringing` */
export const progressText = ({ reached, recipients }: Pick<Notification, 'reached' | 'recipients'>): string => {
  const open = recipientsText(withStatus(recipients, 'waiting', 'ringing', 'speaking'));
  return `${reached} of ${recipients.length} reached${open === '' ? '' : `, ${open}`}`;
};

/** The next wave of a notification and its time (ISO 8601); without waves, the next attempt. */
export const nextOf = ({
  status,
  recipients,
  next_wave_at: wave,
}: Pick<Notification, 'status' | 'recipients' | 'next_wave_at'>): { what: string; at: string } | undefined => {
  if (status !== 'in_progress') return undefined;
  if (wave !== undefined) return { what: 'next wave', at: wave };
  const [attempt] = recipients.flatMap(({ next_attempt_at: at }) => at ?? []).sort();
  return attempt === undefined ? undefined : { what: 'next attempt', at: attempt };
};

/** The recipients, wave after wave, in the order of the request. Without waves, the key is undefined. */
export const wavesOf = ({
  recipients,
}: Pick<Notification, 'recipients'>): ReadonlyMap<number | undefined, readonly Recipient[]> =>
  Map.groupBy(
    recipients.toSorted((left, right) => (left.wave ?? 0) - (right.wave ?? 0)),
    ({ wave }) => wave,
  );
