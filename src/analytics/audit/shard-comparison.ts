import { addTo, sumOf, type Tally } from '../model/tally.ts';
import type { CameraRow } from '../rows/camera-row.ts';
import { twoDigits } from '../rows/keys.ts';
import { DAMAGED, Findings, type Stored } from './findings.ts';
import { clockOf, compareSamples, eventsOfSamples, type NamedMinuteRow } from './sample-comparison.ts';
import { compareStripe } from './stripe-comparison.ts';
import type { CountedEvent, CounterRows, MinuteRows } from './stored-rows.ts';
import { namesOf, sumOfBuckets, sumOfMinutes, sumOfStored, type StoredBucket } from './stored-sums.ts';

/** What the events of one camera and minute of the day count. */
interface CameraMinute {
  readonly cameraId: string;
  readonly minute: number;
  readonly tally: Tally;
}

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
 * Compares the counters of one shard, each summed over its stripes, with its events, minute by minute. Only the events of one minute and the minutes of one hour
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
  minute(minute: number, events: readonly CountedEvent[], stored: MinuteRows): void {
    this.#count(minute, events);
    if (!this.#lacksNames) compareSamples(this.findings, clockOf(minute), events, this.#minuteRows(minute, stored));
  }

  /**
   * Takes the samples of a minute of a closed day for its events.
   *
   * @param left the event rows that are left
   */
  closedMinute(minute: number, left: readonly CountedEvent[], stored: MinuteRows): void {
    if (this.#lacksNames) return;
    this.#count(minute, eventsOfSamples(this.findings, minute, left, this.#minuteRows(minute, stored)));
  }

  #count(minute: number, events: readonly CountedEvent[]): void {
    for (const [cameraId, own] of Map.groupBy(events, (event) => event.cameraId)) {
      this.#ofHour.push({ cameraId, minute, tally: sumOf(own.map(({ contribution }) => contribution)) });
    }
  }

  #minuteRows(minute: number, stored: MinuteRows): readonly (NamedMinuteRow | typeof DAMAGED)[] {
    return this.#rows.stripes.flatMap((counters) =>
      (stored.byStripe.get(counters.stripe)?.get(minute) ?? []).map((row): NamedMinuteRow | typeof DAMAGED =>
        row === undefined || row === DAMAGED ? DAMAGED : { names: namesOf(counters), row: row.value },
      ),
    );
  }

  /** Compares the other counters of an hour, after all its minutes. */
  hour(hour: number): void {
    const counted = this.#ofHour;
    this.#ofHour = [];
    const byCamera = Map.groupBy(counted, ({ cameraId }) => cameraId);
    const byMinute = Map.groupBy(counted, ({ minute }) => minute);
    for (const { cameraId, tally } of counted) addTo(this.#cameraDays, cameraId, tally);
    if (counted.length > 0) this.#hours.set(hour, bucketOf(counted));
    const stored = this.#rows.stripes.flatMap(({ cameras }) =>
      [...cameras].flatMap(([cameraId, row]) =>
        row !== DAMAGED && row?.value.hours.has(hour) === true ? [cameraId] : [],
      ),
    );
    for (const cameraId of unionOf(byCamera.keys(), stored)) {
      this.#cameraHour(cameraId, hour, byCamera.get(cameraId) ?? []);
    }
    const rows = this.#rows.stripes.map((counters) => ({
      names: namesOf(counters),
      row: counters.hourRows.get(hour),
    }));
    if (rows.some(({ row }) => row === DAMAGED)) {
      this.findings.add(`minutes of hour ${twoDigits(hour)}`, 'minutes', DAMAGED);
      return;
    }
    const minutes = rows.flatMap(({ row }) =>
      row === undefined || row === DAMAGED ? [] : Array.from(row.value.keys(), (minute) => hour * 60 + minute),
    );
    for (const minute of unionOf(byMinute.keys(), minutes)) {
      const expected = byMinute.get(minute);
      this.#bucket(`minute ${clockOf(minute)}`, expected && bucketOf(expected), sumOfBuckets(rows, minute - hour * 60));
    }
  }

  /** Compares the counters of the whole day, after all hours. */
  day(shardOfCamera: (cameraId: string) => string, shard: string): void {
    const { stripes } = this.#rows;
    const rows = stripes.map((counters) => ({ names: namesOf(counters), row: counters.hours }));
    if (rows.some(({ row }) => row === DAMAGED)) this.findings.add('hours', 'hours', DAMAGED);
    else {
      const hours = rows.flatMap(({ row }) => (row === undefined || row === DAMAGED ? [] : [...row.value.keys()]));
      for (const hour of unionOf(this.#hours.keys(), hours)) {
        this.#bucket(`hour ${twoDigits(hour)}`, this.#hours.get(hour), sumOfBuckets(rows, hour));
      }
    }
    const cameras = stripes.flatMap((counters) => [...counters.cameras.keys()]);
    for (const cameraId of unionOf(this.#cameraDays.keys(), cameras)) {
      const stored = stripes.map((counters) => {
        const row = counters.cameras.get(cameraId);
        return row === DAMAGED ? row : row?.value.tally;
      });
      this.findings.tally(`camera ${cameraId}`, this.#cameraDays.get(cameraId), sumOfStored(stored));
      this.findings.text(`shard of camera ${cameraId}`, shardOfCamera(cameraId), shard);
    }
    const sum = this.#hours.size === 0 ? undefined : sumOf(talliesOf([...this.#hours.values()]));
    const totals = stripes.map(({ total }) => (total === DAMAGED ? total : total?.tally));
    this.findings.tally('total', sum, sumOfStored(totals));
    if (!this.#lacksNames) {
      const listed = new Set(stripes.flatMap((counters) => namesOf(counters).ids));
      this.findings.names('active cameras of total', new Set(this.#cameraDays.keys()), listed);
    }
    for (const counters of stripes) compareStripe(this.findings, counters);
  }

  /** Whether a total is damaged: without its lists the indexes have no names. It is reported itself. */
  get #lacksNames(): boolean {
    return this.#rows.stripes.some(({ total }) => total === DAMAGED);
  }

  #cameraHour(cameraId: string, hour: number, counted: readonly CameraMinute[]): void {
    const stored = this.#rows.stripes.map(({ cameras }) => cameras.get(cameraId));
    // A damaged row is reported once, with the camera's day.
    if (stored.includes(DAMAGED)) return;
    const rows = stored.flatMap((row): CameraRow[] => (row === undefined || row === DAMAGED ? [] : [row.value]));
    const name = `camera ${cameraId}`;
    const sum = counted.length === 0 ? undefined : sumOf(talliesOf(counted));
    const ofHour = rows.map((row): Stored<Tally> => row.hours.get(hour)?.tally);
    this.findings.tally(`${name} hour ${twoDigits(hour)}`, sum, sumOfStored(ofHour));
    const minutes = sumOfMinutes(rows, hour);
    if (minutes === DAMAGED) this.findings.add(`${name} minutes of hour ${twoDigits(hour)}`, 'minutes', DAMAGED);
    else {
      const expected = new Map(counted.map(({ minute, tally }) => [minute, tally]));
      for (const minute of unionOf(expected.keys(), minutes.keys())) {
        this.findings.tally(`${name} minute ${clockOf(minute)}`, expected.get(minute), minutes.get(minute));
      }
    }
  }

  #bucket(name: string, expected: ExpectedBucket | undefined, stored: StoredBucket): void {
    if (this.#lacksNames) return;
    this.findings.tally(name, expected?.tally, stored.tally);
    this.findings.names(`active cameras of ${name}`, expected?.cameras ?? new Set(), stored.cameras);
  }
}
