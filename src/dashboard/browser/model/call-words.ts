/** How a status or an outcome is shown: a word, and a sign and a tone that say the same. */
export interface Wording {
  readonly text: string;
  readonly tone: 'good' | 'pending' | 'bad' | 'neutral';
}

const STATUS: ReadonlyMap<string, Wording> = new Map([
  ['in_progress', { text: 'In progress', tone: 'pending' }],
  ['completed', { text: 'Completed', tone: 'neutral' }],
  ['waiting', { text: 'Waiting', tone: 'pending' }],
  ['ringing', { text: 'Ringing', tone: 'pending' }],
  ['speaking', { text: 'Speaking', tone: 'pending' }],
  ['heard', { text: 'Heard', tone: 'good' }],
  ['not_reached', { text: 'Not reached', tone: 'bad' }],
  ['failed', { text: 'Failed', tone: 'bad' }],
  ['cut_short', { text: 'Cut short by the callee', tone: 'good' }],
  ['no_answer', { text: 'No answer', tone: 'bad' }],
  ['busy', { text: 'Busy', tone: 'bad' }],
  ['declined', { text: 'Declined', tone: 'bad' }],
  ['refused', { text: 'Refused', tone: 'bad' }],
  ['unknown', { text: 'Unknown', tone: 'neutral' }],
]);

/** The words of a status or an outcome; one that is new is shown as the service writes it. */
export const wordingOf = (status: string): Wording => STATUS.get(status) ?? { text: status, tone: 'neutral' };

/** `ConfirmedFire` → `Confirmed fire`. */
export const alertTypeText = (alertType: string): string => {
  const words = alertType.replace(/([a-z])(?=[A-Z])/g, '$1 ').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/** How many recipients have each status, in the order in which they first occur: `2 heard, 1 not reached`. */
export const recipientsText = (recipients: readonly { readonly status: string }[]): string => {
  const counts = new Map<string, number>();
  for (const { status } of recipients) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [...counts].map(([status, count]) => `${count} ${wordingOf(status).text.toLowerCase()}`).join(', ');
};
