import { setTimeout } from 'node:timers/promises';

import type { Log } from '../../log.ts';
import { DamagedRow, StorageTrouble, unlessDamaged, WriteConflict } from '../../storage/errors.ts';
import { ANY_VERSION, writeOf } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { sortableInstant } from '../model/instant.ts';
import { RecorderUnavailable, StaleSnapshot } from '../errors.ts';
import { areTooLarge } from '../record/batch.ts';
import { KnownRows, KnownRowsOfShard } from '../record/known-rows.ts';
import { Recorder } from '../record/recorder.ts';
import { ShardWriter } from '../record/shard-writer.ts';
import { DayClosed, DayShards } from '../rows/day-shards.ts';
import { eventRowFrom } from '../rows/event-row.ts';
import {
  ALL_EVENTS,
  dayPartition,
  FENCE_KEY,
  parseEventKey,
  REPAIR_KEY,
  SHARDS_KEY,
  shardPartition,
  TOTAL_KEY,
} from '../rows/keys.ts';
import { CLOSES, storageNow } from '../rows/open-days.ts';
import { fenceFrom, announcement } from '../rows/stripes.ts';
import { auditDay, type AuditReport } from './audit.ts';
import { NotRepairable, RepairLease } from './repair-lease.ts';
import { copyAside, setAside } from './set-aside.ts';
import { AuditUnsettled, type RowsAside, type ShardReport } from './shard-audit.ts';
import { stripeOf } from './stored-rows.ts';
import { differencesFrom, rowOf, type Left } from './subtraction.ts';

/** Others changed the same rows during every try, or differences came back after they were put right. */
export class RepairUnfinished extends Error {
  override readonly name = 'RepairUnfinished';
}

const ROUNDS = 30;
/** Rows that a transaction adds to: half as many if what is added is too large for it. */
const ROWS_A_TRANSACTION = 40;
const EVENTS_AT_ONCE = 1_000;
/** Longer than an instance goes on by a manifest that it remembers, and than a transaction takes: the number that fits may be another one. */
const FORGOTTEN_MS = 75_000;
const SILENT: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** Another writer came first, storage did not answer, or a row was damaged since the audit. */
const PASSING = [
  DamagedRow,
  WriteConflict,
  StaleSnapshot,
  StorageTrouble,
  RecorderUnavailable,
  AuditUnsettled,
] as const;

/** What a repair will do, in sentences: each once. */
export const stepsOf = ({ differences }: AuditReport): ReadonlySet<string> =>
  new Set(
    differences.flatMap(({ shard, counter, aside, step }) => {
      const texts = aside?.map(asideText) ?? [step ?? `add to ${counter} what the event rows have more or less`];
      return texts.map((text) => (shard === undefined ? text : `shard ${String(shard).padStart(2, '0')}: ${text}`));
    }),
  );

const asideText = (rowKey: string): string => {
  if (rowKey.startsWith('event|')) return `set aside row ${rowKey}: what it contributed leaves the counters`;
  const isTotal = stripeOf(rowKey)?.key === TOTAL_KEY;
  return `set aside row ${rowKey}${isTotal ? ' and all others of its stripe' : ''}, and count anew what ${isTotal ? 'they' : 'it'} held`;
};

/** How a repair works. */
export interface RepairOptions {
  /** Called with a sentence after each step. */
  readonly say: (line: string) => void;
  /** Waits so many milliseconds. */
  readonly pause?: (milliseconds: number) => Promise<void>;
}

/**
 * Puts right what an audit found, while the day may be written to: what is left of the subtraction is committed by the recorder's own
 * writer, in a stripe of its own. Rows that cannot be decoded are set aside first, and what they held is then part of the difference.
 * Stopped anywhere, it goes on when it is started again; until then the day does not close.
 *
 * Of a day that is closed, or whose closing is announced, only a manifest that is lost or wrong is put right.
 *
 * @param audited what {@link auditDay} found
 * @returns the last audit: without differences
 * @throws {RepairUnfinished | NotRepairable | AuditUnsettled | StorageTrouble | LaterFormat}
 */
export const repairDay = async (
  table: Table,
  audited: AuditReport,
  { say, pause = async (ms) => setTimeout(ms) }: RepairOptions,
): Promise<AuditReport> => {
  const lease = new RepairLease(table, audited);
  let report = audited;
  if (audited.shards === 0 && audited.fittingShards !== undefined && !audited.closed) {
    say('waiting until no instance remembers how many shards the day had');
    await pause(FORGOTTEN_MS);
    report = await auditDay(table, audited.day);
  }
  for (let round = 1; report.differences.length > 0; round += 1) {
    if (round > ROUNDS) throw new RepairUnfinished('differences are left: run the repair again');
    if (report.fittingShards === undefined) demandRepairable(report);
    try {
      await repairRound({ table, report, lease, say });
    } catch (error) {
      if (error instanceof DayClosed) throw new NotRepairable('the day was closed meanwhile', { cause: error });
      // It may have been applied or not: the next audit tells.
      if (!PASSING.some((kind) => error instanceof kind)) throw error;
      say('storage or another writer came between: reading again');
    }
    report = await auditDay(table, report.day);
    if (audited.closes === undefined && !audited.closed) demandRepairable(report);
  }
  if (report.closes !== undefined || (report === audited && !report.isRepairing)) return report;
  await lease.finish();
  return { ...report, isRepairing: false };
};

/** @throws {NotRepairable} if a day is closed or its closing is announced */
export const demandRepairable = ({ closed, closes }: AuditReport): void => {
  if (closed) throw new NotRepairable('a closed day has no event rows to count from: it cannot be repaired');
  if (closes !== undefined) throw new NotRepairable('the closing of the day is announced: it cannot be repaired');
};

interface Round {
  readonly table: Table;
  readonly report: AuditReport;
  readonly lease: RepairLease;
  readonly say: (line: string) => void;
}

/**
 * The first kind of step that is needed. The others follow in later rounds, after another audit: how much a counter lacks is known
 * only once every row can be decoded and every event is in its shard.
 */
const repairRound = async (round: Round): Promise<void> => {
  const { fittingShards, isUnlisted, byShard, strangers } = round.report;
  if (fittingShards !== undefined) return writeShards(round, fittingShards);
  // What keeps the day from being closed brings its row back.
  if (isUnlisted) return round.lease.renew();
  const broken = byShard.filter(({ stripes, aside }) => stripes !== undefined || aside.size > 0);
  for (const { shard, stripes, aside } of broken) {
    if (stripes !== undefined) await writeStripes(round, shard, stripes);
    await setRowsAside(round, shard, aside);
  }
  if (broken.length > 0) return;
  for (const [shard, own] of Map.groupBy(strangers, (stranger) => stranger.shard)) {
    await moveEvents(round, shard, new Set(own.map(({ cameraId }) => cameraId)));
  }
  if (strangers.length > 0) return;
  for (const own of byShard) if (own.differences.length > 0) await addLeft(round, own);
};

/** Of a closed day the manifest says so again; of one whose closing is announced, when it closes. */
const writeShards = async ({ table, report, lease, say }: Round, shards: number): Promise<void> => {
  const { day, closed, closes = closed ? storageNow(table) : undefined } = report;
  const partition = dayPartition(day);
  const row = await table.get(partition, SHARDS_KEY);
  const properties = { shards, ...(closes !== undefined && { [CLOSES]: sortableInstant(closes) }) };
  const write = writeOf(SHARDS_KEY, row?.etag, properties, 'replace');
  if (closes === undefined) await lease.renew();
  await table.transact(partition, [write, ...(row === undefined ? [] : [copyAside(row)])]);
  say(`the day has ${shards} shards`);
};

const writeStripes = async (
  { table, report: { day }, lease, say }: Round,
  shard: number,
  stripes: number,
): Promise<void> => {
  const partition = shardPartition(day, shard);
  const [fence, total] = await Promise.all([FENCE_KEY, TOTAL_KEY].map(async (key) => table.get(partition, key)));
  // More may have appeared since the audit.
  const count = Math.max(stripes, unlessDamaged(() => fence && fenceFrom(fence).stripes) ?? 0);
  await lease.renew();
  await table.transact(partition, [
    writeOf(FENCE_KEY, fence?.etag, { stripes: count }, 'replace'),
    ...(total === undefined ? [] : [writeOf(TOTAL_KEY, ANY_VERSION, announcement(count))]),
  ]);
  say(`shard ${shard} has ${count} stripes`);
};

const setRowsAside = async (
  { table, report: { day }, lease, say }: Round,
  shard: number,
  rows: RowsAside,
): Promise<void> =>
  setAside({ table, partition: shardPartition(day, shard), lease }, rows, (moved) => {
    for (const { rowKey, properties } of moved) {
      // What an event row held nothing else tells any more.
      const content = rowKey.startsWith('event|') ? `, which held ${JSON.stringify(properties)}` : '';
      say(`set aside row ${rowKey} of shard ${shard}${content}`);
    }
  });

/** Without memory of what another round read. */
const newManifests = ({ table }: Round): DayShards => new DayShards(table, 1, SILENT);

/** Records events in the shards that the manifest gives their cameras; one that is there already keeps the newest facets of both. */
const moveEvents = async (round: Round, shard: number, cameras: ReadonlySet<string>): Promise<void> => {
  const recorder = new Recorder(round.table, newManifests(round), SILENT);
  const moved = new Map<string, string>();
  const partition = shardPartition(round.report.day, shard);
  for await (const page of round.table.pages(partition, ALL_EVENTS, { most: EVENTS_AT_ONCE })) {
    const events = page.flatMap((row) => {
      const message = unlessDamaged(() => ({ ...parseEventKey(row.rowKey), ...eventRowFrom(row) }));
      return message !== undefined && cameras.has(message.cameraId) ? [{ row, message }] : [];
    });
    await round.lease.renew();
    const outcomes = await recorder.record(events.map(({ message }) => message));
    for (const [index, { row }] of events.entries()) {
      if (typeof outcomes[index] === 'string') moved.set(row.rowKey, row.etag);
    }
  }
  round.say(`recorded ${moved.size} events of ${[...cameras].join(', ')} in their own shards`);
  await setRowsAside(round, shard, moved);
};

/**
 * Adds what is left of a shard, some rows at a time, with the recorder's writer. Each transaction changes the `repair` row, at the version
 * that it had before the audit: what was added since, by another repair or by a transaction whose answer was lost, is not added twice.
 */
const addLeft = async (round: Round, { shard, guard, differences }: ShardReport): Promise<void> => {
  const { table, report, lease } = round;
  const manifests = newManifests(round);
  const writer = new ShardWriter({
    table,
    day: report.day,
    // It refuses to write if the day has not as many shards as were audited.
    manifest: { ...(await manifests.claim(report.day)), shards: report.shards },
    manifests,
    partition: shardPartition(report.day, shard),
    known: new KnownRowsOfShard(new KnownRows()),
    knownCategories: new Set(),
  });
  // Nothing that others may be writing is rewritten.
  await writer.rows.move();
  let version = guard;
  const add = async (byRow: readonly (readonly Left[])[]): Promise<void> => {
    const repaired = writeOf(REPAIR_KEY, version, { repaired: new Date().toISOString() });
    const planned = await writer.planDifferences(differencesFrom(byRow.flat()), repaired);
    if (byRow.length > 1 && areTooLarge(planned.plan.writes)) {
      const middle = Math.ceil(byRow.length / 2);
      await add(byRow.slice(0, middle));
      await add(byRow.slice(middle));
    } else {
      await lease.renew();
      version = await writer.addDifferences(planned);
    }
  };
  const left = differences.flatMap((difference) => difference.left ?? []);
  const byRow = [...Map.groupBy(left, ({ counter }) => rowOf(counter)).values()];
  for (let first = 0; first < byRow.length; first += ROWS_A_TRANSACTION) {
    await add(byRow.slice(first, first + ROWS_A_TRANSACTION));
  }
  round.say(`put ${differences.length} ${differences.length === 1 ? 'counter' : 'counters'} of shard ${shard} right`);
};
