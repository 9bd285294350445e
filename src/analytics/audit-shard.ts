import { DAMAGED, Findings, readable, type Difference, type Stored } from './audit-findings.ts';
import { readCounterRows, readEvents, versionOf, type CounterRows } from './audit-rows.ts';
import { minutesOf, type CameraDay } from './camera-row.ts';
import type { Day } from './day.ts';
import { shardOf } from './day-shards.ts';
import { minuteTally } from './hour-row.ts';
import { shardPartition } from './keys.ts';
import type { CounterTable } from './table.ts';
import { bitsOf } from './tally-bytes.ts';
import { plus, sumOf, type Tally } from './tally.ts';
import { twoDigits } from './two-digits.ts';

/** What an audit of one shard of a day found. */
export interface ShardReport {
  readonly shard: number;
  /** Event rows read. */
  readonly events: number;
  /** Counters compared. */
  readonly counters: number;
  readonly differences: readonly Difference[];
}

/** By camera and minute of the day, what the events of one hour count. */
type HourEvents = Map<string, Map<number, Tally>>;

const clock = (minute: number): string => `${twoDigits(Math.floor(minute / 60))}:${twoDigits(minute % 60)}`;
const hoursText = (hours: Iterable<number>): string => [...hours].map(twoDigits).join(', ');
const unionOf = <Item>(left: Iterable<Item>, right: Iterable<Item>): ReadonlySet<Item> => new Set([...left, ...right]);
const addTo = <Key>(sums: Map<Key, Tally>, key: Key, tally: Tally): void => {
  const sum = sums.get(key);
  sums.set(key, sum === undefined ? tally : plus(sum, tally));
};

/**
 * Compares the counters of one shard with its events, hour by hour: only the minutes of one hour are unfolded in memory
 * at a time, so a day of any size fits.
 */
class ShardComparison {
  readonly findings: Findings;
  readonly #rows: CounterRows;
  readonly #cameraDays = new Map<string, Tally>();
  readonly #hours = new Map<number, Tally>();

  constructor(shard: number, rows: CounterRows) {
    this.findings = new Findings(shard);
    this.#rows = rows;
    for (const rowKey of rows.strays) this.findings.add(`row ${rowKey}`, 'nothing', DAMAGED);
  }

  /** Compares everything of one hour. */
  hour(hour: number, events: HourEvents): void {
    const minutes = new Map<number, Tally>();
    const active = new Map<number, Set<string>>();
    const ofCameras = [...this.#rows.cameras].filter(([, day]) => day !== DAMAGED && day?.hours.has(hour) === true);
    const storedIn = ofCameras.map(([cameraId]) => cameraId);
    for (const cameraId of unionOf(events.keys(), storedIn)) {
      const own = events.get(cameraId) ?? new Map<number, Tally>();
      for (const [minute, tally] of own) {
        addTo(minutes, minute, tally);
        active.set(minute, (active.get(minute) ?? new Set()).add(cameraId));
        addTo(this.#cameraDays, cameraId, tally);
        addTo(this.#hours, hour, tally);
      }
      this.#cameraHour(cameraId, hour, own);
    }
    this.#hour(hour, new Set(events.keys()), minutes, active);
  }

  /** Compares what is of the whole day, once all hours are. */
  day(placeOf: (cameraId: string) => string, place: string): void {
    const { total, activeCameras, cameras } = this.#rows;
    for (const cameraId of unionOf(this.#cameraDays.keys(), cameras.keys())) {
      const day = cameras.get(cameraId);
      const name = `camera ${cameraId}`;
      this.findings.tally(name, this.#cameraDays.get(cameraId), day === DAMAGED ? day : day?.tally);
      this.findings.text(`shard of ${name}`, placeOf(cameraId), place);
    }
    const sum = this.#hours.size === 0 ? undefined : sumOf(this.#hours.values());
    this.findings.tally('total', sum, total === DAMAGED ? total : total?.tally);
    if (total === DAMAGED) return;
    const expected = new Set(this.#cameraDays.keys());
    this.findings.names('active cameras of total', expected, new Set(total?.cameras.ids));
    const count = expected.size === 0 ? undefined : expected.size;
    this.findings.text('number of active cameras of total', String(count), String(activeCameras));
    const hours = Array.from({ length: 24 }, (_, hour) => hour).filter((hour) => ((total?.hours ?? 0) >> hour) & 1);
    this.findings.text('hours of total', hoursText(this.#hours.keys()), hoursText(hours));
  }

  #cameraHour(cameraId: string, hour: number, expected: ReadonlyMap<number, Tally>): void {
    const day: Stored<CameraDay> = this.#rows.cameras.get(cameraId);
    // A row that is damaged is reported once, with the camera's day.
    if (day === DAMAGED) return;
    const name = `camera ${cameraId}`;
    const sum = expected.size === 0 ? undefined : sumOf(expected.values());
    this.findings.tally(`${name} hour ${twoDigits(hour)}`, sum, day?.hours.get(hour)?.tally);
    const minutes = day === undefined ? new Map<number, Tally>() : readable(() => minutesOf(day, hour));
    if (minutes === DAMAGED) this.findings.add(`${name} minutes of hour ${twoDigits(hour)}`, 'minutes', DAMAGED);
    else {
      const stored = new Map([...minutes].map(([minute, tally]) => [hour * 60 + minute, tally]));
      for (const minute of unionOf(expected.keys(), stored.keys())) {
        this.findings.tally(`${name} minute ${clock(minute)}`, expected.get(minute), stored.get(minute));
      }
    }
  }

  #hour(
    hour: number,
    cameras: ReadonlySet<string>,
    expected: ReadonlyMap<number, Tally>,
    active: ReadonlyMap<number, ReadonlySet<string>>,
  ): void {
    const row = this.#rows.hours.get(hour);
    const name = `hour ${twoDigits(hour)}`;
    this.findings.tally(name, this.#hours.get(hour), row === DAMAGED ? row : row?.tally);
    const { total } = this.#rows;
    // Without the lists of the total nobody knows whose the places in the hour are; it is reported itself.
    if (row === DAMAGED || total === DAMAGED) return;
    const camerasIn = (bits: Uint8Array | undefined): ReadonlySet<string> =>
      new Set(bitsOf(bits ?? new Uint8Array()).map((place) => total?.cameras.ids[place] ?? `(place ${place})`));
    this.findings.names(`active cameras of ${name}`, cameras, camerasIn(row?.active));
    const categories = [...(total?.tally.categories.keys() ?? [])];
    const stored = new Map([...(row?.minutes ?? [])].map(([minute, state]) => [hour * 60 + minute, state]));
    for (const minute of unionOf(expected.keys(), stored.keys())) {
      const state = stored.get(minute);
      const tally = state && readable(() => minuteTally(state, categories) ?? DAMAGED);
      this.findings.tally(`minute ${clock(minute)}`, expected.get(minute), tally);
      const ofMinute = active.get(minute) ?? new Set();
      this.findings.names(`active cameras of minute ${clock(minute)}`, ofMinute, camerasIn(state?.active));
    }
  }
}

/**
 * Compares every counter of one shard of a day with its event rows. Reads only.
 *
 * @param shards how many the day has; undefined: nobody knows
 * @returns undefined where the shard was written to in the meantime: then nothing can be said
 * @throws {StorageTrouble} where a part of it could not be read
 */
export const auditShard = async (
  table: CounterTable,
  day: Day,
  shard: number,
  shards: number | undefined,
): Promise<ShardReport | undefined> => {
  const partition = shardPartition(day, shard);
  const before = await versionOf(table, partition);
  const comparison = new ShardComparison(shard, await readCounterRows(table, partition));
  const { findings } = comparison;
  let events = 0;
  let hour = 0;
  let ofHour: HourEvents = new Map();
  for await (const event of readEvents(table, partition, day)) {
    events += 1;
    if ('damaged' in event) {
      findings.add(`row ${event.rowKey}`, 'an event', event.damaged);
      continue;
    }
    for (; hour < Math.floor(event.minute / 60); hour += 1, ofHour = new Map()) comparison.hour(hour, ofHour);
    const ofCamera = ofHour.get(event.cameraId) ?? new Map<number, Tally>();
    addTo(ofCamera, event.minute, event.contribution);
    ofHour.set(event.cameraId, ofCamera);
  }
  for (; hour < 24; hour += 1, ofHour = new Map()) comparison.hour(hour, ofHour);
  const name = twoDigits(shard);
  comparison.day((cameraId) => (shards === undefined ? name : twoDigits(shardOf(cameraId, shards))), name);
  // As long as it is the same version, all the pages are of one moment.
  if ((await versionOf(table, partition)) !== before) return undefined;
  return { shard, events, counters: findings.compared, differences: findings.differences };
};
