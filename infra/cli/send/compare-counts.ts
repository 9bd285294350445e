import { z } from 'zod';

import { CommandError } from '../command-line.ts';
import { grouped } from '../grouped.ts';
import type { Target } from './options.ts';
import type { BackupFacts } from './source.ts';

const ASKED_WITHIN_MS = 30_000;

const daySchema = z.object({ total_events: z.number() });

/**
 * Compares the events of a day's backups with the day's count in the service. It may have counted more since the backup.
 *
 * @returns whether none is missing, and the line that says so
 * @throws {CommandError} if the service does not answer
 */
export const compareCounts = async (
  { url, key }: Target,
  day: string,
  backups: readonly BackupFacts[],
): Promise<{ readonly isRight: boolean; readonly text: string }> => {
  const headers = key === undefined ? {} : { 'x-functions-key': key };
  const signal = AbortSignal.timeout(ASKED_WITHIN_MS);
  const answer = await fetch(`${url}/api/analytics/day?date=${day}`, { headers, signal }).catch((error: unknown) => {
    throw new CommandError(`The service does not say what it has counted on ${day}.`, { cause: error });
  });
  if (!answer.ok) throw new CommandError(`The service answers ${answer.status} about ${day}.`);
  const { total_events: counted } = daySchema.parse(await answer.json());
  const sum = (of: 'events' | 'unreadable'): number => backups.reduce((total, facts) => total + facts[of], 0);
  const [events, unreadable] = [sum('events'), sum('unreadable')];
  const isRight = counted >= events;
  return {
    isRight,
    text: [
      `${day}  ${grouped(events).padStart(12)} events  ${grouped(counted)} counted${isRight ? '' : ': events are missing'}`,
      ...(unreadable > 0 ? [`${day}  ${grouped(unreadable)} rows could not be read when it was backed up`] : []),
    ].join('\n'),
  };
};
