import { DAMAGED, Findings, readable, type Difference, type Stored } from './audit-findings.ts';
import { compareMoments, ExpectedMoments } from './audit-samples.ts';
import { readCounterRows, readEvents, readMinuteRows, type CountedEvent, type CounterRows } from './audit-rows.ts';
import { bucketTally, type Bucket } from '../rows/bucket-row.ts';
import { minutesOf, type CameraDay } from '../rows/camera-row.ts';
import type { Day } from '../model/day.ts';
import { shardOf } from '../rows/day-shards.ts';
import { shardPartition } from '../rows/keys.ts';
import type { Moments } from '../rows/minute-row.ts';
import { placesIn } from '../rows/bitset.ts';
import type { CounterTable } from '../rows/table.ts';
import { addTo, sumOf, type Tally } from '../model/tally.ts';
import { EMPTY_TOTAL, readVersion } from '../rows/total-row.ts';
import { twoDigits } from '../rows/two-digits.ts';

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

const MINUTES_OF_DAY = 1_440;

const clock = (minute: number): string => `${twoDigits(Math.floor(minute / 60))}:${twoDigits(minute % 60)}`;
const unionOf = <Item>(left: Iterable<Item>, right: Iterable<Item>): ReadonlySet<Item> => new Set([...left, ...right]);

/** What a bucket should have. */
interface Span {
  readonly tally: Tally;
  readonly cameras: ReadonlySet<string>;
}

const spanOf = (ofCameras: Iterable<readonly [cameraId: string, tally: Tally]>): Span => {
  const all = [...ofCameras];
  return { tally: sumOf(all.map(([, tally]) => tally)), cameras: new Set(all.map(([cameraId]) => cameraId)) };
};

/**
 * Compares the counters of one shard with its events, minute by minute: only one minute's events and one hour's minutes are
 * unfolded in memory at a time, so a day of any size fits.
 */
class ShardComparison {
  readonly findings: Findings;
  readonly #rows: CounterRows;
  readonly #cameraDays = new Map<string, Tally>();
  readonly #hours = new Map<number, Span>();
  #ofHour: HourEvents = new Map();

  constructor(shard: number, rows: CounterRows) {
    this.findings = new Findings(shard);
    this.#rows = rows;
    this.strays(rows.strays);
  }

  /** Reports rows that are no rows of the service. */
  strays(rowKeys: readonly string[]): void {
    for (const rowKey of rowKeys) this.findings.add(`row ${rowKey}`, 'nothing', DAMAGED);
  }

  /** Compares the moments of a minute of the day. */
  minute(minute: number, events: readonly CountedEvent[], stored: Stored<Moments>): void {
    const moments = new ExpectedMoments();
    for (const { cameraId, at, contribution } of events) {
      moments.add(at, cameraId, contribution);
      const ofCamera = this.#ofHour.get(cameraId) ?? new Map<number, Tally>();
      addTo(ofCamera, minute, contribution);
      this.#ofHour.set(cameraId, ofCamera);
    }
    const { total } = this.#rows;
    if (total === DAMAGED || (events.length === 0 && stored === undefined)) return;
    compareMoments(this.findings, clock(minute), moments, stored, total ?? EMPTY_TOTAL);
  }

  /** Compares everything else of one hour, once all its minutes are. */
  hour(hour: number): void {
    const minutes = new Map<number, [cameraId: string, tally: Tally][]>();
    const days = [...this.#rows.cameras].filter(([, day]) => day !== DAMAGED && day?.hours.has(hour) === true);
    const storedIn = days.map(([cameraId]) => cameraId);
    for (const cameraId of unionOf(this.#ofHour.keys(), storedIn)) {
      const own = this.#ofHour.get(cameraId) ?? new Map<number, Tally>();
      for (const [minute, tally] of own) {
        const ofMinute = minutes.get(minute) ?? [];
        ofMinute.push([cameraId, tally]);
        minutes.set(minute, ofMinute);
        addTo(this.#cameraDays, cameraId, tally);
      }
      this.#cameraHour(cameraId, hour, own);
    }
    const ofHour = [...this.#ofHour].map(([cameraId, own]) => [cameraId, sumOf(own.values())] as const);
    if (ofHour.length > 0) this.#hours.set(hour, spanOf(ofHour));
    const row = this.#rows.minutes.get(hour);
    if (row === DAMAGED) this.findings.add(`minutes of hour ${twoDigits(hour)}`, 'minutes', DAMAGED);
    else {
      const stored = new Map([...(row ?? [])].map(([minute, bucket]) => [hour * 60 + minute, bucket]));
      for (const minute of unionOf(minutes.keys(), stored.keys())) {
        const expected = minutes.get(minute);
        this.#bucket(`minute ${clock(minute)}`, expected && spanOf(expected), stored.get(minute));
      }
    }
    this.#ofHour = new Map();
  }

  /** Compares what is of the whole day, once all hours are. */
  day(shardOfCamera: (cameraId: string) => string, shard: string): void {
    const { total, activeCameras, hours, cameras } = this.#rows;
    if (hours === DAMAGED) this.findings.add('hours', 'hours', DAMAGED);
    else {
      for (const hour of unionOf(this.#hours.keys(), hours?.keys() ?? [])) {
        this.#bucket(`hour ${twoDigits(hour)}`, this.#hours.get(hour), hours?.get(hour));
      }
    }
    for (const cameraId of unionOf(this.#cameraDays.keys(), cameras.keys())) {
      const day = cameras.get(cameraId);
      const name = `camera ${cameraId}`;
      this.findings.tally(name, this.#cameraDays.get(cameraId), day === DAMAGED ? day : day?.tally);
      this.findings.text(`shard of ${name}`, shardOfCamera(cameraId), shard);
      if (total === DAMAGED || day === DAMAGED) continue;
      this.findings.text(`place of ${name}`, String(total?.cameras.places.get(cameraId)), String(day?.place));
    }
    const sum = this.#hours.size === 0 ? undefined : sumOf([...this.#hours.values()].map(({ tally }) => tally));
    this.findings.tally('total', sum, total === DAMAGED ? total : total?.tally);
    if (total === DAMAGED) return;
    const expected = new Set(this.#cameraDays.keys());
    this.findings.names('active cameras of total', expected, new Set(total?.cameras.ids));
    const count = expected.size === 0 ? undefined : expected.size;
    this.findings.text('number of active cameras of total', String(count), String(activeCameras));
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

  #bucket(name: string, expected: Span | undefined, stored: Bucket | undefined): void {
    const { total } = this.#rows;
    // Without the lists of the total nobody knows what the places stand for; it is reported itself.
    if (total === DAMAGED) return;
    const categories = [...(total?.tally.categories.keys() ?? [])];
    const tally = stored && readable(() => bucketTally(stored, categories) ?? DAMAGED);
    this.findings.tally(name, expected?.tally, tally);
    const active = placesIn(stored?.active ?? new Uint8Array());
    const cameras = new Set(active.map((place) => total?.cameras.ids[place] ?? `(place ${place})`));
    this.findings.names(`active cameras of ${name}`, expected?.cameras ?? new Set(), cameras);
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
  const before = await readVersion(table, partition);
  const comparison = new ShardComparison(shard, await readCounterRows(table, partition));
  const { findings } = comparison;
  const stream = readEvents(table, partition, day);
  let next = await stream.next();
  let events = 0;
  let moments: ReadonlyMap<number, Stored<Moments>> = new Map();
  for (let minute = 0; minute < MINUTES_OF_DAY; minute += 1) {
    if (minute % 60 === 0) {
      const { rows, strays } = await readMinuteRows(table, partition, minute / 60);
      moments = rows;
      comparison.strays(strays);
    }
    const ofMinute: CountedEvent[] = [];
    for (; next.done !== true; next = await stream.next()) {
      const { value } = next;
      if ('damaged' in value) findings.add(`row ${value.rowKey}`, 'an event', value.damaged);
      else if (value.minute === minute) ofMinute.push(value);
      else break;
      events += 1;
    }
    comparison.minute(minute, ofMinute, moments.get(minute));
    if (minute % 60 === 59) comparison.hour((minute - 59) / 60);
  }
  if (next.done !== true) throw new RangeError('event rows did not come in the order of their keys');
  const name = twoDigits(shard);
  comparison.day((cameraId) => (shards === undefined ? name : twoDigits(shardOf(cameraId, shards))), name);
  // As long as it is the same version, all the pages are of one moment.
  if ((await readVersion(table, partition)) !== before) return undefined;
  return { shard, events, counters: findings.compared, differences: findings.differences };
};
