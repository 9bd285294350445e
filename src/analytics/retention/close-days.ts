import type { Log } from '../../log.ts';
import type { BackupContainer } from '../../storage/azure-container.ts';
import { RowError, StorageTrouble, WriteConflict } from '../../storage/errors.ts';
import type { Table } from '../../storage/table.ts';
import { DayHeld } from '../errors.ts';
import type { Day } from '../model/day.ts';
import { dayPartitions, shardPartition } from '../rows/keys.ts';
import { demandDayRows, noteEventsDeleted, readSeal, sealShard, type ShardSeal } from '../rows/seal.ts';
import { backUpDay, type BackingUp } from './back-up-days.ts';
import { deleteEvents } from './delete-events.ts';
import { endedDays, failureFields, RUN_MS, type Steps, withinTime } from './run.ts';

/** When days are closed (NCRONTAB): hourly, and not at the full hour, when many other timers run. */
export const CLOSE_DAYS_SCHEDULE = '0 20 * * * *';

/**
 * A day is closed only if it was not written for this time, in milliseconds by the clock of storage: a sender may still be restoring or back-filling
 * it.
 */
const QUIET_MS = 3_600_000;

export interface ClosingDependencies {
  readonly table: Table;
  /** How many shards each day has. */
  readonly shards: number;
  /** A day is closed when it ended at least this number of days ago, by the clock of storage. */
  readonly retentionDays: number;
  /** Where a day is backed up before its event rows are deleted; undefined: nowhere. */
  readonly container?: (() => Promise<BackupContainer>) | undefined;
  /** How long a run works at most, with everything that it does, in milliseconds. */
  readonly runMs?: number;
}

/** One run. */
interface Closing extends Omit<BackingUp, 'container'> {
  readonly shards: number;
  readonly container: BackupContainer | undefined;
}

/**
 * Closes the days that are older than the retention, oldest first, for as long as a run may take: README.md ("Closed days") has the steps and their
 * reasons. Runs may stop anywhere and may run in several processes at once. A day that cannot be closed is logged and left for the next run; it
 * delays no other day.
 *
 * @throws an unexpected error, after all days were tried
 */
export const closeDays = async (
  { table, shards, retentionDays, container, runMs = RUN_MS }: ClosingDependencies,
  log: Log,
): Promise<void> => {
  const unexpected: unknown[] = [];
  async function* closeEach(): Steps {
    const closing = { table, shards, container: await container?.(), log };
    for await (const day of endedDays(table, retentionDays)) {
      try {
        yield* closeDay(closing, day);
      } catch (error) {
        log.error('day not closed', { day, ...failureFields(error) });
        if (!EXPECTED.some((kind) => error instanceof kind)) unexpected.push(error);
      }
    }
  }
  await withinTime(runMs, closeEach());
  if (unexpected.length > 0) throw unexpected[0];
};

/** Takes a day one step further: seals it, and in a later run deletes its event rows. */
async function* closeDay(closing: Closing, day: Day): Steps {
  const { table, shards, log } = closing;
  const seals: ShardSeal[] = [];
  for (const partition of dayPartitions(day, shards)) {
    yield;
    seals.push(await readSeal(table, partition));
  }
  if (seals.some(({ sealed }) => sealed === 'rebuilding')) throw new DayHeld(shardPartition(day, 0));
  const open = seals.filter(({ sealed }) => sealed === undefined);
  if (open.length === 0) {
    yield* deleteDay(closing, day, seals);
  } else if (table.now() - Math.max(...seals.map(({ writtenAt }) => writtenAt)) < QUIET_MS) {
    log.info('day is not quiet', { day });
  } else {
    for (const seal of open) {
      yield;
      await demandDayRows(table, seal);
      await sealShard(table, seal, 'closed');
    }
    log.info('day sealed', { day, shards });
  }
}

/** Backs a sealed day up, and then deletes its event rows. */
async function* deleteDay({ table, shards, container, log }: Closing, day: Day, seals: readonly ShardSeal[]): Steps {
  const left = [...seals.entries()].filter(([, { areEventsDeleted }]) => !areEventsDeleted);
  if (left.length === 0) return;
  // A failure is logged, and the event rows stay.
  const shardsLeft = left.map(([shard]) => shard);
  if (container && !(yield* backUpDay({ table, container, log }, day, shardsLeft, true))) return;
  const rows = { event_rows_deleted: 0, event_rows_kept: 0 };
  let result = 'day is being closed';
  try {
    for (const [, seal] of left) {
      yield* deleteEvents(table, seal.partition, rows);
      await noteEventsDeleted(table, seal);
    }
    result = 'day closed';
  } finally {
    // Even if the time is over.
    log.info(result, { day, shards, ...rows });
  }
}

const EXPECTED = [StorageTrouble, WriteConflict, RowError, DayHeld] as const;
