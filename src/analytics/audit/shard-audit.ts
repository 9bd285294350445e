import { setTimeout } from 'node:timers/promises';

import pLimit from 'p-limit';

import { DecodeError, unlessDamaged } from '../../storage/errors.ts';
import type { KeyRange, StoredRow } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { contributionOf } from '../model/camera-event.ts';
import { dayOf, hourOfMinute, microsecondOfMinute, minuteOfDay, type Day } from '../model/day.ts';
import { cameraProperties } from '../rows/camera-row.ts';
import { eventRowFrom } from '../rows/event-row.ts';
import {
  ALL_MINUTES,
  hourKey,
  MINUTES,
  parseEventKey,
  parseMinuteKey,
  REPAIR_KEY,
  rowsBetween,
  shardPartition,
  TOTAL_KEY,
} from '../rows/keys.ts';
import { minuteRowFrom, overflowedSecondsOf, secondOf } from '../rows/minute-row.ts';
import { fenceFrom, inStripe, parseStripe, stripesOf } from '../rows/stripes.ts';
import { StoredRows, stripeOf, versionsOf } from './stored-rows.ts';
import {
  nameOf,
  NO_CAMERAS,
  parentsOf,
  Subtraction,
  type Difference,
  type Left,
  type StoredEntry,
  type Subtracted,
} from './subtraction.ts';

/** Rows to set aside, by key, each with the version at which it was found to be damaged; undefined: whatever its version. */
export type RowsAside = ReadonlyMap<string, string | undefined>;

/** What an audit of one shard of a day found, and what a repair does about it, in this order. */
export interface ShardReport {
  readonly shard: number;
  /** Event rows read. */
  readonly events: number;
  /** Counters compared. */
  readonly counters: number;
  readonly differences: readonly Difference[];
  /** The cameras that have events. */
  readonly cameras: ReadonlySet<string>;
  /** How many stripes the fence and the first total must say; undefined: they do. */
  readonly stripes: number | undefined;
  readonly aside: RowsAside;
  /** The version of the shard's `repair` row before anything else was read; undefined: there was none. */
  readonly guard: string | undefined;
}

/** The day was written to during every try to read the same rows together. */
export class AuditUnsettled extends Error {
  override readonly name = 'AuditUnsettled';
}

const TRIES = 40;
const MOST_PAUSE_MS = 40;

/**
 * The result of a try during which the rows that it reads did not change; `attempt` returns undefined if they did, and is called again.
 *
 * @throws {AuditUnsettled} if they changed during every try
 */
export const settled = async <Result>(what: string, attempt: () => Promise<Result | undefined>): Promise<Result> => {
  for (let tries = 1; tries <= TRIES; tries += 1) {
    const result = await attempt();
    if (result !== undefined) return result;
    // For a random time, so that the tries do not keep step with a writer.
    await setTimeout(Math.random() * MOST_PAUSE_MS);
  }
  throw new AuditUnsettled(`${what} changed during every try to read it: try again later`);
};

const HOURS: readonly number[] = Array.from({ length: 24 }, (_, hour) => hour);
/** A day with fewer half minutes is read at once, others hour by hour, some hours at a time. */
const FEW_MINUTE_ROWS = 240;
const PARALLEL_HOURS = 4;

type MinuteAudit = Subtracted & Pick<ShardReport, 'events' | 'cameras'>;

/**
 * Audits one shard of a day: what its event rows say, folded as they are when they are recorded, less what its counters say, decoded as
 * readers do and summed over the stripes. Of a closed day the samples stand for the event rows. Reads only.
 *
 * The shard may be written to meanwhile. How much a counter differs from the events does not change by a commit, which changes both. So each
 * counter may be compared at a moment of its own, if what it is compared with is read at the same moment:
 *
 * - a minute with its events: a change of an event changes a minute row of its minute. A minute whose rows changed is read again.
 * - the hours and the total with the minutes, and what those lack: every commit changes a total.
 * - a camera's day and hours with its minutes, and what those lack: its rows in all stripes are in one page.
 *
 * @throws {AuditUnsettled | StorageTrouble | LaterFormat}
 */
export const auditShard = async (table: Table, day: Day, shard: number, closed: boolean): Promise<ShardReport> => {
  const rows = new StoredRows(table, shardPartition(day, shard));
  const guard = (await table.get(rows.partition, REPAIR_KEY, { select: [] }))?.etag;
  const minutes = await auditMinutes(rows, day, closed);
  const events = minutes.reduce((sum, minute) => sum + minute.events, 0);
  const cameras = new Set(minutes.flatMap((minute) => [...minute.cameras]));
  const lacks = Map.groupBy(leftIn(minutes), ({ counter }) => counter.cameraId);
  const ofCameras: Subtracted[] = [];
  for await (const [cameraId, own] of rows.cameras(cameraProperties(HOURS, HOURS))) {
    ofCameras.push(await auditParents(rows, own, lacks.get(cameraId)));
    lacks.delete(cameraId);
  }
  const top = await settled('the totals', async () => rows.top());
  // Also those of cameras that have no row.
  const ofTop = await auditParents(rows, top.rows, [...lacks.values()].flat());
  const hasRows = events + rows.damaged.size + rows.stripes.size > 0 || top.fence !== undefined;
  const stripes = hasRows ? auditStripes(rows, top.fence) : undefined;
  // Without its total nothing of a stripe can be decoded: what is left is known once the stripe is set aside.
  const isBroken = [...rows.damaged.keys()].some((rowKey) => stripeOf(rowKey)?.key === TOTAL_KEY);
  const subtracted = [ofTop, ...minutes, ...ofCameras];
  const figures = subtracted.flatMap((own) => own.differences);
  const differences = [
    ...Array.from(rows.damaged, ([rowKey, { damage }]): Difference => {
      return { counter: `row ${rowKey}`, expected: 'a row that can be decoded', stored: damage, aside: [rowKey] };
    }),
    ...(stripes === undefined ? [] : [stripes.difference]),
    ...(isBroken ? figures.filter(({ aside }) => aside !== undefined) : figures),
  ];
  return {
    shard,
    events,
    counters: subtracted.reduce((sum, { compared }) => sum + compared, 0),
    differences,
    cameras,
    stripes: stripes?.wanted,
    aside: asideFor(rows, differences),
    guard,
  };
};

/** Audits the minutes of the day, and those that change meanwhile again, one by one. In the order of the minutes. */
const auditMinutes = async (rows: StoredRows, day: Day, closed: boolean): Promise<readonly MinuteAudit[]> => {
  const audits = new Map<number, MinuteAudit>();
  /** Audits minutes; returns those that were changed meanwhile. */
  const scan = async (first: number, end: number): Promise<readonly number[]> => {
    const samplesIn = rowsBetween('minute', first, end);
    const hours = HOURS.slice(hourOfMinute(first), hourOfMinute(end - 1) + 1);
    const before = Map.groupBy(await rows.all(samplesIn), minuteOf);
    const hourRows = await rows.all({
      from: hourKey(hours[0] ?? 0),
      before: stripesOf(hourKey(hours.at(-1) ?? 0)).before,
    });
    const entries = [await rows.entries([...hourRows, ...(before.get(undefined) ?? [])])];
    for await (const [, own] of rows.cameras(cameraProperties([], hours))) entries.push(await rows.entries(own));
    const byMinute = Map.groupBy(entries.flat(), ({ counter }) => counter.minute);
    const stream = eventsIn(rows, day, rowsBetween('event', first, end));
    let next = await stream.next();
    const minutes = Array.from({ length: end - first }, (_, index) => first + index);
    for (const minute of minutes) {
      const events: StoredEntry[] = [];
      for (; next.value?.counter.minute === minute; next = await stream.next()) events.push(next.value);
      const [own = [], others = []] = [before.get(minute), byMinute.get(minute)];
      audits.delete(minute);
      if (events.length + own.length + others.length === 0) continue;
      const stored = [...others, ...(await rows.entries(own))];
      const overflowed = own.flatMap((row) => unlessDamaged(() => overflowedSecondsOf(minuteRowFrom(row))) ?? []);
      audits.set(minute, auditMinute(minute, events, stored, new Set(overflowed), closed));
    }
    if (next.value !== undefined) throw new RangeError('event rows did not come in the order of their keys');
    const after = Map.groupBy(await rows.all(samplesIn, []), minuteOf);
    return minutes.filter((minute) => versionsOf(before.get(minute)) !== versionsOf(after.get(minute)));
  };
  const few = await rows.table.page(rows.partition, ALL_MINUTES, { select: [], most: FEW_MINUTE_ROWS });
  const changed =
    few.continuation === undefined
      ? [await scan(0, MINUTES)]
      : await pLimit(PARALLEL_HOURS).map(HOURS, async (hour) => scan(hour * 60, (hour + 1) * 60));
  for (const minute of changed.flat()) {
    await settled('a minute', async () => ((await scan(minute, minute + 1)).length === 0 ? true : undefined));
  }
  return [...audits].sort(([one], [other]) => one - other).map(([, audit]) => audit);
};

/** The minute of the day in the key of a minute row; undefined: it is none. */
const minuteOf = ({ rowKey }: StoredRow): number | undefined =>
  unlessDamaged(() => parseMinuteKey(parseStripe(rowKey).key).minute);

/** The events of the rows in a key range, each as what its sample counts, in the order of their minutes. */
async function* eventsIn(rows: StoredRows, day: Day, range: KeyRange): AsyncGenerator<StoredEntry, undefined> {
  for await (const page of rows.table.pages(rows.partition, range)) {
    for (const row of page) {
      const event = rows.decoded(row, () => {
        const { cameraId, minute } = parseEventKey(row.rowKey);
        const { ts, facets } = eventRowFrom(row);
        if (dayOf(ts) !== day || minuteOfDay(ts) !== minute) {
          throw new DecodeError('its ts_utc is not in the minute of its key');
        }
        const counter = { cameraId, minute, microsecond: microsecondOfMinute(ts) };
        return { rowKey: row.rowKey, counter, tally: contributionOf(facets), cameras: new Set([cameraId]) };
      });
      if (event !== undefined) yield event;
    }
  }
}

const isSample = ({ counter }: StoredEntry): boolean => counter.microsecond !== undefined;

/** Subtracts the counters of a minute from its events. */
const auditMinute = (
  minute: number,
  events: readonly StoredEntry[],
  stored: readonly StoredEntry[],
  overflowed: ReadonlySet<number>,
  closed: boolean,
): MinuteAudit => {
  const sums = new Subtraction();
  const active = new Set<string>();
  // Of a second that has overflowed in any stripe readers take the event rows.
  const isOverflowed = ({ counter: { microsecond } }: StoredEntry): boolean =>
    microsecond !== undefined && overflowed.has(secondOf(microsecond));
  const right = stored.filter((entry) => !isOverflowed(entry));
  const counted = closed ? [...right.filter(isSample), ...events.filter(isOverflowed)] : events;
  for (const event of counted) {
    const { counter, tally, cameras } = event;
    for (const cameraId of cameras) active.add(cameraId);
    sums.expect({ minute }, tally, cameras);
    sums.expect({ cameraId: counter.cameraId, minute }, tally);
    if (!closed && !isOverflowed(event)) sums.expect(counter, tally, cameras);
  }
  for (const entry of right) if (!closed || !isSample(entry)) sums.store(entry);
  return { ...sums.result(), events: events.length, cameras: active };
};

/** What is left of counters that were compared. */
const leftIn = (subtracted: readonly Subtracted[]): readonly Left[] =>
  subtracted.flatMap(({ differences }) => differences.flatMap(({ left }) => left ?? []));

/** Subtracts counters from those that are parts of them, with what these lack. */
const auditParents = async (
  stored: StoredRows,
  rows: readonly StoredRow[],
  lacks: readonly Left[] = [],
): Promise<Subtracted> => {
  const sums = new Subtraction();
  const extras = new Map(lacks.map(({ counter, extra }) => [nameOf(counter), extra]));
  // The active cameras of all minutes of a day take much memory.
  for (const row of rows) {
    for (const entry of await stored.entries([row])) {
      const { counter, tally, cameras } = entry;
      const parents = parentsOf(counter);
      if (parents.length === 0) sums.store(entry);
      const right = cameras.difference(extras.get(nameOf(counter)) ?? NO_CAMERAS);
      for (const parent of parents) sums.expect(parent, tally, right);
    }
  }
  for (const { counter, tally, missing } of lacks) {
    for (const parent of parentsOf(counter)) sums.expect(parent, tally, missing);
  }
  return sums.result();
};

/**
 * What the rows of the stripes say of one another: each stripe has a total that is not older than its other rows, and readers find it by
 * its number. Totals that are not like that are damaged.
 *
 * @returns how many stripes the fence and the first total must say, if they do not
 */
const auditStripes = (
  rows: StoredRows,
  row: StoredRow | undefined,
): { readonly wanted: number; readonly difference: Difference } | undefined => {
  // Readers find the other stripes by the total of stripe 0.
  const stripes = new Set([0, ...rows.stripes.keys()]);
  for (const stripe of stripes) {
    const [total, newest] = [rows.totals.get(stripe), rows.stripes.get(stripe)?.newest ?? 0];
    if (total !== undefined && total.commit >= newest) continue;
    const old = `its commit number is ${total?.commit}, that of another row ${newest}`;
    rows.damage(inStripe(TOTAL_KEY, stripe), new DecodeError(total === undefined ? 'it is missing' : old));
  }
  const fence = unlessDamaged(() => row && fenceFrom(row).stripes);
  const announced = rows.totals.get(0)?.stripes;
  const wanted = Math.max(announced ?? 1, fence ?? 1, ...Array.from(stripes, (stripe) => stripe + 1));
  if (fence === wanted && (announced ?? wanted) === wanted) return undefined;
  const stored = `${fence ?? 'nothing'}, and ${announced ?? 'nothing'} in total`;
  const step = `write that the shard has ${wanted} stripes`;
  return { wanted, difference: { counter: 'number of stripes', expected: `${wanted}`, stored, step } };
};

/** The rows to set aside: with a total all rows of its stripe, because it names what is in them. */
const asideFor = ({ damaged, stripes }: StoredRows, differences: readonly Difference[]): RowsAside => {
  const aside = new Map<string, string | undefined>();
  for (const rowKey of differences.flatMap((difference) => difference.aside ?? [])) {
    const { key, stripe } = stripeOf(rowKey) ?? { key: rowKey, stripe: -1 };
    if (key === TOTAL_KEY) for (const own of stripes.get(stripe)?.rows ?? []) aside.set(own, undefined);
    aside.set(rowKey, key === TOTAL_KEY ? undefined : damaged.get(rowKey)?.etag);
  }
  return aside;
};
