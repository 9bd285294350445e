import type { SentRequest } from './open-loop.ts';

const eventsOf = (sent: readonly SentRequest[]): number => sent.reduce((sum, { events }) => sum + events, 0);

/** How many events were acknowledged. */
export const acknowledgedOf = (sent: readonly SentRequest[]): number =>
  eventsOf(sent.filter(({ status }) => status === 200));

/**
 * Whether a total is right. Events that were not acknowledged may be counted or not: nothing promises either.
 *
 * @param total undefined where the instance did not say it
 */
export const verdictOn = (total: number | undefined, sent: readonly SentRequest[]): string => {
  const [least, most] = [acknowledgedOf(sent), eventsOf(sent)];
  if (total === undefined) return 'no answer';
  if (total < least || total > most) return `WRONG: ${total}, acknowledged ${least} of ${most}`;
  return least === most ? 'exact' : `${total}, acknowledged ${least} of ${most}`;
};

/** Whether a verdict says that a total is wrong. */
export const isWrong = (verdict: string): boolean => verdict.startsWith('WRONG');
