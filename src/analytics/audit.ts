import { contributionOf } from './camera-event.ts';
import { cameraDayFrom, minutesOf } from './camera-row.ts';
import type { Day } from './day.ts';
import type { DayShards } from './day-shards.ts';
import { eventFromRow } from './event-row.ts';
import { minuteTally, shardHourFrom } from './hour-row.ts';
import { ALL_CAMERAS, ALL_EVENTS, ALL_HOURS, parseCameraKey, parseEventKey, shardPartition } from './keys.ts';
import type { CounterTable } from './table.ts';
import { bitsOf } from './tally-bytes.ts';
import { EMPTY_TALLY, plus, sameTally, type Tally } from './tally.ts';
import { EMPTY_TOTAL, readTotal, type StoredTotal } from './total-row.ts';

/** One counter that does not say what the event rows say. */
export interface Difference {
  readonly shard: number;
  /** Which counter: `total`, `hour 08`, `minute 08:15`, `camera ridge-04`, `camera ridge-04 minute 08:15`, … */
  readonly counter: string;
  /** What the event rows say. */
  readonly expected: string;
  readonly stored: string;
}

/** What an audit of a day found. */
export interface AuditReport {
  readonly day: Day;
  readonly shards: number;
  /** Event rows read. */
  readonly events: number;
  /** Counters compared. */
  readonly counters: number;
  readonly differences: readonly Difference[];
}

/** The day was written to while it was read, each time it was tried: nothing can be said about it now. */
export class AuditUnsettled extends Error {
  override readonly name = 'AuditUnsettled';
}

const TRIES = 5;

const twoDigits = (value: number): string => String(value).padStart(2, '0');
const clock = (minute: number): string => `${twoDigits(Math.floor(minute / 60))}:${twoDigits(minute % 60)}`;

const tallyText = (tally: Tally | undefined): string => {
  if (tally === undefined) return 'nothing';
  const categories = [...tally.categories].map(([name, c]) => `${name} ${c.detections}/${c.reviewed}/${c.annotations}`);
  return [`${tally.events} events, ${tally.reviewed} reviewed, ${tally.annotated} annotated`, ...categories].join('; ');
};

/** Counters by name, as tallies or as sets of cameras. */
class Counters {
  readonly tallies = new Map<string, Tally>();
  readonly cameras = new Map<string, Set<string>>();

  add(name: string, tally: Tally): void {
    this.tallies.set(name, plus(this.tallies.get(name) ?? EMPTY_TALLY, tally));
  }

  activate(name: string, cameraId: string): void {
    this.cameras.set(name, (this.cameras.get(name) ?? new Set()).add(cameraId));
  }
}

/** Every counter that one event is in. */
const addEvent = (counters: Counters, cameraId: string, minute: number, contribution: Tally): void => {
  const hour = twoDigits(Math.floor(minute / 60));
  for (const name of ['total', `hour ${hour}`, `minute ${clock(minute)}`]) {
    counters.add(name, contribution);
    counters.activate(name, cameraId);
  }
  const camera = `camera ${cameraId}`;
  for (const name of [camera, `${camera} hour ${hour}`, `${camera} minute ${clock(minute)}`]) {
    counters.add(name, contribution);
  }
};

/** What the counter rows of a shard say. */
const storedCounters = async (table: CounterTable, partition: string, total: StoredTotal): Promise<Counters> => {
  const stored = new Counters();
  const activate = (name: string, places: readonly number[]): void => {
    for (const place of places) stored.activate(name, total.cameras.ids[place] ?? `(place ${place} of the list)`);
  };
  stored.add('total', total.tally);
  for (const id of total.cameras.ids) stored.activate('total', id);
  const categories = [...total.tally.categories.keys()];
  for await (const page of table.pages(partition, ALL_HOURS)) {
    for (const row of page) {
      const name = row.rowKey.slice('hour|'.length);
      const hour = shardHourFrom(row.properties);
      stored.add(`hour ${name}`, hour.tally);
      activate(`hour ${name}`, bitsOf(hour.active));
      for (const [minute, state] of hour.minutes) {
        const at = `minute ${name}:${twoDigits(minute)}`;
        stored.add(at, minuteTally(state, categories) ?? EMPTY_TALLY);
        activate(at, bitsOf(state.active));
      }
    }
  }
  for await (const page of table.pages(partition, ALL_CAMERAS)) {
    for (const row of page) {
      const name = `camera ${parseCameraKey(row.rowKey)}`;
      const day = cameraDayFrom(row.properties);
      stored.add(name, day.tally);
      for (const [hour, { tally }] of day.hours) {
        stored.add(`${name} hour ${twoDigits(hour)}`, tally);
        for (const [minute, ofMinute] of minutesOf(day, hour)) {
          stored.add(`${name} minute ${clock(hour * 60 + minute)}`, ofMinute);
        }
      }
    }
  }
  return stored;
};

const compare = (shard: number, expected: Counters, stored: Counters): readonly Difference[] => {
  const differences: Difference[] = [];
  for (const counter of new Set([...expected.tallies.keys(), ...stored.tallies.keys()])) {
    const [wanted, found] = [expected.tallies.get(counter), stored.tallies.get(counter)];
    if (sameTally(wanted ?? EMPTY_TALLY, found ?? EMPTY_TALLY)) continue;
    differences.push({ shard, counter, expected: tallyText(wanted), stored: tallyText(found) });
  }
  for (const counter of new Set([...expected.cameras.keys(), ...stored.cameras.keys()])) {
    const wanted = [...(expected.cameras.get(counter) ?? [])].sort().join(', ');
    const found = [...(stored.cameras.get(counter) ?? [])].sort().join(', ');
    if (wanted === found) continue;
    differences.push({ shard, counter: `active cameras of ${counter}`, expected: wanted, stored: found });
  }
  return differences;
};

const auditShard = async (
  table: CounterTable,
  partition: string,
  shard: number,
): Promise<Pick<AuditReport, 'events' | 'counters' | 'differences'>> => {
  for (let tries = 1; tries <= TRIES; tries += 1) {
    const before = await readTotal(table, partition);
    const expected = new Counters();
    let events = 0;
    for await (const page of table.pages(partition, ALL_EVENTS)) {
      for (const row of page) {
        const { cameraId, minute } = parseEventKey(row.rowKey);
        addEvent(expected, cameraId, minute, contributionOf(eventFromRow(row).facets));
        events += 1;
      }
    }
    const stored = await storedCounters(table, partition, before ?? { ...EMPTY_TOTAL, etag: '', listEtags: [] });
    // Every commit writes the total: as long as it is the same row, the pages are one moment.
    const after = await readTotal(table, partition);
    if (after?.etag === before?.etag) {
      const counters = stored.tallies.size + stored.cameras.size;
      return { events, counters, differences: compare(shard, expected, stored) };
    }
  }
  throw new AuditUnsettled('the day is being written to: try again when it is quiet');
};

/**
 * Compares every counter of a day with its event rows. Reads only.
 *
 * @throws {AuditUnsettled} where the day does not hold still for one whole read
 * @throws {StorageTrouble} where a part of it could not be read: there is no report of a part
 */
export const auditDay = async (table: CounterTable, dayShards: DayShards, day: Day): Promise<AuditReport> => {
  const shards = (await dayShards.find(day)) ?? 0;
  const reports = [];
  for (let shard = 0; shard < shards; shard += 1) {
    reports.push(await auditShard(table, shardPartition(day, shard), shard));
  }
  return {
    day,
    shards,
    events: reports.reduce((sum, report) => sum + report.events, 0),
    counters: reports.reduce((sum, report) => sum + report.counters, 0),
    differences: reports.flatMap((report) => report.differences),
  };
};
