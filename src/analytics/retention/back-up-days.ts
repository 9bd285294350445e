import type { Log } from '../../log.ts';
import type { BackupContainer } from '../../storage/azure-container.ts';
import type { Table } from '../../storage/table.ts';
import { endedBefore, storedDays } from '../rows/stored-days.ts';
import { backUpDay } from './back-up-day.ts';
import { RUN_MS, withinTime } from './run-time.ts';

/** When days are backed up (NCRONTAB). A shard of a day in which nothing has changed costs a query and a list of its backups. */
export const BACKUP_SCHEDULE = '0 40 */6 * * *';

/** A day is backed up when it ended this long ago: late events are rare, and are noticed. */
const BACKED_UP_AFTER_DAYS = 2;

export interface BackupDependencies {
  readonly table: Table;
  /** How many shards each day has. */
  readonly shards: number;
  readonly container: () => Promise<BackupContainer>;
  /** How long a run works at most, in milliseconds. */
  readonly runMs?: number;
}

/**
 * Backs up the days that ended two days ago or earlier, newest first: each of their hours that has changed since its last backup. A run may
 * stop anywhere: the next run continues. A day that fails is logged, and delays no other day.
 */
export const backUpDays = async (
  { table, shards, container, runMs = RUN_MS }: BackupDependencies,
  log: Log,
): Promise<void> => {
  const counted = { days: 0, days_failed: 0, days_left: 0 };
  await withinTime(runMs, async (demandTime) => {
    const backingUp = { table, container: await container(), demandTime, log };
    const days = (await Array.fromAsync(storedDays(table))).filter((day) =>
      endedBefore(table, day, BACKED_UP_AFTER_DAYS),
    );
    counted.days_left = days.length;
    for (const day of days.toReversed()) {
      const isBackedUp = await backUpDay(backingUp, day, Array.from({ length: shards }).keys());
      counted.days_failed += Number(!isBackedUp);
      counted.days += 1;
      counted.days_left -= 1;
    }
  });
  log.info('backups looked after', counted);
};
