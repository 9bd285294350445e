import { addTo, sumOf, type Tally } from '../model/tally.ts';
import { indexesIn } from '../rows/bitset.ts';
import { minutesOf } from '../rows/camera-row.ts';
import { bucketTally, type Bucket } from '../rows/hour-rows.ts';
import { twoDigits } from '../rows/keys.ts';
import { NO_SAMPLES, type MinuteRow } from '../rows/minute-row.ts';
import { EMPTY_TOTAL } from '../rows/total-row.ts';
import { DAMAGED, decodedOr, Findings, type Stored } from './findings.ts';
import { compareSamples, nameIn } from './sample-comparison.ts';
import type { CountedEvent, CounterRows } from './stored-rows.ts';

/** What the events of one camera and minute of the day count. */
interface CameraMinute {
  readonly cameraId: string;
  readonly minute: number;
  readonly tally: Tally;
}

const clock = (minute: number): string => `${twoDigits(Math.floor(minute / 60))}:${twoDigits(minute % 60)}`;
const unionOf = <Item>(left: Iterable<Item>, right: Iterable<Item>): ReadonlySet<Item> => new Set([...left, ...right]);

/** What a bucket should have. */
interface ExpectedBucket {
  readonly tally: Tally;
  readonly cameras: ReadonlySet<string>;
}

const talliesOf = (counted: readonly { readonly tally: Tally }[]): readonly Tally[] =>
  counted.map(({ tally }) => tally);
const bucketOf = (counted: readonly CameraMinute[]): ExpectedBucket => ({
  tally: sumOf(talliesOf(counted)),
  cameras: new Set(counted.map(({ cameraId }) => cameraId)),
});

/**
 * Compares the counters of one shard with its events, minute by minute. Only the events of one minute and the minutes of one hour
 * are decoded in memory at a time, so that a day of any size fits.
 */
export class ShardComparison {
  readonly findings: Findings;
  readonly #rows: CounterRows;
  readonly #cameraDays = new Map<string, Tally>();
  readonly #hours = new Map<number, ExpectedBucket>();
  #ofHour: CameraMinute[] = [];

  constructor(shard: number, rows: CounterRows) {
    this.findings = new Findings(shard);
    this.#rows = rows;
    this.strays(rows.strays);
  }

  /** Reports rows that the service never writes. */
  strays(rowKeys: readonly string[]): void {
    for (const rowKey of rowKeys) this.findings.add(`row ${rowKey}`, 'nothing', DAMAGED);
  }

  /** Compares the samples of a minute of the day. */
  minute(minute: number, events: readonly CountedEvent[], stored: Stored<MinuteRow>): void {
    for (const [cameraId, own] of Map.groupBy(events, (event) => event.cameraId)) {
      this.#ofHour.push({ cameraId, minute, tally: sumOf(own.map(({ contribution }) => contribution)) });
    }
    const { total } = this.#rows;
    if (total === DAMAGED) return;
    compareSamples(this.findings, clock(minute), events, stored ?? NO_SAMPLES, total ?? EMPTY_TOTAL);
  }

  /** Compares the other counters of an hour, after all its minutes. */
  hour(hour: number): void {
    const counted = this.#ofHour;
    this.#ofHour = [];
    const byCamera = Map.groupBy(counted, ({ cameraId }) => cameraId);
    const byMinute = Map.groupBy(counted, ({ minute }) => minute);
    for (const { cameraId, tally } of counted) addTo(this.#cameraDays, cameraId, tally);
    if (counted.length > 0) this.#hours.set(hour, bucketOf(counted));
    const stored = [...this.#rows.cameras].flatMap(([cameraId, row]) =>
      row !== DAMAGED && row?.hours.has(hour) === true ? [cameraId] : [],
    );
    for (const cameraId of unionOf(byCamera.keys(), stored)) {
      this.#cameraHour(cameraId, hour, byCamera.get(cameraId) ?? []);
    }
    const row = this.#rows.hourRows.get(hour);
    if (row === DAMAGED) this.findings.add(`minutes of hour ${twoDigits(hour)}`, 'minutes', DAMAGED);
    else {
      const buckets = new Map([...(row ?? [])].map(([minute, bucket]) => [hour * 60 + minute, bucket]));
      for (const minute of unionOf(byMinute.keys(), buckets.keys())) {
        const expected = byMinute.get(minute);
        this.#bucket(`minute ${clock(minute)}`, expected && bucketOf(expected), buckets.get(minute));
      }
    }
  }

  /** Compares the counters of the whole day, after all hours. */
  day(shardOfCamera: (cameraId: string) => string, shard: string): void {
    const { total, activeCameras, hours, cameras } = this.#rows;
    if (hours === DAMAGED) this.findings.add('hours', 'hours', DAMAGED);
    else {
      for (const hour of unionOf(this.#hours.keys(), hours?.keys() ?? [])) {
        this.#bucket(`hour ${twoDigits(hour)}`, this.#hours.get(hour), hours?.get(hour));
      }
    }
    for (const cameraId of unionOf(this.#cameraDays.keys(), cameras.keys())) {
      const row = cameras.get(cameraId);
      const name = `camera ${cameraId}`;
      this.findings.tally(name, this.#cameraDays.get(cameraId), row === DAMAGED ? row : row?.tally);
      this.findings.text(`shard of ${name}`, shardOfCamera(cameraId), shard);
      if (total === DAMAGED || row === DAMAGED) continue;
      this.findings.text(`index of ${name}`, String(total?.cameras.indexes.get(cameraId)), String(row?.index));
    }
    const sum = this.#hours.size === 0 ? undefined : sumOf(talliesOf([...this.#hours.values()]));
    this.findings.tally('total', sum, total === DAMAGED ? total : total?.tally);
    if (total === DAMAGED) return;
    const expected = new Set(this.#cameraDays.keys());
    this.findings.names('active cameras of total', expected, new Set(total?.cameras.ids));
    const count = expected.size === 0 ? undefined : expected.size;
    this.findings.text('number of active cameras of total', String(count), String(activeCameras));
  }

  #cameraHour(cameraId: string, hour: number, counted: readonly CameraMinute[]): void {
    const row = this.#rows.cameras.get(cameraId);
    // A damaged row is reported once, with the camera's day.
    if (row === DAMAGED) return;
    const name = `camera ${cameraId}`;
    const sum = counted.length === 0 ? undefined : sumOf(talliesOf(counted));
    this.findings.tally(`${name} hour ${twoDigits(hour)}`, sum, row?.hours.get(hour)?.tally);
    const minutes = row === undefined ? new Map<number, Tally>() : decodedOr(() => minutesOf(row, hour));
    if (minutes === DAMAGED) this.findings.add(`${name} minutes of hour ${twoDigits(hour)}`, 'minutes', DAMAGED);
    else {
      const expected = new Map(counted.map(({ minute, tally }) => [minute, tally]));
      const stored = new Map([...minutes].map(([minute, tally]) => [hour * 60 + minute, tally]));
      for (const minute of unionOf(expected.keys(), stored.keys())) {
        this.findings.tally(`${name} minute ${clock(minute)}`, expected.get(minute), stored.get(minute));
      }
    }
  }

  #bucket(name: string, expected: ExpectedBucket | undefined, stored: Bucket | undefined): void {
    const { total } = this.#rows;
    // Without the lists of the total the indexes have no names. The damaged total is reported itself.
    if (total === DAMAGED) return;
    const categories = [...(total?.tally.categories.keys() ?? [])];
    const tally = stored && decodedOr(() => bucketTally(stored, categories) ?? DAMAGED);
    this.findings.tally(name, expected?.tally, tally);
    const active = indexesIn(stored?.active ?? new Uint8Array());
    const cameras = new Set(active.map((index) => nameIn(total?.cameras.ids, index)));
    this.findings.names(`active cameras of ${name}`, expected?.cameras ?? new Set(), cameras);
  }
}
